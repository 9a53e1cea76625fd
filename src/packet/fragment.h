#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <tl/expected.hpp>

#include "packet/drop.h"
#include "packet/pools.h"

namespace heddle::packet {

/// Every network takes packets of this length whole (RFC 791, section 3.2): no path MTU is less.
inline constexpr uint16_t kMinIpv4Mtu = 68;

/// Into so many fragments any packet falls at most that has no options to repeat: 65,515 bytes at
/// the lowest MTU, 48 in each, make 1365. Only hostile options at an MTU below 108 take more.
inline constexpr size_t kMaxFragments = 1408;

/// Fragments an IPv4 packet for a link whose MTU it exceeds (RFC 791, section 3.2; RFC 1812,
/// section 4.2.2.7).
///
/// Needs parsed metadata with gso == none (superframes are cut by packet::segment() before) and
/// IP lengths within the frame; both are checked. `mtu` counts bytes from the IP header on. What is
/// in front of l3_offset goes in front of every fragment; link-layer padding behind the packet goes
/// into none.
///
/// Fragments are as long as the MTU allows and leave in order. Identification, TTL, addresses and
/// the rest of the header are kept; a fragment may be fragmented again. The first one has all
/// options; the later ones, in a shorter header, those whose copied flag is set. A partial L4
/// checksum is completed before.
///
/// Whoever calls this decided about packets with DF set already; one that is too long is not
/// fragmented, but gives tx_mtu.
///
/// The payload is copied: for the fragments of an Ethernet that costs little more than attaching
/// indirect buffers (measured at Segmenter in segment.cc), and it makes single buffers which may be
/// written to and gives a large buffer back at once. A packet within the MTU stays the one frame it
/// is, padding included. Fragments have the metadata of the frame, with offsets as the parser finds
/// them, no inner offsets, and l4_checksum unknown, since no fragment alone has one.
///
/// Writes the fragments to `out` in order and returns how many. All or nothing: on tx_no_buffer
/// (pool exhausted), tx_mtu and tx_bad_segment (more fragments than `out` holds, headers or options
/// that are malformed or contradict metadata, an MTU too small for 8 bytes of payload, an end
/// beyond 65,535 bytes of the whole datagram) no fragment exists. The frame is freed in any case.
///
/// Any thread may call it; the only memory it allocates is buffers of pools.small().
[[nodiscard]] tl::expected<size_t, DropReason> fragment(rte_mbuf* frame, uint16_t mtu,
                                                        const Pools& pools,
                                                        std::span<rte_mbuf*> out) noexcept;

}  // namespace heddle::packet
