#pragma once

#include <cassert>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "net/ip_address.h"

namespace heddle::net {

/// An address with the number of its leading bits that name the network: "192.0.2.7/24".
///
/// Host bits are kept, since an interface address has them; a route or subnet wants
/// has_host_bits() == false, or network().
template <class Address>
class Prefix {
 public:
    constexpr Prefix() = default;  ///< the default route: everything is contained
    constexpr Prefix(const Address& address, unsigned length) noexcept
        : address_(address), length_(static_cast<uint8_t>(length)) {
        assert(length <= Address::kBits);
    }

    /// "address/length"; the length is not optional and has no leading zero.
    static std::optional<Prefix> parse(std::string_view text) noexcept;
    std::string to_string() const { return address_.to_string() + '/' + std::to_string(length_); }

    constexpr const Address& address() const noexcept { return address_; }
    constexpr unsigned length() const noexcept { return length_; }
    constexpr Address mask() const noexcept { return Address::mask(length_); }

    constexpr Prefix network() const noexcept { return {address_ & mask(), length_}; }
    constexpr bool has_host_bits() const noexcept { return (address_ & mask()) != address_; }

    constexpr bool contains(const Address& address) const noexcept {
        return (address & mask()) == (address_ & mask());
    }
    constexpr bool contains(const Prefix& other) const noexcept {
        return other.length_ >= length_ && contains(other.address_);
    }

    friend constexpr auto operator<=>(const Prefix&, const Prefix&) = default;

 private:
    Address address_;
    uint8_t length_ = 0;
};

using Ipv4Prefix = Prefix<Ipv4Address>;
using Ipv6Prefix = Prefix<Ipv6Address>;

/// A prefix of either family.
class IpPrefix {
 public:
    constexpr IpPrefix() = default;  ///< 0.0.0.0/0
    constexpr IpPrefix(const Ipv4Prefix& prefix) noexcept : prefix_(prefix) {}
    constexpr IpPrefix(const Ipv6Prefix& prefix) noexcept : prefix_(prefix) {}

    static std::optional<IpPrefix> parse(std::string_view text) noexcept;
    std::string to_string() const;

    constexpr bool is_v4() const noexcept { return prefix_.index() == 0; }
    constexpr bool is_v6() const noexcept { return prefix_.index() == 1; }
    const Ipv4Prefix* v4() const noexcept { return std::get_if<0>(&prefix_); }  ///< null if IPv6
    const Ipv6Prefix* v6() const noexcept { return std::get_if<1>(&prefix_); }  ///< null if IPv4

    IpAddress address() const noexcept;
    unsigned length() const noexcept;
    IpPrefix network() const noexcept;
    bool has_host_bits() const noexcept;
    bool contains(const IpAddress& address) const noexcept;  ///< false across families

    friend constexpr auto operator<=>(const IpPrefix&, const IpPrefix&) = default;

 private:
    std::variant<Ipv4Prefix, Ipv6Prefix> prefix_;
};

}  // namespace heddle::net
