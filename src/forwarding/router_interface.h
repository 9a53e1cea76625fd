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
    /// Bits that are set in all broadcast addresses of its subnets: a first look at an address.
    uint32_t broadcast_bits = UINT32_MAX;

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

    void add_address(const net::Ipv4Prefix& address) {
        addresses4.push_back(address);
        broadcast_bits &= ~address.mask().value();
    }

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

    /// Whether a host of a subnet of the interface may have the address: not that of the subnet
    /// itself, which for IPv6 is any router's (RFC 4291, section 2.6.1), nor a broadcast address.
    bool may_be_host(net::Ipv4Address address) const noexcept {
        for (const net::Ipv4Prefix& own : addresses4) {
            if (!own.contains(address)) continue;
            const uint32_t host = address.value() & ~own.mask().value();
            return own.length() >= 31 || (host != 0 && host != ~own.mask().value());
        }
        return false;
    }
    bool may_be_host(const net::Ipv6Address& address) const noexcept {
        if (address.is_link_local()) return true;
        for (const net::Ipv6Prefix& own : addresses6) {
            if (!own.contains(address)) continue;
            return own.length() >= 127 || address != own.network().address();
        }
        return false;
    }
};

}  // namespace heddle::forwarding
