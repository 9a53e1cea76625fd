#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "net/big_endian.h"
#include "net/mac_address.h"

namespace heddle::net {

/// Host order. Plain integers rather than an enum class: any value may arrive from outside.
/// https://www.iana.org/assignments/ieee-802-numbers
namespace ethertype {
inline constexpr uint16_t kIpv4 = 0x0800;
inline constexpr uint16_t kArp = 0x0806;
inline constexpr uint16_t kVlan = 0x8100;  ///< customer tag, IEEE 802.1Q
inline constexpr uint16_t kIpv6 = 0x86dd;
inline constexpr uint16_t kSlow = 0x8809;         ///< LACP, IEEE 802.3 annex 57A
inline constexpr uint16_t kMpls = 0x8847;         ///< RFC 3032, RFC 5332
inline constexpr uint16_t kServiceVlan = 0x88a8;  ///< outer tag of two, IEEE 802.1ad
inline constexpr uint16_t kLldp = 0x88cc;

/// Below this the field is the length of an IEEE 802.3 frame with an LLC header.
inline constexpr uint16_t kFirst = 0x0600;
}  // namespace ethertype

constexpr bool is_vlan_tag(uint16_t type) noexcept {
    return type == ethertype::kVlan || type == ethertype::kServiceVlan;
}

/// IEEE 802.3.
struct EthernetHeader {
    MacAddress destination;
    MacAddress source;
    be16_t ethertype;

    /// MacAddress::to_u64() of the addresses with one load each, since two more bytes of this
    /// header follow either of them.
    uint64_t destination_u64() const noexcept { return low_48_bits_at(0); }
    uint64_t source_u64() const noexcept { return low_48_bits_at(sizeof(MacAddress)); }

 private:
    uint64_t low_48_bits_at(size_t offset) const noexcept {
        uint64_t value;
        std::memcpy(&value, reinterpret_cast<const char*>(this) + offset, sizeof(value));
        if constexpr (std::endian::native == std::endian::little) return value & 0xffff'ffff'ffff;
        return (value >> 32) | ((value >> 16 & 0xffff) << 32);
    }
};
static_assert(sizeof(EthernetHeader) == 14 && alignof(EthernetHeader) == 1);

/// What stands behind a TPID (the ethertype field in front of it). IEEE 802.1Q-2018, section 9.6.
struct VlanTag {
    be16_t tci;
    be16_t ethertype;  ///< of what follows the tag

    constexpr uint8_t pcp() const noexcept { return static_cast<uint8_t>(tci.value() >> 13); }
    constexpr bool dei() const noexcept { return (tci.value() & 0x1000) != 0; }
    constexpr uint16_t vid() const noexcept { return tci.value() & 0x0fff; }  ///< 0: priority only

    static constexpr uint16_t make_tci(uint8_t pcp, bool dei, uint16_t vid) noexcept {
        return static_cast<uint16_t>((pcp & 7) << 13 | (dei ? 0x1000 : 0) | (vid & 0x0fff));
    }
};
static_assert(sizeof(VlanTag) == 4 && alignof(VlanTag) == 1);

}  // namespace heddle::net
