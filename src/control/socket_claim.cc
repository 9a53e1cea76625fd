#include "control/socket_claim.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace heddle::control {
namespace {

using port::error_text;
using port::Result;

Result<void> remove_stale_socket(const std::string& path) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) return {};
    if (!S_ISSOCK(status.st_mode)) return tl::unexpected(path + " exists and is no socket");
    if (unlink(path.c_str()) != 0) {
        return tl::unexpected(fmt::format("{} cannot be removed: {}", path, error_text()));
    }
    return {};
}

}  // namespace

Result<SocketClaim> SocketClaim::take(const std::string& path) {
    constexpr size_t kMaxLength = sizeof(sockaddr_un::sun_path) - 1;
    if (path.empty() || path.size() > kMaxLength) {
        return tl::unexpected(fmt::format("a UNIX socket's path has 1 to {} bytes, not {}: {}",
                                          kMaxLength, path.size(), path));
    }
    auto lock = FileLock::take(path + ".lock", "serves " + path);
    if (!lock) return tl::unexpected(lock.error() + ", or use another --socket");
    if (auto removed = remove_stale_socket(path); !removed) return tl::unexpected(removed.error());
    return SocketClaim(path, std::move(*lock));
}

}  // namespace heddle::control
