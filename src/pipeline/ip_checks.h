#pragma once

#include <rte_mbuf.h>

#include <optional>

#include "forwarding/neighbor_table.h"
#include "forwarding/router_interface.h"
#include "net/ethernet.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "packet/drop.h"

namespace heddle::pipeline {

/// Bytes in front of the IP header of a frame without VLAN tag: routers take no other.
inline constexpr uint32_t kL2 = sizeof(net::EthernetHeader);

inline bool is_ipv4(const rte_mbuf* frame) noexcept {
    return rte_pktmbuf_mtod(frame, const net::EthernetHeader*)->ethertype.value() ==
           net::ethertype::kIpv4;
}

/// The IP header of a frame without VLAN tag.
inline net::Ipv4Header* ipv4_header(rte_mbuf* frame) noexcept {
    return rte_pktmbuf_mtod_offset(frame, net::Ipv4Header*, kL2);
}
inline net::Ipv6Header* ipv6_header(rte_mbuf* frame) noexcept {
    return rte_pktmbuf_mtod_offset(frame, net::Ipv6Header*, kL2);
}

/// The destination of a packet, as a neighbour on a bridge.
inline forwarding::NeighborKey destination_on(forwarding::BridgeId bridge,
                                              rte_mbuf* frame) noexcept {
    return is_ipv4(frame) ? forwarding::NeighborKey(bridge, ipv4_header(frame)->destination)
                          : forwarding::NeighborKey(bridge, ipv6_header(frame)->destination);
}

/// Whether an address means all hosts of a subnet of the interface (RFC 919).
bool is_broadcast_of(const forwarding::RouterInterface& interface,
                     net::Ipv4Address address) noexcept;

/// What a router verifies before it looks at a route: RFC 1812, sections 5.2.2 and 5.3.7, for an
/// untagged frame to the router. Makes the header contiguous; cuts off padding behind the packet.
/// Answers why the packet must be dropped, or nothing. Then the header with its options lies in the
/// first segment, and its lengths can be relied on.
std::optional<packet::DropReason> check_ipv4(rte_mbuf* frame,
                                             const forwarding::RouterInterface& in) noexcept;

/// Likewise, RFC 8200 and RFC 4291. Extension headers are looked at where there are any.
std::optional<packet::DropReason> check_ipv6(rte_mbuf* frame,
                                             const forwarding::RouterInterface& in) noexcept;

}  // namespace heddle::pipeline
