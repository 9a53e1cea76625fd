#pragma once

#include "pipeline/context.h"

namespace heddle::pipeline {

/// Why the sender of a packet is told that it was not delivered.
enum class IcmpReason : uint8_t {
    ttl_exceeded,
    no_route,
    host_unreachable,
    rejected,
    beyond_scope,
    packet_too_big,
    protocol_unreachable,
    port_unreachable,
};

/// Tells the sender of a packet, which came to the interface `in`, what is wrong with it, if RFC
/// 1812 and RFC 4443 allow that and the ingress port has not had its share of errors. The packet
/// begins with an untagged Ethernet header and stays the caller's. `mtu` matters for packet_too_big
/// alone.
void send_icmp_error(Context& context, const forwarding::RouterInterface& in, rte_mbuf* frame,
                     IcmpReason reason, uint32_t mtu = 0) noexcept;

/// Delivers a packet to the router itself: echo requests are answered, neighbour discovery goes to
/// the resolver, anything else is refused. Takes ownership.
void deliver_local(Context& context, const forwarding::RouterInterface& in,
                   rte_mbuf* frame) noexcept;

}  // namespace heddle::pipeline
