#include "port/network_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <thread>

namespace heddle::port {
namespace {

std::string path_of(const std::string& name) {
    if (name.empty()) return "/proc/thread-self/ns/net";
    return name.front() == '/' ? name : "/run/netns/" + name;
}

}  // namespace

Result<NetworkNamespace> NetworkNamespace::open(const std::string& name) {
    const std::string path = path_of(name);
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        const int error = errno;
        return tl::unexpected(fmt::format(
            "network namespace '{}' cannot be opened ({}: {}){}", name, path, error_text(error),
            error == ENOENT ? "; create it first, as with: ip netns add" : ""));
    }
    // A name whose bind mount is missing is a plain file.
    if (ioctl(file.get(), NS_GET_NSTYPE) != CLONE_NEWNET) {
        return tl::unexpected(fmt::format("'{}' is not a network namespace", path));
    }
    return NetworkNamespace(std::move(file));
}

Result<void> NetworkNamespace::run_thread(const std::function<void()>& action) const {
    Result<void> result;
    std::thread([&] {
        if (setns(fd(), CLONE_NEWNET) != 0) {
            result = tl::unexpected(fmt::format(
                "cannot enter the network namespace ({}); it takes CAP_SYS_ADMIN", error_text()));
            return;
        }
        action();
    }).join();
    return result;
}

NamespaceWatch::NamespaceWatch(const std::string& name) {
    struct stat status;
    const std::string path = path_of(name);
    if (name.empty() || stat(path.c_str(), &status) != 0) return;
    path_ = path;
    device_ = status.st_dev;
    inode_ = status.st_ino;
}

bool NamespaceWatch::gone() const noexcept {
    if (path_.empty()) return false;
    struct stat status;
    if (stat(path_.c_str(), &status) != 0) return errno == ENOENT;
    return status.st_dev != device_ || status.st_ino != inode_;
}

}  // namespace heddle::port
