#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "net/big_endian.h"
#include "net/hash_mix.h"

namespace heddle::net {

// IP addresses as they lie on the wire. fmt prints them after `#include "net/format.h"`. Texts are
// accepted in full only: no surrounding blanks, no octal or shortened IPv4, no IPv6 zone.

class Ipv4Address {
 public:
    static constexpr unsigned kBits = 32;

    constexpr Ipv4Address() = default;  ///< 0.0.0.0
    explicit constexpr Ipv4Address(be32_t address) noexcept : address_(address) {}
    constexpr Ipv4Address(uint8_t a, uint8_t b, uint8_t c, uint8_t d) noexcept
        : address_(static_cast<uint32_t>(a << 24 | b << 16 | c << 8 | d)) {}

    static std::optional<Ipv4Address> parse(std::string_view text) noexcept;
    std::string to_string() const;

    /// The address whose first `length` (0 to 32) bits are set.
    static constexpr Ipv4Address mask(unsigned length) noexcept {
        return Ipv4Address(be32_t(length == 0 ? 0 : ~uint32_t{0} << (kBits - length)));
    }

    constexpr be32_t big() const noexcept { return address_; }
    constexpr uint32_t value() const noexcept { return address_.value(); }  ///< host order

    constexpr bool is_unspecified() const noexcept { return value() == 0; }
    constexpr bool is_loopback() const noexcept { return value() >> 24 == 127; }       // RFC 1122
    constexpr bool is_link_local() const noexcept { return value() >> 16 == 0xa9fe; }  // RFC 3927
    constexpr bool is_multicast() const noexcept { return value() >> 28 == 0xe; }      // RFC 5771
    constexpr bool is_broadcast() const noexcept { return value() == 0xffffffff; }     // RFC 919

    friend constexpr Ipv4Address operator&(Ipv4Address a, Ipv4Address b) noexcept {
        return Ipv4Address(
            be32_t::from_memory_order(a.address_.memory_order() & b.address_.memory_order()));
    }
    friend constexpr bool operator==(Ipv4Address, Ipv4Address) = default;
    friend constexpr auto operator<=>(Ipv4Address a, Ipv4Address b) noexcept {
        return a.value() <=> b.value();
    }

 private:
    be32_t address_;
};

class Ipv6Address {
 public:
    static constexpr unsigned kBits = 128;

    constexpr Ipv6Address() = default;  ///< ::
    explicit constexpr Ipv6Address(const std::array<uint8_t, 16>& bytes) noexcept : bytes_(bytes) {}

    static std::optional<Ipv6Address> parse(std::string_view text) noexcept;
    std::string to_string() const;  ///< RFC 5952

    /// The address whose first `length` (0 to 128) bits are set.
    static constexpr Ipv6Address mask(unsigned length) noexcept {
        std::array<uint8_t, 16> bytes{};
        for (unsigned i = 0; i < length; ++i)
            bytes[i / 8] |= static_cast<uint8_t>(0x80 >> (i % 8));
        return Ipv6Address(bytes);
    }

    constexpr const std::array<uint8_t, 16>& bytes() const noexcept { return bytes_; }

    /// The upper (0) or lower (1) half in memory order, for checksums, comparisons and hashes.
    uint64_t half(unsigned index) const noexcept {
        uint64_t value;
        std::memcpy(&value, bytes_.data() + sizeof(value) * index, sizeof(value));
        return value;
    }

    constexpr bool is_unspecified() const noexcept { return *this == Ipv6Address(); }
    constexpr bool is_loopback() const noexcept {
        constexpr Ipv6Address kLoopback(std::array<uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0,  //
                                                                0, 0, 0, 0, 0, 0, 0, 1});
        return *this == kLoopback;
    }
    constexpr bool is_link_local() const noexcept {  // fe80::/10, RFC 4291
        return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
    }
    constexpr bool is_multicast() const noexcept { return bytes_[0] == 0xff; }
    constexpr bool is_unique_local() const noexcept {
        return (bytes_[0] & 0xfe) == 0xfc;
    }  // RFC 4193

    friend constexpr Ipv6Address operator&(const Ipv6Address& a, const Ipv6Address& b) noexcept {
        Ipv6Address result;
        for (size_t i = 0; i < result.bytes_.size(); ++i)
            result.bytes_[i] = a.bytes_[i] & b.bytes_[i];
        return result;
    }
    friend constexpr auto operator<=>(const Ipv6Address&, const Ipv6Address&) = default;

 private:
    std::array<uint8_t, 16> bytes_{};
};

static_assert(sizeof(Ipv4Address) == 4 && alignof(Ipv4Address) == 1);
static_assert(sizeof(Ipv6Address) == 16 && alignof(Ipv6Address) == 1);
static_assert(std::is_trivially_copyable_v<Ipv4Address> &&
              std::is_trivially_copyable_v<Ipv6Address>);

/// An address of either family. An IPv4 address never equals an IPv6 one, not even its mapped form.
class IpAddress {
 public:
    constexpr IpAddress() = default;  ///< 0.0.0.0
    constexpr IpAddress(Ipv4Address address) noexcept : address_(address) {}
    constexpr IpAddress(const Ipv6Address& address) noexcept : address_(address) {}

    static std::optional<IpAddress> parse(std::string_view text) noexcept;
    std::string to_string() const;

    constexpr bool is_v4() const noexcept { return address_.index() == 0; }
    constexpr bool is_v6() const noexcept { return address_.index() == 1; }
    const Ipv4Address* v4() const noexcept { return std::get_if<0>(&address_); }  ///< null if IPv6
    const Ipv6Address* v6() const noexcept { return std::get_if<1>(&address_); }  ///< null if IPv4
    unsigned bits() const noexcept { return is_v4() ? Ipv4Address::kBits : Ipv6Address::kBits; }

    bool is_unspecified() const noexcept {
        return is_v4() ? v4()->is_unspecified() : v6()->is_unspecified();
    }
    bool is_loopback() const noexcept {
        return is_v4() ? v4()->is_loopback() : v6()->is_loopback();
    }
    bool is_link_local() const noexcept {
        return is_v4() ? v4()->is_link_local() : v6()->is_link_local();
    }
    bool is_multicast() const noexcept {
        return is_v4() ? v4()->is_multicast() : v6()->is_multicast();
    }

    friend constexpr auto operator<=>(const IpAddress&, const IpAddress&) = default;

 private:
    std::variant<Ipv4Address, Ipv6Address> address_;
};

static_assert(std::is_trivially_copyable_v<IpAddress>);

}  // namespace heddle::net

template <>
struct std::hash<heddle::net::Ipv4Address> {
    size_t operator()(heddle::net::Ipv4Address address) const noexcept {
        return heddle::net::mix64(address.big().memory_order());
    }
};

template <>
struct std::hash<heddle::net::Ipv6Address> {
    size_t operator()(const heddle::net::Ipv6Address& address) const noexcept {
        return heddle::net::mix64(address.half(0) ^ heddle::net::mix64(address.half(1)));
    }
};

template <>
struct std::hash<heddle::net::IpAddress> {
    size_t operator()(const heddle::net::IpAddress& address) const noexcept {
        if (const auto* v4 = address.v4()) return std::hash<heddle::net::Ipv4Address>()(*v4);
        return std::hash<heddle::net::Ipv6Address>()(*address.v6());
    }
};
