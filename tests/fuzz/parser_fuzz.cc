#include <algorithm>
#include <cstdlib>
#include <memory>

#include "net/flow_hash.h"
#include "net/header_at.h"
#include "net/icmp.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/l4_checksum.h"
#include "net/parser.h"
#include "net/tcp.h"
#include "net/udp.h"

// Input: a control byte pair that says how much of the frame the head holds, then the frame. What
// parser.h promises of any result is checked; AddressSanitizer guards the end of the head.

namespace heddle::net {
namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

size_t l4_header_length(std::span<const std::byte> head, const ParsedHeaders& parsed) {
    switch (parsed.ip_protocol) {
        case ip_protocol::kTcp:
            return header_at<TcpHeader>(head, parsed.l4_offset)->header_length();
        case ip_protocol::kUdp:
            return sizeof(UdpHeader);
        default:
            return sizeof(IcmpHeader);
    }
}

void check(std::span<const std::byte> head, size_t frame_length, const ParsedHeaders& parsed) {
    require(!(parsed.is_ipv4 && parsed.is_ipv6));
    require(!(parsed.incomplete && parsed.malformed != Malformed::none));
    require(!(parsed.incomplete && head.size() >= frame_length && head.size() <= 0xffff));
    require(parsed.vlan_count <= kMaxVlanTags);
    require(parsed.l3_offset <= head.size() && parsed.l4_offset <= head.size());
    require(parsed.payload_offset <= head.size());
    require(!name(parsed.malformed).empty());

    if (!parsed.is_ip()) {
        require(parsed.l4_offset == 0 && parsed.payload_offset == 0 && !parsed.is_fragment);
        require(!parsed.has_ip_protocol && parsed.l3_length == 0);
        return;
    }
    const size_t ip_header = parsed.is_ipv4 ? sizeof(Ipv4Header) : sizeof(Ipv6Header);
    require(parsed.l3_offset + ip_header <= head.size());
    require(parsed.l3_length >= ip_header);
    require(parsed.l3_offset + size_t{parsed.l3_length} <= frame_length);
    const size_t end = parsed.l3_offset + size_t{parsed.l3_length};

    if (parsed.is_later_fragment()) require(parsed.l4_offset == 0);
    if (parsed.l4_offset != 0) {
        require(parsed.malformed == Malformed::none && !parsed.incomplete);
        require(parsed.has_ip_protocol);
        require(parsed.l4_offset >= parsed.l3_offset + ip_header);
        require(parsed.l4_offset + size_t{parsed.l4_length} <= end);
        if (parsed.payload_offset != 0) {
            const size_t length = l4_header_length(head, parsed);
            require(parsed.payload_offset == parsed.l4_offset + length);
            require(length <= parsed.l4_length);
        }
    } else {
        require(parsed.l4_length == 0);
        require(parsed.payload_offset == 0 || parsed.is_later_fragment());
    }
}

void run(std::span<const std::byte> frame, size_t head_length) {
    const auto copy = std::make_unique<std::byte[]>(head_length);
    std::copy_n(frame.begin(), head_length, copy.get());
    const std::span<const std::byte> head(copy.get(), head_length);

    const auto parsed = parse_frame(head, frame.size());
    check(head, frame.size(), parsed);
    flow_hash(head, parsed);
    verify_l4_checksum(head, parsed);

    // As behind a tunnel header; the length of the frame serves as a source of offsets.
    const auto inner = parse_ip(head, frame.size() % 64, frame.size());
    check(head, frame.size(), inner);
    verify_l4_checksum(head, inner);
}

}  // namespace
}  // namespace heddle::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto input = std::as_bytes(std::span(data, size));
    if (input.size() < 2) return 0;
    const size_t wanted =
        std::to_integer<size_t>(input[0]) * 256 + std::to_integer<size_t>(input[1]);
    const auto frame = input.subspan(2);
    heddle::net::run(frame, std::min(wanted, frame.size()));
    return 0;
}
