#pragma once

#include <string>

#include "control/file_lock.h"
#include "port/result.h"

namespace heddle::control {

/// The right to serve the API on one path, thus to be the one daemon of its state and its devices.
/// Held by a lock on PATH.lock.
class SocketClaim {
 public:
    /// Refuses while another process holds it, and says which. Makes the directory, and removes the
    /// socket that a daemon left which did not end in peace.
    static port::Result<SocketClaim> take(const std::string& path);

    const std::string& path() const noexcept { return path_; }

 private:
    SocketClaim(std::string path, FileLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}

    std::string path_;
    FileLock lock_;
};

}  // namespace heddle::control
