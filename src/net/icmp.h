#pragma once

#include <cstdint>

#include "net/big_endian.h"

namespace heddle::net {

/// RFC 792.
namespace icmp_type {
inline constexpr uint8_t kEchoReply = 0;
inline constexpr uint8_t kDestinationUnreachable = 3;
inline constexpr uint8_t kRedirect = 5;
inline constexpr uint8_t kEchoRequest = 8;
inline constexpr uint8_t kTimeExceeded = 11;
inline constexpr uint8_t kParameterProblem = 12;
}  // namespace icmp_type

/// Code of kDestinationUnreachable that carries an MTU (RFC 1191).
inline constexpr uint8_t kIcmpFragmentationNeeded = 4;

/// RFC 4443; multicast listener: RFC 2710, RFC 3810; neighbour discovery: RFC 4861.
namespace icmpv6_type {
inline constexpr uint8_t kDestinationUnreachable = 1;
inline constexpr uint8_t kPacketTooBig = 2;
inline constexpr uint8_t kTimeExceeded = 3;
inline constexpr uint8_t kParameterProblem = 4;
inline constexpr uint8_t kEchoRequest = 128;
inline constexpr uint8_t kEchoReply = 129;
inline constexpr uint8_t kListenerQuery = 130;
inline constexpr uint8_t kListenerReport = 131;
inline constexpr uint8_t kListenerDone = 132;
inline constexpr uint8_t kRouterSolicitation = 133;
inline constexpr uint8_t kRouterAdvertisement = 134;
inline constexpr uint8_t kNeighborSolicitation = 135;
inline constexpr uint8_t kNeighborAdvertisement = 136;
inline constexpr uint8_t kRedirect = 137;
inline constexpr uint8_t kListenerReportV2 = 143;
}  // namespace icmpv6_type

/// ICMP of either family: type, code, checksum and four bytes whose meaning depends on the type.
/// The ICMPv6 checksum covers a pseudo header (RFC 4443, section 2.3), the ICMPv4 one does not.
struct IcmpHeader {
    uint8_t type = 0;
    uint8_t code = 0;
    be16_t checksum;
    be16_t word1;
    be16_t word2;

    // Echo request and reply.
    constexpr be16_t identifier() const noexcept { return word1; }
    constexpr be16_t sequence() const noexcept { return word2; }

    /// MTU of ICMPv4 "fragmentation needed" (RFC 1191, section 4).
    constexpr uint16_t next_hop_mtu() const noexcept { return word2.value(); }
    /// MTU of ICMPv6 "packet too big" (RFC 4443, section 3.2).
    constexpr uint32_t mtu() const noexcept {
        return static_cast<uint32_t>(word1.value()) << 16 | word2.value();
    }
};
static_assert(sizeof(IcmpHeader) == 8 && alignof(IcmpHeader) == 1);

}  // namespace heddle::net
