#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>

#include "net/tcp.h"
#include "net/udp.h"

/// Completes checksums that a sender left to hardware, for the egress that has none.
/// The segment that holds the checksum must be exclusive (packet/frame.h): it is written there.
namespace heddle::packet {

/// Offset of the checksum within a TCP or UDP header that ends at `payload_offset`. Its length
/// tells the two apart, because metadata names the protocol of the outer packet only.
constexpr uint16_t checksum_field(uint16_t l4_offset, uint16_t payload_offset) noexcept {
    return payload_offset - l4_offset == sizeof(net::UdpHeader)
               ? offsetof(net::UdpHeader, checksum)
               : offsetof(net::TcpHeader, checksum);
}

/// Turns every `partial` checksum of a frame, the inner one first, into a full one and its state
/// into `good`. Sums up the payload across segments, as far as the UDP or IP length says;
/// link-layer padding is not part of it. Leaves checksums of any other state alone. Needs parsed
/// metadata and gso == none.
void complete_l4_checksum(rte_mbuf* frame) noexcept;

/// Writes the Internet checksum (RFC 1071) of everything from `start` to the end of the frame into
/// the two bytes at `start + offset`, which hold what the sum begins with: what
/// VIRTIO_NET_HDR_F_NEEDS_CSUM asks for, wherever it points (virtio 1.2, section 5.1.6.2). A sum of
/// 0 is written as 0xffff where `offset` is that of UDP. Does not look at metadata. False, with the
/// frame unchanged, if the field does not lie within the frame as a whole.
[[nodiscard]] bool complete_checksum_at(rte_mbuf* frame, uint32_t start, uint32_t offset) noexcept;

}  // namespace heddle::packet
