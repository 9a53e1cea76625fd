#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <type_traits>

#include "port/file_descriptor.h"
#include "port/result.h"

namespace heddle::port {

/// A network namespace held by an open file. It lives at least as long as this object: nothing that
/// outlasts a configuration step may keep one, or `ip netns del` would leave everything in place.
class NetworkNamespace {
 public:
    /// "" is the namespace of the calling thread, "c1" is /run/netns/c1, and an absolute path such
    /// as /proc/4711/ns/net stands for itself.
    static Result<NetworkNamespace> open(const std::string& name);

    /// From a descriptor the kernel gave out, as by TUNGETDEVNETNS.
    explicit NetworkNamespace(FileDescriptor file) noexcept : file_(std::move(file)) {}

    int fd() const noexcept { return file_.get(); }

    /// Calls `action`, which returns a Result, inside the namespace: in a thread of its own, which
    /// is gone afterwards, so that no other code ever finds itself in a foreign namespace. What a
    /// socket or /dev/net/tun belongs to is decided when it is opened.
    template <typename Action>
    std::invoke_result_t<Action> run(Action action) const {
        std::invoke_result_t<Action> result = tl::unexpected(std::string());
        Result<void> entered = run_thread([&] { result = action(); });
        if (!entered) return tl::unexpected(entered.error());
        return result;
    }

 private:
    Result<void> run_thread(const std::function<void()>& action) const;

    FileDescriptor file_;
};

/// Recognizes a namespace later without keeping it alive.
class NamespaceWatch {
 public:
    NamespaceWatch() = default;  ///< watches nothing: never gone
    explicit NamespaceWatch(const std::string& name);

    /// True once the path no longer leads to the namespace it led to at the beginning.
    bool gone() const noexcept;

 private:
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace heddle::port
