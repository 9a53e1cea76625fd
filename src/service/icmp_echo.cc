#include "service/icmp_echo.h"

#include <cstring>
#include <utility>

#include "net/checksum.h"
#include "net/ethernet.h"
#include "net/header_at.h"
#include "net/icmp.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "packet/frame.h"
#include "service/answerable.h"

namespace heddle::service {
namespace {

constexpr uint8_t kTtl = 64;

template <net::WireFormat T>
T& at(rte_mbuf* frame, size_t offset) noexcept {
    return *net::header_at<T>(packet::first_segment(frame), offset);
}

bool has_answerable_addresses(std::span<const std::byte> head,
                              const net::ParsedHeaders& parsed) noexcept {
    if (parsed.is_ipv4) {
        const auto& ip = *net::header_at<net::Ipv4Header>(head, parsed.l3_offset);
        return is_answerable(ip.source) && !ip.destination.is_multicast() &&
               !ip.destination.is_broadcast();
    }
    const auto& ip = *net::header_at<net::Ipv6Header>(head, parsed.l3_offset);
    return is_answerable(ip.source) && !ip.destination.is_multicast();
}

bool is_echo_request(std::span<const std::byte> head, const net::ParsedHeaders& parsed) noexcept {
    const uint8_t protocol = parsed.is_ipv4 ? net::ip_protocol::kIcmp : net::ip_protocol::kIcmpv6;
    const uint8_t type =
        parsed.is_ipv4 ? net::icmp_type::kEchoRequest : net::icmpv6_type::kEchoRequest;
    if (!parsed.has_l4(protocol)) return false;
    const auto& icmp = *net::header_at<net::IcmpHeader>(head, parsed.l4_offset);
    return icmp.type == type && icmp.code == 0;
}

bool may_reply(const rte_mbuf* frame, const net::ParsedHeaders& parsed) noexcept {
    const auto head = packet::first_segment(frame);
    return is_well_formed(head, parsed) && is_echo_request(head, parsed) && !parsed.is_fragment &&
           !parsed.has_segments_left && has_answerable_addresses(head, parsed) &&
           net::header_at<net::EthernetHeader>(head, 0)->destination.is_unicast() &&
           packet::metadata(frame).l4_checksum != packet::L4Checksum::partial &&
           packet::is_exclusive(frame);
}

/// Moves everything up to the end of the fixed IP header to where the ICMP header begins. Returns
/// by how much.
uint16_t cut_out_options(rte_mbuf* frame, const net::ParsedHeaders& parsed) noexcept {
    const size_t fixed = parsed.is_ipv4 ? sizeof(net::Ipv4Header) : sizeof(net::Ipv6Header);
    const size_t kept = parsed.l3_offset + fixed;
    const auto options = static_cast<uint16_t>(parsed.l4_offset - kept);
    if (options != 0) {
        auto* begin = packet::first_segment(frame).data();
        std::memmove(begin + options, begin, kept);
        rte_pktmbuf_adj(frame, options);
    }
    return options;
}

void reply_ipv4(net::Ipv4Header& ip, uint16_t options) noexcept {
    ip.total_length = net::be16_t(static_cast<uint16_t>(ip.total_length.value() - options));
    ip.set_header_length(sizeof(net::Ipv4Header));
    ip.ttl = kTtl;
    std::swap(ip.source, ip.destination);
    ip.checksum = net::ipv4_header_checksum(net::bytes_of(ip));
}

void reply_ipv6(net::Ipv6Header& ip, uint16_t options) noexcept {
    ip.payload_length = net::be16_t(static_cast<uint16_t>(ip.payload_length.value() - options));
    ip.next_header = net::ip_protocol::kIcmpv6;
    ip.hop_limit = kTtl;
    std::swap(ip.source, ip.destination);
}

/// The pseudo header of ICMPv6 has the same sum in both directions.
void reply_icmp(net::IcmpHeader& icmp, uint8_t type) noexcept {
    const auto word = [&] {  // type and code
        return net::be16_t(static_cast<uint16_t>(icmp.type << 8 | icmp.code));
    };
    const auto before = word();
    icmp.type = type;
    icmp.checksum = net::update_checksum(icmp.checksum, before, word());
}

/// RFC 1624 leaves open which of the two zeros of one's complement an update gives, and it matters
/// in one case: a reply without a bit set (identifier, sequence number and data are 0) adds up to a
/// positive zero, whose complement is 0xffff. With 0 in the field receivers would find it wrong.
void correct_checksum_of_zeros(rte_mbuf* frame, uint32_t l4_offset, uint32_t length) noexcept {
    auto& icmp = at<net::IcmpHeader>(frame, l4_offset);
    if (icmp.checksum != net::be16_t(0)) return;
    net::ChecksumAccumulator sum;
    packet::ChainReader message(frame, l4_offset);
    while (length != 0) {
        const auto piece = message.next(length);
        sum.add(piece);
        length -= static_cast<uint32_t>(piece.size());
    }
    if (sum.sum() == net::be16_t(0)) icmp.checksum = net::be16_t(0xffff);
}

}  // namespace

bool make_echo_reply(rte_mbuf* frame) noexcept {
    const auto parsed = net::parse_frame(packet::first_segment(frame), frame->pkt_len);
    if (!may_reply(frame, parsed)) return false;

    const uint16_t options = cut_out_options(frame, parsed);
    auto& ethernet = at<net::EthernetHeader>(frame, 0);
    std::swap(ethernet.source, ethernet.destination);
    auto& icmp = at<net::IcmpHeader>(frame, parsed.l4_offset - options);
    if (parsed.is_ipv4) {
        reply_ipv4(at<net::Ipv4Header>(frame, parsed.l3_offset), options);
        reply_icmp(icmp, net::icmp_type::kEchoReply);
        correct_checksum_of_zeros(frame, parsed.l4_offset - options, parsed.l4_length);
    } else {
        reply_ipv6(at<net::Ipv6Header>(frame, parsed.l3_offset), options);
        reply_icmp(icmp, net::icmpv6_type::kEchoReply);
    }
    packet::Metadata& known = packet::metadata(frame);
    packet::set_headers(known, net::parse_frame(packet::first_segment(frame), frame->pkt_len));
    known.has_hash = false;  // it was that of the other direction
    return true;
}

}  // namespace heddle::service
