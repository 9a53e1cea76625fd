#include "service/icmp_error.h"

#include <algorithm>
#include <optional>

#include "net/checksum.h"
#include "net/icmp.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "service/answerable.h"
#include "service/message.h"

namespace heddle::service {
namespace {

constexpr uint8_t kTtl = 64;
constexpr uint32_t kMaxIpv4Error = 576;
constexpr uint32_t kMaxIpv6Error = 1280;

/// RFC 791, section 3.1: "internetwork control", as an error keeps the network going.
constexpr uint8_t kPrecedence6 = 0xc0;
/// The TOS bits of RFC 1349 that RFC 3168 has left of them.
constexpr uint8_t kTosBits = 0x1c;

/// Types of which RFC 1812, section 4.3.1 (and RFC 8335) say that they are queries and answers.
constexpr bool is_icmp_query(uint8_t type) noexcept {
    switch (type) {
        case net::icmp_type::kEchoReply:
        case net::icmp_type::kEchoRequest:
        case 9:   // router advertisement, RFC 1256
        case 10:  // router solicitation
        case 13:  // timestamp
        case 14:
        case 15:  // information, RFC 792
        case 16:
        case 17:  // address mask, RFC 950
        case 18:
        case 42:  // extended echo, RFC 8335
        case 43:
            return true;
        default:
            return false;
    }
}

/// An error, a redirect, or what could be an error.
bool is_icmp_error(std::span<const std::byte> head, const net::ParsedHeaders& parsed) noexcept {
    if (!parsed.has_l4(parsed.is_ipv4 ? net::ip_protocol::kIcmp : net::ip_protocol::kIcmpv6)) {
        return false;
    }
    const uint8_t type = net::header_at<net::IcmpHeader>(head, parsed.l4_offset)->type;
    if (parsed.is_ipv4) return !is_icmp_query(type);
    return type < 128 || type == net::icmpv6_type::kRedirect;
}

struct TypeCode {
    uint8_t type;
    uint8_t code;
};

/// RFC 792; RFC 1812, section 5.2.7.
constexpr TypeCode ipv4_type(IcmpErrorKind kind) noexcept {
    constexpr uint8_t kUnreachable = net::icmp_type::kDestinationUnreachable;
    switch (kind) {
        case IcmpErrorKind::time_exceeded:
            return {net::icmp_type::kTimeExceeded, 0};
        case IcmpErrorKind::no_route:
            return {kUnreachable, 0};
        case IcmpErrorKind::address_unreachable:
        case IcmpErrorKind::beyond_scope:
            return {kUnreachable, 1};
        case IcmpErrorKind::protocol_unreachable:
            return {kUnreachable, 2};
        case IcmpErrorKind::port_unreachable:
            return {kUnreachable, 3};
        case IcmpErrorKind::prohibited:
            return {kUnreachable, 13};
        case IcmpErrorKind::packet_too_big:
            return {kUnreachable, net::kIcmpFragmentationNeeded};
        case IcmpErrorKind::parameter_problem:
        case IcmpErrorKind::unrecognized_option:
            return {net::icmp_type::kParameterProblem, 0};
    }
    return {kUnreachable, 0};
}

/// RFC 4443, section 3.
constexpr TypeCode ipv6_type(IcmpErrorKind kind) noexcept {
    constexpr uint8_t kUnreachable = net::icmpv6_type::kDestinationUnreachable;
    switch (kind) {
        case IcmpErrorKind::time_exceeded:
            return {net::icmpv6_type::kTimeExceeded, 0};
        case IcmpErrorKind::no_route:
            return {kUnreachable, 0};
        case IcmpErrorKind::prohibited:
            return {kUnreachable, 1};
        case IcmpErrorKind::beyond_scope:
            return {kUnreachable, 2};
        case IcmpErrorKind::address_unreachable:
            return {kUnreachable, 3};
        case IcmpErrorKind::port_unreachable:
            return {kUnreachable, 4};
        case IcmpErrorKind::packet_too_big:
            return {net::icmpv6_type::kPacketTooBig, 0};
        case IcmpErrorKind::parameter_problem:
            return {net::icmpv6_type::kParameterProblem, 0};
        case IcmpErrorKind::protocol_unreachable:
            return {net::icmpv6_type::kParameterProblem, 1};
        case IcmpErrorKind::unrecognized_option:
            return {net::icmpv6_type::kParameterProblem, 2};
    }
    return {kUnreachable, 0};
}

net::IcmpHeader ipv4_header(const IcmpError& error) noexcept {
    const auto [type, code] = ipv4_type(error.kind);
    net::IcmpHeader icmp{type, code, {}, {}, {}};
    if (error.kind == IcmpErrorKind::packet_too_big) {
        icmp.word2 = net::be16_t(static_cast<uint16_t>(std::min<uint32_t>(error.mtu, 0xffff)));
    } else if (type == net::icmp_type::kParameterProblem) {
        icmp.word1 =
            net::be16_t(static_cast<uint16_t>(std::min<uint32_t>(error.pointer, 0xff) << 8));
    }
    return icmp;
}

net::IcmpHeader ipv6_header(const IcmpError& error) noexcept {
    const auto [type, code] = ipv6_type(error.kind);
    uint32_t value = 0;
    if (type == net::icmpv6_type::kPacketTooBig) value = error.mtu;
    if (type == net::icmpv6_type::kParameterProblem) value = error.pointer;
    return {type,
            code,
            {},
            net::be16_t(static_cast<uint16_t>(value >> 16)),
            net::be16_t(static_cast<uint16_t>(value))};
}

/// The fixed IP header of the packet in a frame, wherever segments end.
template <class Header>
std::optional<Header> read_ip(const rte_mbuf* frame, uint32_t l3_offset) noexcept {
    Header ip;
    if (!packet::copy_out(frame, l3_offset, std::as_writable_bytes(std::span(&ip, 1))) ||
        ip.version() != Header::kVersion) {
        return std::nullopt;
    }
    return ip;
}

/// Appends to an error the beginning of the packet at `l3_offset`: of the `length` bytes it claims
/// to have, those that are there, and not more than `limit`.
std::span<std::byte> append_quote(rte_mbuf* answer, const rte_mbuf* frame, uint32_t l3_offset,
                                  uint32_t length, uint32_t limit) noexcept {
    const uint32_t bytes = std::min({length, frame->pkt_len - l3_offset, limit});
    const auto quote = append_bytes(answer, static_cast<uint16_t>(bytes));
    (void)packet::copy_out(frame, l3_offset, quote);  // as many bytes as there are
    return quote;
}

rte_mbuf* make_ipv4_error(const rte_mbuf* frame, uint32_t l3_offset, const IcmpError& error,
                          const IcmpErrorSender& sender, const packet::Pools& pools) noexcept {
    const auto about = read_ip<net::Ipv4Header>(frame, l3_offset);
    if (!about || about->total_length.value() < sizeof(*about)) return nullptr;
    rte_mbuf* answer =
        begin_message(sender.source_mac, sender.destination_mac, net::ethertype::kIpv4, pools);
    if (answer == nullptr) return nullptr;

    constexpr uint32_t kHeaders = sizeof(net::Ipv4Header) + sizeof(net::IcmpHeader);
    auto& ip = append(answer, net::Ipv4Header());
    auto& icmp = append(answer, ipv4_header(error));
    const auto quote = append_quote(answer, frame, l3_offset, about->total_length.value(),
                                    kMaxIpv4Error - kHeaders);
    ip.dscp_ecn = static_cast<uint8_t>(kPrecedence6 | (about->dscp_ecn & kTosBits));
    ip.total_length = net::be16_t(static_cast<uint16_t>(kHeaders + quote.size()));
    ip.identification = net::be16_t(sender.ipv4_identification);
    ip.ttl = kTtl;
    ip.protocol = net::ip_protocol::kIcmp;
    ip.source = *sender.source.v4();
    ip.destination = about->source;
    ip.checksum = net::ipv4_header_checksum(net::bytes_of(ip));
    icmp.checksum = net::ChecksumAccumulator().add(net::bytes_of(icmp)).add(quote).checksum();
    return finish_message(answer);
}

rte_mbuf* make_ipv6_error(const rte_mbuf* frame, uint32_t l3_offset, const IcmpError& error,
                          const IcmpErrorSender& sender, const packet::Pools& pools) noexcept {
    const auto about = read_ip<net::Ipv6Header>(frame, l3_offset);
    if (!about) return nullptr;
    rte_mbuf* answer =
        begin_message(sender.source_mac, sender.destination_mac, net::ethertype::kIpv6, pools);
    if (answer == nullptr) return nullptr;

    auto& ip = append(answer, net::Ipv6Header());
    auto& icmp = append(answer, ipv6_header(error));
    const auto quote = append_quote(
        answer, frame, l3_offset, static_cast<uint32_t>(sizeof(ip) + about->payload_length.value()),
        kMaxIpv6Error - sizeof(ip) - sizeof(icmp));
    const auto length = static_cast<uint16_t>(sizeof(icmp) + quote.size());
    ip.payload_length = net::be16_t(length);
    ip.next_header = net::ip_protocol::kIcmpv6;
    ip.hop_limit = kTtl;
    ip.source = *sender.source.v6();
    ip.destination = about->source;
    auto sum = net::pseudo_header(ip.source, ip.destination, ip.next_header, length);
    icmp.checksum = sum.add(net::bytes_of(icmp)).add(quote).checksum();
    return finish_message(answer);
}

}  // namespace

bool may_answer(const rte_mbuf* frame, IcmpErrorKind kind) noexcept {
    const auto head = packet::first_segment(frame);
    const auto parsed = net::parse_frame(head, frame->pkt_len);
    if (!is_well_formed(head, parsed) || parsed.is_later_fragment() ||
        is_icmp_error(head, parsed)) {
        return false;
    }
    const bool link_unicast =
        net::header_at<net::EthernetHeader>(head, 0)->destination.is_unicast();
    if (parsed.is_ipv4) {
        const auto& ip = *net::header_at<net::Ipv4Header>(head, parsed.l3_offset);
        return link_unicast && is_answerable(ip.source) && !ip.destination.is_multicast() &&
               !ip.destination.is_broadcast();
    }
    const auto& ip = *net::header_at<net::Ipv6Header>(head, parsed.l3_offset);
    const bool answers_multicast =
        kind == IcmpErrorKind::packet_too_big || kind == IcmpErrorKind::unrecognized_option;
    return is_answerable(ip.source) &&
           (answers_multicast || (link_unicast && !ip.destination.is_multicast()));
}

rte_mbuf* make_icmp_error(const rte_mbuf* frame, const IcmpError& error,
                          const IcmpErrorSender& sender, const packet::Pools& pools) noexcept {
    const auto parsed = net::parse_frame(packet::first_segment(frame), frame->pkt_len);
    if (parsed.ethertype == net::ethertype::kIpv4 && sender.source.is_v4()) {
        return make_ipv4_error(frame, parsed.l3_offset, error, sender, pools);
    }
    if (parsed.ethertype == net::ethertype::kIpv6 && sender.source.is_v6()) {
        return make_ipv6_error(frame, parsed.l3_offset, error, sender, pools);
    }
    return nullptr;
}

}  // namespace heddle::service
