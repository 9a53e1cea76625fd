#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "net/checksum.h"
#include "net/parser.h"

namespace heddle::net {

/// Bytes from the L4 header to its checksum field, if the protocol is TCP, UDP or the family's ICMP
/// and its header was found.
std::optional<size_t> l4_checksum_offset(const ParsedHeaders& parsed) noexcept;

/// Begins the L4 checksum of a parsed packet: the pseudo header of TCP, UDP and ICMPv6, nothing for
/// ICMPv4. What is left to be added is parsed.l4_length bytes at parsed.l4_offset. None for
/// fragments, for which no single packet has it, and while an IPv6 routing header still names other
/// destinations.
std::optional<ChecksumAccumulator> begin_l4_checksum(std::span<const std::byte> head,
                                                     const ParsedHeaders& parsed) noexcept;

enum class L4ChecksumState : uint8_t {
    unverifiable,  ///< none present, or nothing known to verify
    good,
    bad
};

/// Of a contiguous frame with complete checksums.
L4ChecksumState verify_l4_checksum(std::span<const std::byte> frame,
                                   const ParsedHeaders& parsed) noexcept;

}  // namespace heddle::net
