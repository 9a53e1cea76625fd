#pragma once

#include <array>

#include "net/ethernet.h"
#include "pipeline/context.h"

namespace heddle::pipeline {

/// The frames of a burst that are addressed to routers, by the interface they came to.
class RouteBatch {
 public:
    explicit RouteBatch(Context& context) noexcept : context_(context) {}

    /// Takes ownership of an untagged frame whose destination is the MAC address of `interface`.
    /// Its ingress_port and scope are set. `ethertype` is in host order.
    void add(forwarding::InterfaceId interface, rte_mbuf* frame, uint16_t ethertype) noexcept {
        if (interface != interface_) {
            flush();
            interface_ = interface;
        }
        packet::metadata(frame).ingress_interface = interface;
        if (ethertype == net::ethertype::kIpv4) {
            if (ipv4_count_ == ipv4_.size()) flush();
            ipv4_[ipv4_count_++] = frame;
        } else if (ethertype == net::ethertype::kIpv6) {
            if (ipv6_count_ == ipv6_.size()) flush();
            ipv6_[ipv6_count_++] = frame;
        } else {
            add_other(frame, ethertype);
        }
    }

    /// Routes what was added: checks, lookup, rewriting, egress. Called at the end of a burst.
    void flush() noexcept;

 private:
    void add_other(rte_mbuf* frame, uint16_t ethertype) noexcept;

    Context& context_;
    forwarding::InterfaceId interface_ = forwarding::kNoInterface;
    size_t ipv4_count_ = 0;
    size_t ipv6_count_ = 0;
    std::array<rte_mbuf*, port::kBurst> ipv4_;
    std::array<rte_mbuf*, port::kBurst> ipv6_;
};

/// Routes a packet of Heddle's own in a VRF: no checks, TTL as it is. The frame begins with an
/// Ethernet header, whose addresses do not matter, and is not counted yet. Takes ownership.
void route_originated(Context& context, forwarding::RouterId router, rte_mbuf* frame) noexcept;

/// Sends a packet by way of an interface to a neighbour: TTL, MTU, MAC addresses, bridge. Where the
/// neighbour is not resolved, the packet goes to the resolver. Takes ownership.
void send_to_neighbor(Context& context, const forwarding::RouterInterface& out,
                      forwarding::AdjacencyId adjacency, rte_mbuf* frame) noexcept;

/// Sends a frame that is complete, as ARP is, from a router's interface on its bridge: to where the
/// FDB has its destination, or to all ports. Takes ownership.
void send_on_bridge(Context& context, forwarding::BridgeId bridge, rte_mbuf* frame) noexcept;

/// send_on_bridge() of a frame that Heddle has just made: counts it, too.
void originate_on_bridge(Context& context, forwarding::BridgeId bridge, rte_mbuf* frame) noexcept;

}  // namespace heddle::pipeline
