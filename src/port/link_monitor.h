#pragma once

#include <memory>
#include <string>
#include <vector>

#include "port/result.h"

struct nl_sock;

namespace heddle::port {

struct LinkEvent {
    std::string interface;
    int index = 0;
    bool removed = false;  ///< else it is new or something of it changed
};

/// Tells what happens to the network interfaces of the namespace it was opened in, so that a port
/// notices at once when its interface goes or comes back. For one thread.
class LinkMonitor {
 public:
    static Result<LinkMonitor> open();

    /// Readable when drain() has something to tell.
    int fd() const noexcept;

    struct Changes {
        std::vector<LinkEvent> events;  ///< in the order they happened
        bool lost = false;              ///< events were lost: look at every interface
    };
    /// What happened since the last call; does not wait.
    Changes drain();

 private:
    struct Free {
        void operator()(nl_sock* socket) const noexcept;
    };
    explicit LinkMonitor(nl_sock* socket) noexcept : socket_(socket) {}

    std::unique_ptr<nl_sock, Free> socket_;
};

}  // namespace heddle::port
