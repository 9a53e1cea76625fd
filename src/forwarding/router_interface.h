#pragma once

#include <vector>

#include "forwarding/ids.h"
#include "net/ip_prefix.h"
#include "net/mac_address.h"

namespace heddle::forwarding {

enum class ReversePath : uint8_t { off, loose, strict };

/// What workers need of a router's interface on a bridge. Immutable: control publishes a new one
/// for every change.
struct RouterInterface {
    InterfaceId id = kNoInterface;
    RouterId router = kNoRouter;
    BridgeId bridge = kNoBridge;
    uint16_t mtu = 1500;  ///< largest L3 packet, bytes
    net::MacAddress mac;
    ReversePath reverse_path = ReversePath::off;
    std::vector<net::Ipv4Prefix> addresses4;  ///< its own, with the length of their subnets
    std::vector<net::Ipv6Prefix> addresses6;  ///< without the link-local one
    net::Ipv6Address link_local;

    struct Advertisement {
        bool managed = false;
        bool other_config = false;
        bool autonomous = true;
        uint16_t interval = 200;  ///< seconds
        uint16_t lifetime = 600;  ///< seconds

        friend bool operator==(const Advertisement&, const Advertisement&) = default;
    };
    bool advertises = false;
    Advertisement advertisement;

    friend bool operator==(const RouterInterface&, const RouterInterface&) = default;

    bool owns(net::Ipv4Address address) const noexcept {
        for (const net::Ipv4Prefix& own : addresses4) {
            if (own.address() == address) return true;
        }
        return false;
    }
    bool owns(const net::Ipv6Address& address) const noexcept {
        if (address == link_local) return true;
        for (const net::Ipv6Prefix& own : addresses6) {
            if (own.address() == address) return true;
        }
        return false;
    }

    /// The own address from which to speak to `other`: that in its subnet, or else the first
    /// (RFC 1812, section 4.3.2.4). Unspecified if there is none of the family.
    net::Ipv4Address source_for(net::Ipv4Address other) const noexcept {
        for (const net::Ipv4Prefix& own : addresses4) {
            if (own.contains(other)) return own.address();
        }
        return addresses4.empty() ? net::Ipv4Address() : addresses4.front().address();
    }
    net::Ipv6Address source_for(const net::Ipv6Address& other) const noexcept {
        if (other.is_link_local()) return link_local;
        for (const net::Ipv6Prefix& own : addresses6) {
            if (own.contains(other)) return own.address();
        }
        return addresses6.empty() ? link_local : addresses6.front().address();
    }

    bool attaches(net::Ipv4Address address) const noexcept {
        for (const net::Ipv4Prefix& own : addresses4) {
            if (own.contains(address)) return true;
        }
        return false;
    }
    bool attaches(const net::Ipv6Address& address) const noexcept {
        if (address.is_link_local()) return true;
        for (const net::Ipv6Prefix& own : addresses6) {
            if (own.contains(address)) return true;
        }
        return false;
    }
};

}  // namespace heddle::forwarding
