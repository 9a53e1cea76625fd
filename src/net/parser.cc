#include "net/parser.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "net/ethernet.h"
#include "net/header_at.h"
#include "net/icmp.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/tcp.h"
#include "net/udp.h"

namespace heddle::net {
namespace {

/// One walk from the outside in. Every method takes the offset of its header and leaves the frame
/// as soon as something is wrong; none reads before within() has agreed.
class FrameParser {
 public:
    FrameParser(std::span<const std::byte> head, size_t frame_length,
                ParsedHeaders& parsed) noexcept
        : head_(head.first(std::min({head.size(), frame_length, kMaxHead}))),
          frame_length_(frame_length),
          parsed_(parsed) {}

    void ethernet() noexcept;
    void ip(size_t offset) noexcept;

 private:
    /// Offsets of ParsedHeaders are 16 bits wide.
    static constexpr size_t kMaxHead = std::numeric_limits<uint16_t>::max();

    void ipv4(size_t offset) noexcept;
    void ipv6(size_t offset) noexcept;
    void extension_headers(size_t offset, size_t end, uint8_t next_header) noexcept;
    void later_fragment(size_t offset, uint8_t protocol) noexcept;
    void upper_layer(size_t offset, size_t end, uint8_t protocol) noexcept;
    void tcp(size_t offset, size_t end) noexcept;
    void udp(size_t offset, size_t end) noexcept;
    void icmp(size_t offset, size_t end) noexcept;
    void found_l4(size_t offset, size_t header_length, size_t length) noexcept;

    void fail(Malformed why) noexcept { parsed_.malformed = why; }

    /// Whether `length` bytes at `offset` can be read. If not, notes why: they exceed the enclosing
    /// layer, which ends at `end` and is malformed then, or merely the head.
    bool within(size_t offset, size_t length, size_t end, Malformed why) noexcept {
        if (offset + length <= std::min(end, head_.size())) [[likely]]
            return true;
        if (offset + length > end) {
            fail(why);
        } else {
            parsed_.incomplete = true;
        }
        return false;
    }

    template <WireFormat T>
    const T& at(size_t offset) const noexcept {
        return *reinterpret_cast<const T*>(head_.data() + offset);
    }

