#include "port/ethdev_flags.h"

#include "net/ethernet.h"
#include "net/ip_protocol.h"
#include "packet/frame.h"
#include "port/vlan_tag.h"
#include "port/vnet_header.h"

namespace heddle::port {

using packet::L4Checksum;
using packet::Metadata;

namespace {

constexpr uint16_t kTcpChecksumOffset = 16;
constexpr uint16_t kUdpChecksumOffset = 6;

/// The same in virtio's words. LRO and checksums that only travelled in memory come from virtio
/// above all, and from NICs with the meaning virtio gives them: whatever checks one checks the
/// other.
VnetHeader as_vnet_header(rte_mbuf* frame, uint64_t flags) noexcept {
    VnetHeader header;
    const net::ParsedHeaders headers = packet::parse_headers(frame);
    const bool is_tcp = headers.has_l4(net::ip_protocol::kTcp);
    const uint64_t checksum = flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    if (checksum == RTE_MBUF_F_RX_L4_CKSUM_NONE &&
        (is_tcp || headers.has_l4(net::ip_protocol::kUdp))) {
        header.flags = VnetHeader::kNeedsChecksum;
        header.csum_start = headers.l4_offset;
        header.csum_offset = is_tcp ? kTcpChecksumOffset : kUdpChecksumOffset;
    } else if (checksum == RTE_MBUF_F_RX_L4_CKSUM_GOOD) {
        header.flags = VnetHeader::kDataValid;
    }
    if ((flags & RTE_MBUF_F_RX_LRO) != 0 && frame->tso_segsz != 0 && is_tcp) {
        header.gso_type = headers.is_ipv4 ? VnetHeader::kGsoTcp4 : VnetHeader::kGsoTcp6;
        header.gso_size = frame->tso_segsz;
        // A device that merges segments has verified them.
        if (header.flags == 0) header.flags = VnetHeader::kDataValid;
    }
    return header;
}

}  // namespace

tl::expected<void, packet::DropReason> from_rare_receive_flags(rte_mbuf* frame) noexcept {
    const uint64_t flags = frame->ol_flags;
    frame->ol_flags &= kBufferFlags;
    if ((flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) {
        insert_tag(frame, {.tpid = net::ethertype::kVlan, .tci = frame->vlan_tci});
    }
    if ((flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_BAD) {
        packet::metadata(frame).l4_checksum = L4Checksum::bad;
        return {};
    }
    return from_vnet_header(as_vnet_header(frame, flags), frame);
}

void set_transmit_flags(rte_mbuf* frame) noexcept {
    const Metadata& known = packet::metadata(frame);
    const bool is_ipv4 = known.ethertype == net::ethertype::kIpv4;
    const bool is_tcp = known.ip_protocol == net::ip_protocol::kTcp;
    uint64_t flags = is_ipv4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
    frame->l2_len = known.l3_offset;
    frame->l3_len = static_cast<uint16_t>(known.l4_offset - known.l3_offset);
    if (packet::is_tcp(known.gso)) {
        frame->l4_len = static_cast<uint8_t>(known.payload_offset - known.l4_offset);
        frame->tso_segsz = known.gso_size;
        flags |= RTE_MBUF_F_TX_TCP_SEG;  // which implies the TCP checksum
        if (is_ipv4) flags |= RTE_MBUF_F_TX_IP_CKSUM;
    } else {
        flags |= is_tcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
    }
    frame->ol_flags = (frame->ol_flags & kBufferFlags) | flags;
}

}  // namespace heddle::port
