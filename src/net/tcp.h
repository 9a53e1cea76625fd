#pragma once

#include <cstdint>

#include "net/big_endian.h"

namespace heddle::net {

/// RFC 9293, section 3.1; ECE and CWR: RFC 3168.
namespace tcp_flag {
inline constexpr uint8_t kFin = 0x01;
inline constexpr uint8_t kSyn = 0x02;
inline constexpr uint8_t kRst = 0x04;
inline constexpr uint8_t kPsh = 0x08;
inline constexpr uint8_t kAck = 0x10;
inline constexpr uint8_t kUrg = 0x20;
inline constexpr uint8_t kEce = 0x40;
inline constexpr uint8_t kCwr = 0x80;
}  // namespace tcp_flag

/// RFC 9293, section 3.1. Up to 40 bytes of options follow.
struct TcpHeader {
    be16_t source_port;
    be16_t destination_port;
    be32_t sequence;
    be32_t acknowledgment;
    uint8_t data_offset_reserved = 0x50;
    uint8_t flags = 0;
    be16_t window;
    be16_t checksum;
    be16_t urgent_pointer;

    /// Bytes, options included; as received it may be anything from 0 to 60.
    constexpr unsigned header_length() const noexcept { return (data_offset_reserved >> 4) * 4u; }
    constexpr void set_header_length(unsigned bytes) noexcept {
        data_offset_reserved = static_cast<uint8_t>(bytes / 4 << 4);
    }

    /// True if any of `mask` is set.
    constexpr bool has(uint8_t mask) const noexcept { return (flags & mask) != 0; }
};
static_assert(sizeof(TcpHeader) == 20 && alignof(TcpHeader) == 1);

}  // namespace heddle::net
