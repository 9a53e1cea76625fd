#include "control/socket_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace heddle::control {
namespace {

using port::error_text;
using port::FileDescriptor;
using port::Result;

/// What the holder wrote into the lock file.
std::string holder(int lock) {
    std::array<char, 16> text{};
    const ssize_t size = pread(lock, text.data(), text.size(), 0);
    std::string pid(text.data(), size > 0 ? static_cast<size_t>(size) : 0);
    pid.resize(std::min(pid.size(), pid.find_first_not_of("0123456789")));
    return pid.empty() ? "another process" : "the heddled with pid " + pid;
}

/// Only a note for who is refused: the lock itself needs no content.
void leave_pid(int lock) {
    const std::string pid = fmt::format("{}\n", getpid());
    if (ftruncate(lock, 0) == 0) {
        [[maybe_unused]] const ssize_t written = pwrite(lock, pid.data(), pid.size(), 0);
    }
}

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
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::absolute(path).parent_path(), error);
    if (error) {
        return tl::unexpected(
            fmt::format("the directory of {} cannot be made: {}", path, error.message()));
    }

    const std::string lock_path = path + ".lock";
    FileDescriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                             S_IRUSR | S_IWUSR | S_IRGRP));
    if (!lock) {
        return tl::unexpected(fmt::format("{} cannot be opened: {}", lock_path, error_text()));
    }
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            return tl::unexpected(fmt::format("{} cannot be locked: {}", lock_path, error_text()));
        }
        return tl::unexpected(
            fmt::format("{} already serves {}; stop it first, or use another --socket",
                        holder(lock.get()), path));
    }
    leave_pid(lock.get());
    if (auto removed = remove_stale_socket(path); !removed) return tl::unexpected(removed.error());
    return SocketClaim(path, std::move(lock));
}

}  // namespace heddle::control
