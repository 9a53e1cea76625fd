#pragma once

#include <cstddef>
#include <span>

#include "net/ip_address.h"
#include "net/parser.h"

namespace heddle::service {

/// An answer sent to this address reaches the one host that asked, as far as the address alone
/// tells: RFC 1812, section 4.3.2.7. Not so 0.0.0.0/8, loopback, multicast, and 240.0.0.0/4 with
/// the broadcast address in it.
constexpr bool is_answerable(net::Ipv4Address source) noexcept {
    return source.value() >> 24 != 0 && !source.is_loopback() && !source.is_multicast() &&
           source.value() >> 28 != 0xf;
}

/// RFC 4443, section 2.4 (e.6).
constexpr bool is_answerable(const net::Ipv6Address& source) noexcept {
    return !source.is_unspecified() && !source.is_loopback() && !source.is_multicast();
}

/// A frame whose headers, those of the transport protocol included, are complete and well formed.
/// `head` is its first segment.
bool is_well_formed(std::span<const std::byte> head, const net::ParsedHeaders& parsed) noexcept;

}  // namespace heddle::service
