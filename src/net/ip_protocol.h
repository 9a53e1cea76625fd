#pragma once

#include <cstdint>

namespace heddle::net {

/// IPv4 protocol and IPv6 next header numbers. 0 is a protocol, never "not set".
/// https://www.iana.org/assignments/protocol-numbers
namespace ip_protocol {
inline constexpr uint8_t kHopByHop = 0;  ///< IPv6 only
inline constexpr uint8_t kIcmp = 1;
inline constexpr uint8_t kIgmp = 2;
inline constexpr uint8_t kIpv4 = 4;  ///< encapsulated, RFC 2003
inline constexpr uint8_t kTcp = 6;
inline constexpr uint8_t kUdp = 17;
inline constexpr uint8_t kIpv6 = 41;      ///< encapsulated, RFC 2473
inline constexpr uint8_t kRouting = 43;   ///< IPv6 only
inline constexpr uint8_t kFragment = 44;  ///< IPv6 only
inline constexpr uint8_t kGre = 47;
inline constexpr uint8_t kEsp = 50;
inline constexpr uint8_t kAuthentication = 51;
inline constexpr uint8_t kIcmpv6 = 58;
inline constexpr uint8_t kNoNextHeader = 59;        ///< IPv6 only
inline constexpr uint8_t kDestinationOptions = 60;  ///< IPv6 only
inline constexpr uint8_t kSctp = 132;
}  // namespace ip_protocol

}  // namespace heddle::net
