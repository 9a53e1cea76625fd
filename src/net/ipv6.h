#pragma once

#include <cstdint>

#include "net/big_endian.h"
#include "net/ip_address.h"
#include "net/ip_protocol.h"

namespace heddle::net {

/// RFC 8200, section 3.
struct Ipv6Header {
    static constexpr unsigned kVersion = 6;

    be32_t version_class_flow{kVersion << 28};
    be16_t payload_length;  ///< everything behind this header, extension headers included
    uint8_t next_header = ip_protocol::kNoNextHeader;
    uint8_t hop_limit = 0;
    Ipv6Address source;
    Ipv6Address destination;

    constexpr unsigned version() const noexcept { return version_class_flow.value() >> 28; }
    constexpr uint8_t traffic_class() const noexcept {
        return static_cast<uint8_t>(version_class_flow.value() >> 20);
    }
    constexpr uint8_t dscp() const noexcept { return traffic_class() >> 2; }
    constexpr uint8_t ecn() const noexcept { return traffic_class() & 3; }
    constexpr uint32_t flow_label() const noexcept { return version_class_flow.value() & 0xfffff; }
};
static_assert(sizeof(Ipv6Header) == 40 && alignof(Ipv6Header) == 1);

/// How hop-by-hop options, routing and destination options headers begin (RFC 8200, section 4).
struct Ipv6ExtensionHeader {
    uint8_t next_header = ip_protocol::kNoNextHeader;
    uint8_t length_field = 0;

    /// Bytes, these two included.
    constexpr unsigned length() const noexcept { return (length_field + 1u) * 8; }
};
static_assert(sizeof(Ipv6ExtensionHeader) == 2);

/// RFC 8200, section 4.4.
struct Ipv6RoutingHeader {
    Ipv6ExtensionHeader extension;
    uint8_t type = 0;
    uint8_t segments_left = 0;
};
static_assert(sizeof(Ipv6RoutingHeader) == 4);

/// RFC 8200, section 4.5.
struct Ipv6FragmentHeader {
    static constexpr uint16_t kMoreFragments = 0x0001;
    static constexpr uint16_t kFragmentOffsetMask = 0xfff8;  ///< leaves the offset in bytes

    uint8_t next_header = ip_protocol::kNoNextHeader;
    uint8_t reserved = 0;
    be16_t offset_flags;
    be32_t identification;

    constexpr bool more_fragments() const noexcept {
        return (offset_flags.value() & kMoreFragments) != 0;
    }
    /// Bytes.
    constexpr uint16_t fragment_offset() const noexcept {
        return offset_flags.value() & kFragmentOffsetMask;
    }
    /// False for an atomic fragment, which is a whole packet (RFC 6946).
    constexpr bool is_fragment() const noexcept {
        return more_fragments() || fragment_offset() != 0;
    }
};
static_assert(sizeof(Ipv6FragmentHeader) == 8 && alignof(Ipv6FragmentHeader) == 1);

/// RFC 4302, section 2. The integrity check value follows.
struct AuthenticationHeader {
    uint8_t next_header = ip_protocol::kNoNextHeader;
    uint8_t length_field = 1;
    be16_t reserved;
    be32_t spi;
    be32_t sequence;

    /// Bytes, check value included. Counted in other units than any other extension header.
    constexpr unsigned length() const noexcept { return (length_field + 2u) * 4; }
};
static_assert(sizeof(AuthenticationHeader) == 12 && alignof(AuthenticationHeader) == 1);

/// Headers that the parser steps over to find the upper-layer protocol. ESP hides what follows it
/// and counts as upper layer; so do Mobility, HIP and Shim6, which no upper layer follows in
/// practice.
constexpr bool is_extension_header(uint8_t next_header) noexcept {
    switch (next_header) {
        case ip_protocol::kHopByHop:
        case ip_protocol::kRouting:
        case ip_protocol::kFragment:
        case ip_protocol::kAuthentication:
        case ip_protocol::kDestinationOptions:
            return true;
        default:
            return false;
    }
}

}  // namespace heddle::net
