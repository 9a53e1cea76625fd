#pragma once

#include <rte_mbuf.h>

#include <cstdint>

/// Completes checksums that a sender left to hardware, for the egress that has none.
/// The frame's first segment must be exclusive (is_exclusive), because the checksum is written
/// there.
namespace heddle::packet {

/// Turns every `partial` checksum of a frame, the inner one first, into a full one and its state
/// into `good`. Sums up the payload across segments, as far as the IP length says; link-layer
/// padding is not part of it. Leaves checksums of any other state alone. Needs parsed metadata and
/// gso == none.
void complete_l4_checksum(rte_mbuf* frame) noexcept;

/// Writes the Internet checksum (RFC 1071) of everything from `start` to the end of the frame into
/// the two bytes at `start + offset`, which hold what the sum begins with: what
/// VIRTIO_NET_HDR_F_NEEDS_CSUM asks for, wherever it points (virtio 1.2, section 5.1.6.2). A sum of
/// 0 is written as 0xffff where `offset` is that of UDP. Does not look at metadata. False, with the
/// frame unchanged, if the field does not lie within the frame as a whole.
[[nodiscard]] bool complete_checksum_at(rte_mbuf* frame, uint32_t start, uint32_t offset) noexcept;

}  // namespace heddle::packet
