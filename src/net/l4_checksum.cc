#include "net/l4_checksum.h"

#include "net/header_at.h"
#include "net/icmp.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/tcp.h"
#include "net/udp.h"

namespace heddle::net {

std::optional<size_t> l4_checksum_offset(const ParsedHeaders& parsed) noexcept {
    if (parsed.l4_offset == 0) return std::nullopt;
    switch (parsed.ip_protocol) {
        case ip_protocol::kTcp:
            return offsetof(TcpHeader, checksum);
        case ip_protocol::kUdp:
            return offsetof(UdpHeader, checksum);
        case ip_protocol::kIcmp:
            if (!parsed.is_ipv4) return std::nullopt;
            return offsetof(IcmpHeader, checksum);
        case ip_protocol::kIcmpv6:
            if (!parsed.is_ipv6) return std::nullopt;
            return offsetof(IcmpHeader, checksum);
        default:
            return std::nullopt;
    }
}

std::optional<ChecksumAccumulator> begin_l4_checksum(std::span<const std::byte> head,
                                                     const ParsedHeaders& parsed) noexcept {
    if (!l4_checksum_offset(parsed) || parsed.is_fragment || parsed.has_segments_left) {
        return std::nullopt;
    }
    if (parsed.is_ipv4) {
        if (parsed.ip_protocol == ip_protocol::kIcmp) return ChecksumAccumulator();
        const auto* ip = header_at<Ipv4Header>(head, parsed.l3_offset);
        if (ip == nullptr) return std::nullopt;
        return pseudo_header(ip->source, ip->destination, parsed.ip_protocol, parsed.l4_length);
    }
    const auto* ip = header_at<Ipv6Header>(head, parsed.l3_offset);
    if (ip == nullptr) return std::nullopt;
    return pseudo_header(ip->source, ip->destination, parsed.ip_protocol, parsed.l4_length);
}

L4ChecksumState verify_l4_checksum(std::span<const std::byte> frame,
                                   const ParsedHeaders& parsed) noexcept {
    auto accumulator = begin_l4_checksum(frame, parsed);
    if (!accumulator || frame.size() < size_t{parsed.l4_offset} + parsed.l4_length) {
        return L4ChecksumState::unverifiable;
    }
    if (parsed.ip_protocol == ip_protocol::kUdp) {
        const auto* udp = header_at<UdpHeader>(frame, parsed.l4_offset);
        if (udp->checksum == be16_t(0)) return L4ChecksumState::unverifiable;
    }
    accumulator->add(frame.subspan(parsed.l4_offset, parsed.l4_length));
    return accumulator->is_valid() ? L4ChecksumState::good : L4ChecksumState::bad;
}

}  // namespace heddle::net
