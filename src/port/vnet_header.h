#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <tl/expected.hpp>

#include "packet/drop.h"

/// Translates between packet::Metadata and the header that precedes each frame on a tap
/// (IFF_VNET_HDR), an AF_PACKET socket (PACKET_VNET_HDR) and a virtio ring. Pure functions of
/// header, frame and metadata.
namespace heddle::port {

/// struct virtio_net_hdr: virtio 1.2, section 5.1.6; Linux include/uapi/linux/virtio_net.h, which
/// names a member `class` and so cannot be included here.
///
/// These ten bytes are the same everywhere. With a header size of 12 (TUNSETVNETHDRSZ, mergeable
/// buffers) `num_buffers` follows, which tap ignores and the driver of a virtio ring sets.
///
/// Fields are in the byte order of the host, as in legacy virtio and as tap and AF_PACKET have them
/// unless told otherwise (TUNSETVNETLE, TUNSETVNETBE); on little-endian hosts that is also what
/// virtio 1.x prescribes.
struct VnetHeader {
    // flags
    static constexpr uint8_t kNeedsChecksum = 1;  ///< VIRTIO_NET_HDR_F_NEEDS_CSUM
    static constexpr uint8_t kDataValid = 2;      ///< VIRTIO_NET_HDR_F_DATA_VALID
    // gso_type
    static constexpr uint8_t kGsoNone = 0;
    static constexpr uint8_t kGsoTcp4 = 1;
    static constexpr uint8_t kGsoUdpFragments = 3;  ///< VIRTIO_NET_HDR_GSO_UDP (UFO); never offered
    static constexpr uint8_t kGsoTcp6 = 4;
    static constexpr uint8_t kGsoUdp = 5;  ///< VIRTIO_NET_HDR_GSO_UDP_L4 (USO), Linux 6.2
    static constexpr uint8_t kGsoEcn = 0x80;

    uint8_t flags = 0;
    uint8_t gso_type = kGsoNone;
    uint16_t hdr_len = 0;
    uint16_t gso_size = 0;
    uint16_t csum_start = 0;
    uint16_t csum_offset = 0;  ///< counted from csum_start
};
static_assert(sizeof(VnetHeader) == 10);

inline constexpr unsigned kMergeableVnetHeaderSize = sizeof(VnetHeader) + sizeof(uint16_t);

/// Takes what a header says of a received frame into its metadata, which must be clear before.
///
/// The header comes from a guest and is believed only as far as the frame bears it out. `hdr_len`
/// is not looked at: even Linux fills it with a guess.
///   no flag, no GSO  nothing is set, nothing is parsed
///   DATA_VALID       l4_checksum = good
///   NEEDS_CSUM       on the TCP or UDP header of a whole IP packet: parsed, l4_checksum = partial;
///                    on anything else behind the network header, as of a packet inside a tunnel:
///                    completed at once, and the metadata stays that of a plain frame
///   GSO              as NEEDS_CSUM on a TCP or UDP header, plus gso, gso_size and gso_ecn; with
///                    DATA_VALID in its place (LRO) the checksum is made partial. A payload that
///                    fits one segment makes a plain frame.
///                    NEEDS_CSUM may be on the TCP or UDP header of a packet inside a tunnel that
///                    net::parse_tunnelled_ip() knows: the inner offsets are set, inner_l4_checksum
///                    = partial and gso, whatever the payload; l4_checksum stays unknown. The outer
///                    UDP checksum is that of no packet then, but tells by 0 that none is wanted.
///
/// `vlan_bytes_inserted`: AF_PACKET takes a VLAN tag out of the frame and counts csum_start without
/// it; who puts the tag back passes 4. The first segment must be exclusive (packet/frame.h);
/// headers that straddle segments are pulled into it.
///
/// bad_vnet_header: the frame contradicts the header. It is still the caller's, to drop.
[[nodiscard]] tl::expected<void, packet::DropReason> from_vnet_header(
    const VnetHeader& header, rte_mbuf* frame, uint16_t vlan_bytes_inserted = 0) noexcept;

/// The header for a frame about to be sent. VLAN tags in the frame count in csum_start, as tap and
/// AF_PACKET expect. The frame must need no more than a header can say: one partial checksum, outer
/// or inner, and no superframe inside a tunnel.
[[nodiscard]] VnetHeader to_vnet_header(const rte_mbuf* frame) noexcept;

}  // namespace heddle::port