    std::span<const std::byte> head_;
    size_t frame_length_;
    ParsedHeaders& parsed_;  ///< the caller's: copying it right after byte stores would stall
};

void FrameParser::ethernet() noexcept {
    if (!within(0, sizeof(EthernetHeader), frame_length_, Malformed::ethernet_truncated)) return;
    parsed_.ethertype = at<EthernetHeader>(0).ethertype.value();
    size_t offset = sizeof(EthernetHeader);

    while (is_vlan_tag(parsed_.ethertype) && parsed_.vlan_count < kMaxVlanTags) {
        if (!within(offset, sizeof(VlanTag), frame_length_, Malformed::vlan_truncated)) return;
        const auto& tag = at<VlanTag>(offset);
        if (parsed_.vlan_count == 0) parsed_.vlan_tci = tag.tci.value();
        parsed_.ethertype = tag.ethertype.value();
        ++parsed_.vlan_count;
        offset += sizeof(VlanTag);
    }

    parsed_.l3_offset = static_cast<uint16_t>(offset);
    if (parsed_.ethertype == ethertype::kIpv4) {
        ipv4(offset);
    } else if (parsed_.ethertype == ethertype::kIpv6) {
        ipv6(offset);
    }
}

void FrameParser::ip(size_t offset) noexcept {
    if (offset >= frame_length_) return fail(Malformed::ip_truncated);
    if (!within(offset, 1, frame_length_, Malformed::ip_truncated)) return;
    parsed_.l3_offset = static_cast<uint16_t>(offset);
    switch (std::to_integer<unsigned>(head_[offset]) >> 4) {
        case Ipv4Header::kVersion:
            parsed_.ethertype = ethertype::kIpv4;
            return ipv4(offset);
        case Ipv6Header::kVersion:
            parsed_.ethertype = ethertype::kIpv6;
            return ipv6(offset);
        default:
            return fail(Malformed::ip_bad_version);
    }
}

void FrameParser::ipv4(size_t offset) noexcept {
    if (!within(offset, sizeof(Ipv4Header), frame_length_, Malformed::ip_truncated)) return;
    const auto& header = at<Ipv4Header>(offset);
    const size_t header_length = header.header_length();
    const size_t length = header.total_length.value();
    if (header.version() != Ipv4Header::kVersion) return fail(Malformed::ip_bad_version);
    if (header_length < sizeof(Ipv4Header)) return fail(Malformed::ip_bad_header_length);
    if (length < header_length || length > frame_length_ - offset) {
        return fail(Malformed::ip_bad_length);
    }

    parsed_.is_ipv4 = true;
    parsed_.l3_length = static_cast<uint32_t>(length);
    parsed_.has_ip_options = header_length > sizeof(Ipv4Header);
    parsed_.ip_protocol = header.protocol;
    parsed_.has_ip_protocol = true;
    parsed_.is_fragment = header.is_fragment();
    parsed_.fragment_offset = header.fragment_offset();
    const size_t next = offset + header_length;
    const size_t end = offset + length;
    if (!within(offset, header_length, end, Malformed::ip_bad_length)) return;
    if (parsed_.fragment_offset != 0) [[unlikely]]
        return later_fragment(next, header.protocol);
    upper_layer(next, end, header.protocol);
}

void FrameParser::ipv6(size_t offset) noexcept {
    if (!within(offset, sizeof(Ipv6Header), frame_length_, Malformed::ip_truncated)) return;
    const auto& header = at<Ipv6Header>(offset);
    const size_t length = sizeof(Ipv6Header) + header.payload_length.value();
    if (header.version() != Ipv6Header::kVersion) return fail(Malformed::ip_bad_version);
    if (length > frame_length_ - offset) return fail(Malformed::ip_bad_length);
    // A jumbogram, or a packet without the header it announces.
    if (length == sizeof(Ipv6Header) && header.next_header != ip_protocol::kNoNextHeader) {
        return fail(Malformed::ip_bad_length);
    }

    parsed_.is_ipv6 = true;
    parsed_.l3_length = static_cast<uint32_t>(length);
    const size_t next = offset + sizeof(Ipv6Header);
    const size_t end = offset + length;
    if (is_extension_header(header.next_header)) [[unlikely]] {
        extension_headers(next, end, header.next_header);
    } else {
        upper_layer(next, end, header.next_header);
    }
}

[[gnu::noinline]] void FrameParser::extension_headers(size_t offset, size_t end,
                                                      uint8_t next_header) noexcept {
    parsed_.has_ip_options = true;
    bool has_fragment_header = false;
    for (unsigned count = 0; is_extension_header(next_header); ++count) {
        if (count == kMaxExtensionHeaders) return fail(Malformed::extension_header_chain_too_long);

        // The shortest extension header, AH's fixed part excepted, has 8 bytes.
        constexpr auto kTruncated = Malformed::extension_header_truncated;
        if (!within(offset, sizeof(Ipv6FragmentHeader), end, kTruncated)) return;
        const auto& extension = at<Ipv6ExtensionHeader>(offset);
        size_t length = extension.length();
        switch (next_header) {
            case ip_protocol::kHopByHop:
                if (count != 0) return fail(Malformed::extension_header_misplaced);
                break;
            case ip_protocol::kRouting:
                parsed_.has_segments_left |= at<Ipv6RoutingHeader>(offset).segments_left != 0;
                break;
            case ip_protocol::kFragment: {
                if (has_fragment_header) return fail(Malformed::extension_header_misplaced);
                has_fragment_header = true;
                const auto& fragment = at<Ipv6FragmentHeader>(offset);
                length = sizeof(Ipv6FragmentHeader);  // the second byte is reserved here
                parsed_.is_fragment = fragment.is_fragment();
                parsed_.fragment_offset = fragment.fragment_offset();
                if (parsed_.fragment_offset != 0) {
                    return later_fragment(offset + length, fragment.next_header);
                }
                break;
            }
            case ip_protocol::kAuthentication:
                length = at<AuthenticationHeader>(offset).length();
                if (length < sizeof(AuthenticationHeader)) return fail(kTruncated);
                break;
            default:
                break;
        }
        if (!within(offset, length, end, kTruncated)) return;
        next_header = extension.next_header;
        offset += length;
    }
    upper_layer(offset, end, next_header);
}

/// What an extension header in front of the fragmented part would hide is unknown here.
void FrameParser::later_fragment(size_t offset, uint8_t protocol) noexcept {
    parsed_.ip_protocol = protocol;
    parsed_.has_ip_protocol = parsed_.is_ipv4 || !is_extension_header(protocol);
    parsed_.payload_offset = static_cast<uint16_t>(offset);
}

void FrameParser::upper_layer(size_t offset, size_t end, uint8_t protocol) noexcept {
    parsed_.ip_protocol = protocol;
    parsed_.has_ip_protocol = true;
    switch (protocol) {
        case ip_protocol::kTcp:
            return tcp(offset, end);
        case ip_protocol::kUdp:
            return udp(offset, end);
        case ip_protocol::kIcmp:
            if (parsed_.is_ipv4) return icmp(offset, end);
            break;
        case ip_protocol::kIcmpv6:
            if (parsed_.is_ipv6) return icmp(offset, end);
            break;
        case ip_protocol::kNoNextHeader:
            if (parsed_.is_ipv6) return;  // what follows is to be ignored (RFC 8200, section 4.7)
            break;
        default:
            break;
    }
    parsed_.l4_offset = static_cast<uint16_t>(offset);
    parsed_.l4_length = static_cast<uint16_t>(end - offset);
}

void FrameParser::tcp(size_t offset, size_t end) noexcept {
    if (!within(offset, sizeof(TcpHeader), end, Malformed::l4_truncated)) return;
    const auto& header = at<TcpHeader>(offset);
    const size_t header_length = header.header_length();
    if (header_length < sizeof(TcpHeader)) return fail(Malformed::l4_bad_length);
    if (!within(offset, header_length, end, Malformed::l4_truncated)) return;
    parsed_.tcp_flags = header.flags;
    found_l4(offset, header_length, end - offset);
}

void FrameParser::udp(size_t offset, size_t end) noexcept {
    if (!within(offset, sizeof(UdpHeader), end, Malformed::l4_truncated)) return;
    const size_t length = at<UdpHeader>(offset).length.value();
    if (length < sizeof(UdpHeader)) return fail(Malformed::l4_bad_length);
    if (parsed_.is_fragment) {  // the field counts the whole datagram
        return found_l4(offset, sizeof(UdpHeader), end - offset);
    }
    if (length > end - offset) return fail(Malformed::l4_bad_length);
    found_l4(offset, sizeof(UdpHeader), length);
}

void FrameParser::icmp(size_t offset, size_t end) noexcept {
    if (!within(offset, sizeof(IcmpHeader), end, Malformed::l4_truncated)) return;
    found_l4(offset, sizeof(IcmpHeader), end - offset);
}

void FrameParser::found_l4(size_t offset, size_t header_length, size_t length) noexcept {
    parsed_.l4_offset = static_cast<uint16_t>(offset);
    parsed_.payload_offset = static_cast<uint16_t>(offset + header_length);
    parsed_.l4_length = static_cast<uint16_t>(length);
}

}  // namespace

ParsedHeaders parse_frame(std::span<const std::byte> head, size_t frame_length) noexcept {
    ParsedHeaders parsed;
    FrameParser(head, frame_length, parsed).ethernet();
    return parsed;
}

ParsedHeaders parse_ip(std::span<const std::byte> head, size_t l3_offset,
                       size_t frame_length) noexcept {
    ParsedHeaders parsed;
    FrameParser(head, frame_length, parsed).ip(l3_offset);
    return parsed;
}

std::string_view name(Malformed malformed) noexcept {
    static constexpr std::string_view kNames[] = {
        "none",
        "ethernet-truncated",
        "vlan-truncated",
        "ip-truncated",
        "ip-bad-version",
        "ip-bad-header-length",
        "ip-bad-length",
        "extension-header-truncated",
        "extension-header-misplaced",
        "extension-header-chain-too-long",
        "l4-truncated",
        "l4-bad-length",
    };
    static_assert(std::size(kNames) == static_cast<size_t>(Malformed::l4_bad_length) + 1);
    return kNames[static_cast<size_t>(malformed)];
}

}  // namespace heddle::net
