#include "control/api_server.h"

#include <fmt/format.h>
#include <grp.h>
#include <grpc/support/log.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "control/api_service.h"
#include "control/log.h"

namespace heddle::control {
namespace {

using port::error_text;
using port::Result;

/// A request: a topology as large as the tables allow is smaller.
constexpr int kMaxRequestBytes = 8 << 20;
/// What gRPC itself may buffer for all connections together.
constexpr size_t kMaxBufferedBytes = 64U << 20U;
constexpr int kMaxCallsPerConnection = 64;

/// A socket is open to everybody its mode allows from the moment it is bound.
class PrivateUmask {
 public:
    PrivateUmask() : saved_(umask(S_IRWXO)) {}
    PrivateUmask(const PrivateUmask&) = delete;
    PrivateUmask& operator=(const PrivateUmask&) = delete;
    ~PrivateUmask() { umask(saved_); }

 private:
    mode_t saved_;
};

void log_grpc(gpr_log_func_args* args) {
    if (args->severity == GPR_LOG_SEVERITY_ERROR) log_warning("grpc", {{"problem", args->message}});
}

Result<void> admit_group(const std::string& socket, const std::string& group) {
    if (chmod(socket.c_str(), S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) != 0) {
        return tl::unexpected(
            fmt::format("the mode of {} cannot be set: {}", socket, error_text()));
    }
    if (group.empty()) return {};
    const struct group* const entry =
        getgrnam(group.c_str());  // NOLINT(concurrency-mt-unsafe): at start
    if (entry == nullptr) {
        log_warning("socket",
                    {{"problem", "no such group: only the daemon's own may use the socket"},
                     {"group", group}});
        return {};
    }
    if (chown(socket.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0) {
        return tl::unexpected(
            fmt::format("{} cannot be given to group {}: {}", socket, group, error_text()));
    }
    return {};
}

}  // namespace

ApiServer::ApiServer(Controller& controller, SocketClaim claim)
    : claim_(std::move(claim)), service_(std::make_unique<ApiService>(controller)) {}

Result<std::unique_ptr<ApiServer>> ApiServer::start(Controller& controller, SocketClaim claim,
                                                    const std::string& group) {
    gpr_set_log_function(log_grpc);
    std::unique_ptr<ApiServer> api(new ApiServer(controller, std::move(claim)));
    const std::string& socket = api->claim_.path();

    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(api->service_.get());
    builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
    builder.SetResourceQuota(grpc::ResourceQuota("heddled").Resize(kMaxBufferedBytes));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsPerConnection);
    {
        const PrivateUmask umask;
        api->server_ = builder.BuildAndStart();
    }
    if (api->server_ == nullptr) {
        return tl::unexpected(fmt::format("the API cannot listen on {}", socket));
    }
    if (auto admitted = admit_group(socket, group); !admitted)
        return tl::unexpected(admitted.error());
    return api;
}

ApiServer::~ApiServer() {
    if (server_ == nullptr) return;
    // A deadline that has passed: calls that still run are cancelled, then waited for.
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    unlink(claim_.path().c_str());
}

}  // namespace heddle::control
