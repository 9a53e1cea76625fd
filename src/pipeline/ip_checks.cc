#include "pipeline/ip_checks.h"

#include <cstring>

#include "net/checksum.h"
#include "net/ethernet.h"
#include "packet/frame.h"

namespace heddle::pipeline {
namespace {

using forwarding::RouterInterface;
using packet::DropReason;

bool contiguous(rte_mbuf* frame, uint32_t bytes) noexcept {
    return frame->data_len >= bytes || packet::pull(frame, bytes);
}

/// Cuts off what follows the packet, such as the padding of short Ethernet frames.
void trim(rte_mbuf* frame, uint32_t length) noexcept {
    const uint32_t excess = frame->pkt_len - length;
    if (excess == 0) return;
    if (rte_pktmbuf_lastseg(frame)->data_len < excess) return;  // it goes along
    rte_pktmbuf_trim(frame, static_cast<uint16_t>(excess));
}

bool header_checksum_ok(const net::Ipv4Header* header, unsigned length) noexcept {
    if (length == sizeof(net::Ipv4Header)) [[likely]] {  // five words, without a loop or a call
        uint64_t words[2];
        uint32_t last;
        std::memcpy(words, header, sizeof(words));
        std::memcpy(&last, reinterpret_cast<const std::byte*>(header) + sizeof(words),
                    sizeof(last));
        const auto low = [](uint64_t word) { return word & UINT32_MAX; };
        return net::detail::fold_to_16(low(words[0]) + (words[0] >> 32) + low(words[1]) +
                                       (words[1] >> 32) + last) == 0xffff;
    }
    return net::ipv4_header_checksum_ok({reinterpret_cast<const std::byte*>(header), length});
}

/// "This network" and what is reserved: never a source, never a destination (RFC 6890).
bool is_unroutable(net::Ipv4Address address) noexcept {
    const uint32_t first = address.value() >> 24;
    return first == 0 || first == 127 || first >= 240;
}

/// Walks the options of a header: RFC 791, section 3.1.
std::optional<DropReason> check_options(const net::Ipv4Header* header, unsigned length) noexcept {
    constexpr uint8_t kEnd = 0;
    constexpr uint8_t kNoOperation = 1;
    constexpr uint8_t kLooseSourceRoute = 131;
    constexpr uint8_t kStrictSourceRoute = 137;
    const auto* bytes = reinterpret_cast<const uint8_t*>(header);
    for (unsigned i = sizeof(net::Ipv4Header); i < length;) {
        const uint8_t type = bytes[i];
        if (type == kEnd) break;
        if (type == kNoOperation) {
            ++i;
            continue;
        }
        if (type == kLooseSourceRoute || type == kStrictSourceRoute)
            return DropReason::source_route;
        if (i + 1 >= length || bytes[i + 1] < 2 || i + bytes[i + 1] > length) {
            return DropReason::bad_ip_header;
        }
        i += bytes[i + 1];
    }
    return std::nullopt;
}

/// Routing headers of type 0 are not to be honoured anywhere (RFC 5095).
std::optional<DropReason> check_extension_headers(rte_mbuf* frame) noexcept {
    const net::ParsedHeaders parsed = packet::parse_headers(frame);
    switch (parsed.malformed) {
        case net::Malformed::extension_header_truncated:
        case net::Malformed::extension_header_misplaced:
        case net::Malformed::extension_header_chain_too_long:
            return DropReason::bad_ip_header;
        default:
            break;
    }
    if (parsed.incomplete) return DropReason::bad_ip_header;
    return parsed.has_segments_left ? std::optional(DropReason::source_route) : std::nullopt;
}

/// ::ffff:0:0/96 and ::/96 do not belong on a wire (RFC 4291, section 2.5.5).
bool has_embedded_ipv4(const net::Ipv6Address& address) noexcept {
    if (address.half(0) != 0) return false;
    const auto& bytes = address.bytes();
    const bool compatible = bytes[8] == 0 && bytes[9] == 0 && bytes[10] == 0 && bytes[11] == 0;
    const bool mapped = bytes[8] == 0 && bytes[9] == 0 && bytes[10] == 0xff && bytes[11] == 0xff;
    return compatible || mapped;
}

}  // namespace

bool is_broadcast_of(const RouterInterface& in, net::Ipv4Address address) noexcept {
    if ((address.value() & in.broadcast_bits) != in.broadcast_bits) [[likely]] {
        return false;
    }
    for (const net::Ipv4Prefix& own : in.addresses4) {
        if (own.length() >= 31 || !own.contains(address)) continue;
        if ((address.value() | own.mask().value()) == UINT32_MAX) return true;
    }
    return false;
}

std::optional<DropReason> check_ipv4(rte_mbuf* frame, const RouterInterface& in) noexcept {
    if (!contiguous(frame, kL2 + sizeof(net::Ipv4Header))) return DropReason::bad_ip_header;
    const net::Ipv4Header* header = ipv4_header(frame);
    const unsigned header_length = header->header_length();
    const uint32_t total = header->total_length.value();
    if (header->version() != net::Ipv4Header::kVersion || header_length < sizeof(net::Ipv4Header) ||
        total < header_length || total > frame->pkt_len - kL2 ||
        !contiguous(frame, kL2 + header_length)) {
        return DropReason::bad_ip_header;
    }
    header = ipv4_header(frame);
    if (!header_checksum_ok(header, header_length)) return DropReason::bad_ip_checksum;
    if (header_length > sizeof(net::Ipv4Header)) [[unlikely]] {
        if (const auto reason = check_options(header, header_length)) return reason;
    }
    const net::Ipv4Address source = header->source;
    const net::Ipv4Address destination = header->destination;
    if (is_unroutable(source) || source.is_multicast() || is_unroutable(destination) ||
        destination.is_multicast() || is_broadcast_of(in, source)) {
        return DropReason::martian;
    }
    if (source == destination) return DropReason::land;
    if (in.owns(source)) return DropReason::martian;  // nobody else speaks for the router
    // RFC 3927, section 7.
    if ((source.is_link_local() || destination.is_link_local()) && !in.owns(destination)) {
        return DropReason::beyond_scope;
    }
    trim(frame, kL2 + total);
    return std::nullopt;
}

std::optional<DropReason> check_ipv6(rte_mbuf* frame, const RouterInterface& in) noexcept {
    if (!contiguous(frame, kL2 + sizeof(net::Ipv6Header))) return DropReason::bad_ip_header;
    const net::Ipv6Header* header = ipv6_header(frame);
    const uint32_t length = sizeof(net::Ipv6Header) + header->payload_length.value();
    // A jumbogram (RFC 2675) has its length elsewhere, and is not for links of this size.
    const bool jumbogram =
        header->payload_length.value() == 0 && header->next_header == net::ip_protocol::kHopByHop;
    if (header->version() != net::Ipv6Header::kVersion || length > frame->pkt_len - kL2 ||
        jumbogram) {
        return DropReason::bad_ip_header;
    }
    if (net::is_extension_header(header->next_header)) [[unlikely]] {
        if (const auto reason = check_extension_headers(frame)) return reason;
        header = ipv6_header(frame);
    }
    const net::Ipv6Address& source = header->source;
    const net::Ipv6Address& destination = header->destination;
    if (source.is_multicast() || destination.is_multicast() || has_embedded_ipv4(source) ||
        has_embedded_ipv4(destination)) {
        return DropReason::martian;
    }
    if (source == destination) return DropReason::land;
    if (in.owns(source)) return DropReason::martian;
    if ((source.is_link_local() || destination.is_link_local()) && !in.owns(destination)) {
        return DropReason::beyond_scope;
    }
    trim(frame, kL2 + length);
    return std::nullopt;
}

}  // namespace heddle::pipeline
