#pragma once

#include <rte_mbuf.h>

/// Answers to pings: RFC 792, RFC 1122 section 3.2.2.6; RFC 4443 section 4.2.
namespace heddle::service {

/// Turns an ICMP or ICMPv6 echo request into its reply, in place and whatever its size: MAC and IP
/// addresses are swapped, the TTL or hop limit begins anew at 64, and the ICMP checksum follows
/// from the one received. So a message that was damaged on its way stays damaged, and the payload
/// need not be summed up. Identification, DSCP, payload and padding are left as they are.
///
/// IPv4 options and IPv6 extension headers are not reflected but cut out, even a route to be
/// recorded or reversed (which RFC 1122 asks hosts for, and RFC 7126 operators to drop).
///
/// False, with the frame unchanged, if it is not an echo request, or one that gets no answer: in
/// fragments, malformed or with a wrong IPv4 header checksum, with a routing header that names
/// further destinations, from or to a multicast or broadcast address (of the link as well), from a
/// loopback or unspecified one, or with a partial checksum. Whether the destination is the
/// router's, the caller knows.
///
/// Needs a first segment that is exclusive and holds all headers (packet::ensure_headroom(),
/// packet::parse_headers()). Metadata gets the offsets of the reply and loses the flow hash;
/// l4_checksum stays what it was. Any thread may call it.
[[nodiscard]] bool make_echo_reply(rte_mbuf* frame) noexcept;

}  // namespace heddle::service
