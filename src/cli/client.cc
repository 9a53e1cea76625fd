#include "cli/client.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace heddle::cli {
namespace {

/// Taps are made and moved to namespaces one by one: a large topology takes its time.
constexpr std::chrono::minutes kApplyPatience{10};
constexpr std::chrono::seconds kStatusPatience{60};

/// Tries to connect, for gRPC would say only that it could not. Returns an errno value.
int probe(const std::string& socket_path) {
    sockaddr_un address{};
    if (socket_path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    const int error =
        connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
    close(fd);
    return error;
}

std::string unreachable(const std::string& socket, int error) {
    if (error == EACCES) {
        return fmt::format("you may not use {}: become a member of its group, or root", socket);
    }
    return fmt::format(
        "heddled does not answer on {} ({}): start it with \"systemctl start heddled\", or "
        "name its socket with --socket or HEDDLE_SOCKET",
        socket, std::generic_category().message(error));
}

/// The failure of a call, without a word of how it was transported.
Failure explain(const grpc::Status& status) {
    switch (status.error_code()) {
        case grpc::StatusCode::NOT_FOUND:
        case grpc::StatusCode::RESOURCE_EXHAUSTED:
            return {kRefused, status.error_message()};
        case grpc::StatusCode::DEADLINE_EXCEEDED:
            return {kUnable, "heddled took too long to answer"};
        case grpc::StatusCode::UNIMPLEMENTED:
            return {kUnable, "heddled is of another version, which does not know this command"};
        case grpc::StatusCode::UNAVAILABLE:
        case grpc::StatusCode::CANCELLED:
            return {kUnable, "heddled ended"};
        default:
            return {kUnable, "heddled failed: " + status.error_message()};
    }
}

std::unique_ptr<grpc::ClientContext> call(std::chrono::milliseconds patience) {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + patience);
    return context;
}

Result<v1::ApplyResponse> answer(const grpc::Status& status, v1::ApplyResponse response) {
    // The daemon itself refuses with problems: this is the transport's limit of a message.
    if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
        return refused("the request is larger than heddled takes: apply it in parts");
    }
    if (!status.ok()) return tl::unexpected(explain(status));
    return response;
}

}  // namespace

Client::Client(const std::string& socket) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetMaxReceiveMessageSize(-1);  // the daemon is trusted
    stub_ = v1::Heddle::NewStub(
        grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
}

Result<Client> Client::connect(const std::string& socket) {
    gpr_set_log_function([](gpr_log_func_args*) {});  // what matters comes as a status
    if (const int error = probe(socket); error != 0) return unable(unreachable(socket, error));
    return Client(socket);
}

Result<v1::ApplyResponse> Client::apply(const v1::ApplyRequest& request) const {
    v1::ApplyResponse response;
    const grpc::Status status = stub_->Apply(call(kApplyPatience).get(), request, &response);
    return answer(status, std::move(response));
}

Result<v1::ApplyResponse> Client::remove(const v1::DeleteRequest& request) const {
    v1::ApplyResponse response;
    const grpc::Status status = stub_->Delete(call(kApplyPatience).get(), request, &response);
    return answer(status, std::move(response));
}

Result<std::vector<v1::Object>> Client::get(const v1::GetRequest& request,
                                            std::chrono::milliseconds patience) const {
    const auto context = call(patience);
    const auto stream = stub_->Get(context.get(), request);
    std::vector<v1::Object> objects;
    v1::GetResponse message;
    while (stream->Read(&message)) {
        for (v1::Object& object : *message.mutable_objects())
            objects.push_back(std::move(object));
    }
    const grpc::Status status = stream->Finish();
    if (!status.ok()) return tl::unexpected(explain(status));
    return objects;
}

Result<v1::Status> Client::status() const {
    v1::Status response;
    const grpc::Status status = stub_->GetStatus(call(kStatusPatience).get(), {}, &response);
    if (!status.ok()) return tl::unexpected(explain(status));
    return response;
}

Result<v1::LookupResponse> Client::lookup(const v1::LookupRequest& request) const {
    v1::LookupResponse response;
    const grpc::Status status = stub_->Lookup(call(kStatusPatience).get(), request, &response);
    if (!status.ok()) return tl::unexpected(explain(status));
    return response;
}

Result<v1::UpdateRoutesResponse> Client::update_routes(
    const std::function<const v1::RouteUpdate*()>& next) const {
    v1::UpdateRoutesResponse response;
    const auto context = call(kApplyPatience);
    const auto stream = stub_->UpdateRoutes(context.get(), &response);
    for (const v1::RouteUpdate* update = next(); update != nullptr; update = next()) {
        if (!stream->Write(*update)) break;
    }
    stream->WritesDone();
    const grpc::Status status = stream->Finish();
    if (!status.ok()) return tl::unexpected(explain(status));
    return response;
}

Failure Client::watch(const std::function<void(const v1::Event&)>& show) const {
    grpc::ClientContext context;
    const auto stream = stub_->Watch(&context, {});
    v1::Event event;
    while (stream->Read(&event))
        show(event);
    const grpc::Status status = stream->Finish();
    return status.ok() ? Failure{kUnable, "heddled ended"} : explain(status);
}

}  // namespace heddle::cli
