#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "net/ip_address.h"
#include "net/mac_address.h"
#include "packet/pools.h"

/// ICMP errors about packets that were not delivered: RFC 792, RFC 1812 section 4.3; RFC 4443.
namespace heddle::service {

/// What is wrong with a packet. Type and code follow from it and the packet's family.
enum class IcmpErrorKind : uint8_t {
    time_exceeded,         ///< TTL or hop limit used up
    no_route,              ///< IPv4: net unreachable
    address_unreachable,   ///< IPv4: host unreachable
    protocol_unreachable,  ///< IPv6: unrecognized next header, with `pointer`
    port_unreachable,
    prohibited,           ///< communication administratively prohibited
    beyond_scope,         ///< of the source address; IPv4, which has none: host unreachable
    packet_too_big,       ///< with `mtu`; IPv4: fragmentation needed and DF set (RFC 1191)
    parameter_problem,    ///< with `pointer`
    unrecognized_option,  ///< IPv6, with `pointer`; IPv4: parameter problem
};

struct IcmpError {
    IcmpErrorKind kind = IcmpErrorKind::no_route;
    uint32_t mtu = 0;      ///< bytes; IPv4 carries 16 bits of it
    uint32_t pointer = 0;  ///< byte of the packet, from its IP header on; IPv4 carries 8 bits of it
};

/// Whether an error of this kind may be sent about a frame. Not about ICMP errors and redirects
/// (and not about ICMP of unknown type, where it could be one), later fragments, malformed packets,
/// those from an address that is not one host's, and those to a multicast or broadcast address of
/// the link or of IP. RFC 1812, section 4.3.2.7; RFC 4443, section 2.4 (e), by which packet_too_big
/// and unrecognized_option may answer IPv6 multicast.
///
/// Needs an Ethernet frame with its headers in the first segment; one whose headers cannot be seen
/// is not answered. Whether the source is the broadcast address of a subnet, the caller knows.
[[nodiscard]] bool may_answer(const rte_mbuf* frame, IcmpErrorKind kind) noexcept;

/// Whom an error comes from and which way it leaves.
struct IcmpErrorSender {
    net::IpAddress source;  ///< of the packet's family
    net::MacAddress source_mac;
    net::MacAddress destination_mac;  ///< of the next hop to the packet's source
    uint16_t ipv4_identification = 0;
};

/// Makes an error about `frame`, to its source. It quotes the packet as it lies in the frame, from
/// the IP header on and as far as it was received: over IPv4 up to 576 bytes in all (RFC 1812,
/// section 4.3.2.3), over IPv6 up to 1280 (RFC 4443, section 2.4 (c)). TTL or hop limit 64. IPv4
/// errors have precedence 6 (internetwork control), the packet's TOS bits (RFC 1812, section
/// 4.3.2.5) less those that are ECN today, and no DF; IPv6 errors traffic class 0.
///
/// `frame` stays the caller's, is not changed and need not be well formed; may_answer() is not
/// asked. The result is a new frame of one small buffer without VLAN tag, checksums complete.
/// nullptr if no buffer is free, or the frame holds no IP header of the family of `sender.source`.
/// Any thread may call it.
[[nodiscard]] rte_mbuf* make_icmp_error(const rte_mbuf* frame, const IcmpError& error,
                                        const IcmpErrorSender& sender,
                                        const packet::Pools& pools) noexcept;

}  // namespace heddle::service
