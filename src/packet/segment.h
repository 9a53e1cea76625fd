#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <tl/expected.hpp>

#include "net/parser.h"
#include "packet/drop.h"
#include "packet/pools.h"

namespace heddle::packet {

/// Below this no sender goes: Linux's TCP_MIN_GSO_SIZE (include/net/tcp.h), which is an MSS of 48
/// less 40 bytes of options.
inline constexpr uint16_t kMinGsoSize = 8;

/// Into so many segments a superframe may fall apart. A 64 KB frame at the lowest MSS Linux sends,
/// 48 with 12 of it taken by timestamps (tcp_min_snd_mss), makes 1820. Without a bound a hostile
/// gso_size turned one frame into 65,000.
inline constexpr uint32_t kMaxSegments = 2048;

/// Packets this frame is on the wire: 1, or the segments of a superframe.
uint32_t segment_count(const rte_mbuf* frame) noexcept;

/// Bytes of the longest L3 packet that a superframe is on the wire: what an MTU is about, never the
/// length of the frame.
inline uint32_t longest_segment(const rte_mbuf* superframe) noexcept {
    const Metadata& known = metadata(superframe);
    const uint32_t headers = known.gso_payload_offset();
    return headers - known.l3_offset +
           std::min<uint32_t>(known.gso_size, superframe->pkt_len - headers);
}

/// True if a frame with these headers is one whole TCP or UDP packet of the kind `gso` names and
/// nothing else: not a fragment, no padding, and all lengths say so.
bool is_superframe(const net::ParsedHeaders& headers, Gso gso, uint32_t frame_length) noexcept;

/// True if these are the outer headers of a tunnel packet that is the whole frame, so that they can
/// be repeated in front of every segment of the inner packet.
bool is_tunnel_of_superframe(const net::ParsedHeaders& outer, uint32_t frame_length) noexcept;

/// Software segmentation (GSO) of a superframe, for an egress that cannot do it.
///
/// Needs parsed metadata with gso != none, and IP lengths that agree with the frame; both are
/// checked. VLAN tags, IPv4 options, IPv6 extension headers and TCP options go into every segment.
/// As Linux does (net/ipv4/tcp_offload.c, udp_offload.c): the TCP sequence number advances by
/// gso_size, CWR stays on the first segment only, FIN and PSH on the last only, and the IPv4
/// identification counts up.
///
/// With inner_l4_offset set, the superframe is a packet inside a tunnel, whose inner_l4_checksum is
/// partial: all of the above is done to the inner packet. The outer headers go into every segment
/// with lengths, IPv4 identification and checksum set right, and so does what lies between. A UDP
/// checksum of the outer header is computed unless it is 0 over IPv4, where that means none; over
/// IPv6 it is always, as receivers need not take 0 (RFC 8200, section 8.1). Both checksums of such
/// segments are complete, whatever `complete_checksum` says.
///
/// The payload is copied, so segments are exclusive; one that fits a small buffer is a single mbuf.
/// A superframe whose payload fits one segment becomes that segment, if possible without a copy.
/// All segments have the metadata of the superframe with gso == none and as l4_checksum:
///   `complete_checksum`  good; or unknown if it was so, since nobody vouched for the payload
///   otherwise            partial; what it was, if the superframe became the one segment
///   inside a tunnel      inner_l4_checksum good, and l4_checksum good where computed, else unknown
///
/// Writes the segments to `out` in order and returns how many; kMaxSegments always suffice. All or
/// nothing: on tx_no_buffer (pool exhausted) and on tx_bad_segment (more segments than kMaxSegments
/// or than `out` holds, gso_size below kMinGsoSize, headers that contradict metadata, checksum
/// `bad`) no segment exists. The superframe is freed in any case.
///
/// Any thread may call it; the only memory it allocates is buffers of pools.small().
[[nodiscard]] tl::expected<uint32_t, DropReason> segment(rte_mbuf* frame, const Pools& pools,
                                                         bool complete_checksum,
                                                         std::span<rte_mbuf*> out) noexcept;

}  // namespace heddle::packet
