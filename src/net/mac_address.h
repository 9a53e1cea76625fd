#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "net/hash_mix.h"

namespace heddle::net {

/// An Ethernet address as it lies on the wire. fmt prints it after `#include "net/format.h"`.
class MacAddress {
 public:
    constexpr MacAddress() = default;  ///< 00:00:00:00:00:00
    explicit constexpr MacAddress(const std::array<uint8_t, 6>& bytes) noexcept : bytes_(bytes) {}
    constexpr MacAddress(uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint8_t e, uint8_t f) noexcept
        : bytes_{a, b, c, d, e, f} {}

    static constexpr MacAddress broadcast() noexcept {
        return {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    }

    /// Exactly "aa:bb:cc:dd:ee:ff", in either case.
    static std::optional<MacAddress> parse(std::string_view text) noexcept;
    std::string to_string() const;

    constexpr const std::array<uint8_t, 6>& bytes() const noexcept { return bytes_; }

    /// Group bit; broadcast is a group, too.
    constexpr bool is_multicast() const noexcept { return (bytes_[0] & 0x01) != 0; }
    constexpr bool is_unicast() const noexcept { return !is_multicast(); }
    constexpr bool is_locally_administered() const noexcept { return (bytes_[0] & 0x02) != 0; }
    constexpr bool is_broadcast() const noexcept { return *this == broadcast(); }
    constexpr bool is_zero() const noexcept { return *this == MacAddress(); }

    /// 01:80:c2:00:00:00 to 0f, which a bridge consumes or drops and never forwards
    /// (IEEE 802.1Q-2018, table 8-1): STP, LACP, LLDP, 802.1X ...
    constexpr bool is_local_group() const noexcept {
        return bytes_[0] == 0x01 && bytes_[1] == 0x80 && bytes_[2] == 0xc2 && bytes_[3] == 0x00 &&
               bytes_[4] == 0x00 && (bytes_[5] & 0xf0) == 0x00;
    }

    /// The six bytes in memory order in the low 48 bits, for keys and hashes; the value depends on
    /// the machine's byte order. EthernetHeader has the same for its addresses with a single load.
    uint64_t to_u64() const noexcept {
        uint32_t low;
        uint16_t high;
        std::memcpy(&low, bytes_.data(), sizeof(low));
        std::memcpy(&high, bytes_.data() + sizeof(low), sizeof(high));
        return low | (static_cast<uint64_t>(high) << 32);
    }

    /// The address that to_u64() gives `bits` for; the upper 16 bits are ignored.
    static MacAddress from_u64(uint64_t bits) noexcept {
        const auto low = static_cast<uint32_t>(bits);
        const auto high = static_cast<uint16_t>(bits >> 32);
        MacAddress mac;
        std::memcpy(mac.bytes_.data(), &low, sizeof(low));
        std::memcpy(mac.bytes_.data() + sizeof(low), &high, sizeof(high));
        return mac;
    }

    friend constexpr auto operator<=>(const MacAddress&, const MacAddress&) = default;

 private:
    std::array<uint8_t, 6> bytes_{};
};

static_assert(sizeof(MacAddress) == 6 && alignof(MacAddress) == 1);
static_assert(std::is_trivially_copyable_v<MacAddress>);

/// Hash of MacAddress::to_u64(), which may carry more in its upper 16 bits, such as a bridge.
constexpr uint64_t mac_hash(uint64_t mac) noexcept {
    return mix64(mac);
}

}  // namespace heddle::net

template <>
struct std::hash<heddle::net::MacAddress> {
    size_t operator()(const heddle::net::MacAddress& mac) const noexcept {
        return heddle::net::mac_hash(mac.to_u64());
    }
};
