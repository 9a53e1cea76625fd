#pragma once

#include <cstdint>

#include "net/big_endian.h"
#include "net/ip_address.h"
#include "net/ip_protocol.h"

namespace heddle::net {

/// RFC 791; DSCP and ECN: RFC 2474, RFC 3168. Up to 40 bytes of options follow.
struct Ipv4Header {
    static constexpr unsigned kVersion = 4;
    static constexpr uint16_t kDontFragment = 0x4000;
    static constexpr uint16_t kMoreFragments = 0x2000;
    static constexpr uint16_t kFragmentOffsetMask = 0x1fff;  ///< in units of 8 bytes

    uint8_t version_ihl = 0x45;
    uint8_t dscp_ecn = 0;
    be16_t total_length;  ///< header, options and payload
    be16_t identification;
    be16_t flags_fragment;
    uint8_t ttl = 0;
    uint8_t protocol = 0;
    be16_t checksum;
    Ipv4Address source;
    Ipv4Address destination;

    constexpr unsigned version() const noexcept { return version_ihl >> 4; }
    /// Bytes, options included; as received it may be anything from 0 to 60.
    constexpr unsigned header_length() const noexcept { return (version_ihl & 0x0fu) * 4; }
    constexpr void set_header_length(unsigned bytes) noexcept {
        version_ihl = static_cast<uint8_t>(kVersion << 4 | bytes / 4);
    }

    constexpr uint8_t dscp() const noexcept { return dscp_ecn >> 2; }
    constexpr uint8_t ecn() const noexcept { return dscp_ecn & 3; }

    constexpr bool dont_fragment() const noexcept {
        return (flags_fragment.value() & kDontFragment) != 0;
    }
    constexpr bool more_fragments() const noexcept {
        return (flags_fragment.value() & kMoreFragments) != 0;
    }
    /// Bytes.
    constexpr uint16_t fragment_offset() const noexcept {
        return static_cast<uint16_t>((flags_fragment.value() & kFragmentOffsetMask) * 8);
    }
    constexpr bool is_fragment() const noexcept {
        return (flags_fragment.value() & (kMoreFragments | kFragmentOffsetMask)) != 0;
    }
};
static_assert(sizeof(Ipv4Header) == 20 && alignof(Ipv4Header) == 1);

}  // namespace heddle::net
