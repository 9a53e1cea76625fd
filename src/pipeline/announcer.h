#pragma once

#include <vector>

#include "pipeline/context.h"
#include "service/nd_messages.h"

namespace heddle::pipeline {

/// Tells networks of a router's addresses when they are new, and advertises the router to IPv6
/// hosts. Part of the Resolver, in whose thread it runs.
class Announcer {
 public:
    Announcer();

    /// Begins with an interface that is new or changed.
    void add(Context& context, forwarding::InterfaceId interface) noexcept;

    /// Sends what is due; answers when something is due next, in TSC cycles (UINT64_MAX: never).
    uint64_t tick(Context& context) noexcept;

    /// Answers a router solicitation: to everybody, or to the host that asked if everybody was told
    /// a moment ago.
    void solicited(Context& context, const forwarding::RouterInterface& interface,
                   const net::Ipv6Address& host, const net::MacAddress& mac) noexcept;

    /// Contradicts somebody who claims an address of the interface, at most once a second (RFC
    /// 5227, section 2.4, c).
    void defend(Context& context, const forwarding::RouterInterface& interface) noexcept;

 private:
    struct Entry {
        forwarding::InterfaceId interface;
        uint8_t announcements;   ///< left to make
        uint8_t advertisements;  ///< of the first few, left to make
        uint64_t announce_at;
        uint64_t advertise_at;
        uint64_t advertised_at;
    };

    void announce(Context& context, const forwarding::RouterInterface& interface) noexcept;
    void advertise(Context& context, const forwarding::RouterInterface& interface,
                   const service::Ipv6Receiver& receiver) noexcept;

    std::vector<Entry> entries_;
    forwarding::ZeroedArray<uint64_t> defended_at_;  ///< by interface
};

}  // namespace heddle::pipeline
