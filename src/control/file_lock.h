#pragma once

#include <string>

#include "port/file_descriptor.h"
#include "port/result.h"

namespace heddle::control {

/// An exclusive lock on a file made for it, which the kernel gives up however the process ends. The
/// file stays behind, with the holder's pid in it.
class FileLock {
 public:
    /// Refuses while another process holds it, and says which: "the heddled with pid 42 already
    /// USE; stop it first".
    static port::Result<FileLock> take(const std::string& path, const std::string& use);

 private:
    explicit FileLock(port::FileDescriptor file) : file_(std::move(file)) {}

    port::FileDescriptor file_;
};

}  // namespace heddle::control
