#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <tl/expected.hpp>

#include "packet/drop.h"
#include "packet/metadata.h"

/// Translates between packet::Metadata and what DPDK's drivers read and write in an mbuf: ol_flags,
/// lengths of headers, tso_segsz. See the mbuf library's chapter "Meta Information" and
/// rte_mbuf_core.h.
namespace heddle::port {

/// Flags that say how the mbuf holds its bytes; all others are about the frame.
inline constexpr uint64_t kBufferFlags = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;

/// Receive flags that need more than a look.
inline constexpr uint64_t kRareReceiveFlags = RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_LRO;

/// The rest of from_receive_flags(): tags to put back, superframes, checksums left to us.
[[nodiscard]] tl::expected<void, packet::DropReason> from_rare_receive_flags(
    rte_mbuf* frame) noexcept;

/// Takes what the device found out about a received frame into its metadata, which it clears
/// before, and clears the flags: from here on the metadata is the only truth. On error the frame is
/// still the caller's, to drop.
[[nodiscard]] inline tl::expected<void, packet::DropReason> from_receive_flags(
    rte_mbuf* frame) noexcept {
    packet::Metadata& known = packet::metadata(frame);
    known.clear();
    const uint64_t flags = frame->ol_flags & ~kBufferFlags;
    if (flags == 0) return {};
    const uint64_t checksum = flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    if ((flags & kRareReceiveFlags) != 0 || checksum == RTE_MBUF_F_RX_L4_CKSUM_NONE) [[unlikely]] {
        return from_rare_receive_flags(frame);
    }
    if (checksum == RTE_MBUF_F_RX_L4_CKSUM_GOOD) {
        known.l4_checksum = packet::L4Checksum::good;
    } else if (checksum == RTE_MBUF_F_RX_L4_CKSUM_BAD) {
        known.l4_checksum = packet::L4Checksum::bad;
    }
    frame->ol_flags &= kBufferFlags;
    return {};
}

/// True if the device has something to finish: then set_transmit_flags() must be called.
inline bool needs_transmit_flags(const packet::Metadata& known) noexcept {
    return known.l4_checksum == packet::L4Checksum::partial;
}

/// Tells the device to finish checksum and segmentation, as the metadata says. rte_eth_tx_prepare()
/// then writes into the headers (each driver wants another pseudo-header sum): they must be
/// exclusive.
void set_transmit_flags(rte_mbuf* frame) noexcept;

}  // namespace heddle::port
