#include "port/vnet_header.h"

#include <algorithm>

#include "net/header_at.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/l4_checksum.h"
#include "net/tunnel.h"
#include "packet/checksum.h"
#include "packet/frame.h"
#include "packet/segment.h"

namespace heddle::port {
namespace {

using packet::DropReason;
using packet::Gso;
using packet::L4Checksum;
using packet::Metadata;
using Verdict = tl::expected<void, DropReason>;

Verdict bad() noexcept {
    return tl::unexpected(DropReason::bad_vnet_header);
}

/// Gso::none for types never offered, unknown, or marked as ECN without being TCP.
Gso gso_of(uint8_t gso_type, const net::ParsedHeaders& headers) noexcept {
    switch (gso_type) {
        case VnetHeader::kGsoTcp4:
        case VnetHeader::kGsoTcp4 | VnetHeader::kGsoEcn:
            return Gso::tcp4;
        case VnetHeader::kGsoTcp6:
        case VnetHeader::kGsoTcp6 | VnetHeader::kGsoEcn:
            return Gso::tcp6;
        case VnetHeader::kGsoUdp:
            return headers.is_ipv4 ? Gso::udp4 : Gso::udp6;
        default:
            return Gso::none;
    }
}

uint8_t gso_type_of(const Metadata& known) noexcept {
    const uint8_t ecn = known.gso_ecn ? VnetHeader::kGsoEcn : 0;
    switch (known.gso) {
        case Gso::tcp4:
            return VnetHeader::kGsoTcp4 | ecn;
        case Gso::tcp6:
            return VnetHeader::kGsoTcp6 | ecn;
        case Gso::udp4:
        case Gso::udp6:
            return VnetHeader::kGsoUdp;
        case Gso::none:
            break;
    }
    return VnetHeader::kGsoNone;
}

/// The checksum a header asks for is that of the packet the metadata can describe.
bool is_partial_l4(const net::ParsedHeaders& headers, uint32_t start, uint16_t offset) noexcept {
    if (headers.malformed != net::Malformed::none || headers.is_fragment) return false;
    if (!headers.has_l4(net::ip_protocol::kTcp) && !headers.has_l4(net::ip_protocol::kUdp)) {
        return false;
    }
    return start == headers.l4_offset && offset == net::l4_checksum_offset(headers);
}

/// Nobody sums up link and network headers; Linux refuses it as well (virtio_net_hdr_to_skb).
uint32_t lowest_checksum_start(const net::ParsedHeaders& headers) noexcept {
    return headers.l3_offset + (headers.is_ipv4   ? sizeof(net::Ipv4Header)
                                : headers.is_ipv6 ? sizeof(net::Ipv6Header)
                                                  : 0);
}

/// Turns the full checksum of a packet that a device coalesced (LRO) and verified into a partial
/// one: of the segments' checksums it is none anyway.
bool make_partial(rte_mbuf* frame, const net::ParsedHeaders& headers) noexcept {
    const auto head = packet::first_segment(frame);
    const auto begun = net::begin_l4_checksum(head, headers);
    if (!begun) return false;
    *net::header_at<net::be16_t>(head, headers.l4_offset + *net::l4_checksum_offset(headers)) =
        begun->sum();
    return true;
}

/// A packet of the kind the header names reaches from `headers` to the end of the frame and falls
/// into a bounded number of segments.
bool is_honest_gso(const VnetHeader& header, const net::ParsedHeaders& headers,
                   uint32_t frame_length) noexcept {
    return packet::is_superframe(headers, gso_of(header.gso_type, headers), frame_length) &&
           header.gso_size >= packet::kMinGsoSize &&
           frame_length - headers.payload_offset <= packet::kMaxSegments * header.gso_size;
}

void set_gso(Metadata& known, const VnetHeader& header,
             const net::ParsedHeaders& headers) noexcept {
    known.gso = gso_of(header.gso_type, headers);
    known.gso_size = header.gso_size;
    known.gso_ecn = (header.gso_type & VnetHeader::kGsoEcn) != 0;
}

/// What a tunnel device of the sender's kernel makes of a superframe. virtio_net_hdr has no word
/// for the tunnel: csum_start, which lies at the inner L4 header, is all there is to tell and
/// proves that what was taken for a tunnel is one.
Verdict from_tunnelled_superframe(const VnetHeader& header, rte_mbuf* frame,
                                  const net::ParsedHeaders& outer, uint32_t csum_start) noexcept {
    if (!packet::is_tunnel_of_superframe(outer, frame->pkt_len)) return bad();
    constexpr uint32_t kLongestL4Header = 60;
    if (!packet::pull(frame, std::min(frame->pkt_len, csum_start + kLongestL4Header))) return bad();
    const auto inner = net::parse_tunnelled_ip(packet::first_segment(frame), outer, frame->pkt_len);
    if (!inner || !is_honest_gso(header, *inner, frame->pkt_len) ||
        !is_partial_l4(*inner, csum_start, header.csum_offset)) {
        return bad();
    }

    Metadata& known = packet::metadata(frame);
    packet::set_headers(known, outer);
    known.inner_l3_offset = inner->l3_offset;
    known.inner_l4_offset = inner->l4_offset;
    known.inner_payload_offset = inner->payload_offset;
    known.inner_l4_checksum = L4Checksum::partial;
    // Also if it fits one segment: packet::segment() alone knows how to finish the outer headers.
    set_gso(known, header, *inner);
    return {};
}

Verdict from_superframe(const VnetHeader& header, rte_mbuf* frame, uint32_t csum_start) noexcept {
    const auto headers = packet::parse_headers(frame);
    if ((header.flags & VnetHeader::kNeedsChecksum) != 0 && csum_start > headers.l4_offset) {
        return from_tunnelled_superframe(header, frame, headers, csum_start);
    }
    if (!is_honest_gso(header, headers, frame->pkt_len)) return bad();
    const uint32_t payload = frame->pkt_len - headers.payload_offset;

    if ((header.flags & VnetHeader::kNeedsChecksum) != 0) {
        if (!is_partial_l4(headers, csum_start, header.csum_offset)) return bad();
    } else if ((header.flags & VnetHeader::kDataValid) == 0 || !make_partial(frame, headers)) {
        return bad();
    }

    Metadata& known = packet::metadata(frame);
    packet::set_headers(known, headers);
    known.l4_checksum = L4Checksum::partial;
    if (payload > header.gso_size) {
        set_gso(known, header, headers);
    }
    return {};
}

Verdict from_partial_checksum(rte_mbuf* frame, uint32_t start, uint16_t offset) noexcept {
    const auto headers = packet::parse_headers(frame);
    if (headers.l3_offset == 0 || start < lowest_checksum_start(headers)) return bad();
    if (is_partial_l4(headers, start, offset)) {
        Metadata& known = packet::metadata(frame);
        packet::set_headers(known, headers);
        known.l4_checksum = L4Checksum::partial;
        return {};
    }
    return packet::complete_checksum_at(frame, start, offset) ? Verdict() : bad();
}

}  // namespace

Verdict from_vnet_header(const VnetHeader& header, rte_mbuf* frame,
                         uint16_t vlan_bytes_inserted) noexcept {
    const uint32_t csum_start = uint32_t{header.csum_start} + vlan_bytes_inserted;
    if (header.gso_type != VnetHeader::kGsoNone) return from_superframe(header, frame, csum_start);
    if ((header.flags & VnetHeader::kNeedsChecksum) != 0) {
        return from_partial_checksum(frame, csum_start, header.csum_offset);
    }
    if ((header.flags & VnetHeader::kDataValid) != 0) {
        packet::metadata(frame).l4_checksum = L4Checksum::good;
    }
    return {};
}

VnetHeader to_vnet_header(const rte_mbuf* frame) noexcept {
    const Metadata& known = packet::metadata(frame);
    VnetHeader header;
    if (known.l4_checksum == L4Checksum::partial) {
        header.flags = VnetHeader::kNeedsChecksum;
        header.csum_start = known.l4_offset;
        header.csum_offset = packet::checksum_field(known.l4_offset, known.payload_offset);
    } else if (known.inner_l4_checksum == L4Checksum::partial) {
        header.flags = VnetHeader::kNeedsChecksum;
        header.csum_start = known.inner_l4_offset;
        header.csum_offset =
            packet::checksum_field(known.inner_l4_offset, known.inner_payload_offset);
    } else if (known.l4_checksum == L4Checksum::good) {
        header.flags = VnetHeader::kDataValid;
    }
    if (known.gso != Gso::none && packet::segment_count(frame) > 1) {
        header.gso_type = gso_type_of(known);
        header.gso_size = known.gso_size;
        header.hdr_len = known.payload_offset;
    }
    return header;
}

}  // namespace heddle::port
