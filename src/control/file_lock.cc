#include "control/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

}  // namespace

Result<FileLock> FileLock::take(const std::string& path, const std::string& use) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::absolute(path).parent_path(), error);
    if (error) {
        return tl::unexpected(
            fmt::format("the directory of {} cannot be made: {}", path, error.message()));
    }
    FileDescriptor lock(
        open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR | S_IRGRP));
    if (!lock) return tl::unexpected(fmt::format("{} cannot be opened: {}", path, error_text()));
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            return tl::unexpected(fmt::format("{} cannot be locked: {}", path, error_text()));
        }
        return tl::unexpected(fmt::format("{} already {}; stop it first", holder(lock.get()), use));
    }
    leave_pid(lock.get());
    return FileLock(std::move(lock));
}

}  // namespace heddle::control
