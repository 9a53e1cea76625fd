#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "net/big_endian.h"
#include "net/icmp.h"
#include "net/ip_address.h"
#include "net/ipv6.h"
#include "net/mac_address.h"

// Neighbour discovery of IPv6 over Ethernet: RFC 4861; the addresses it goes to: RFC 4291, RFC
// 2464.
//
// The structs named Nd... lie on the wire; those without the prefix are what a checked message
// says.

namespace heddle::net {

/// Every message is sent with this hop limit and dropped with any other, so that no message from
/// beyond a router is ever believed (RFC 4861, section 3.1).
inline constexpr uint8_t kNdHopLimit = 255;

/// RFC 4861, section 4.6.
namespace nd_option {
inline constexpr uint8_t kSourceLinkLayerAddress = 1;
inline constexpr uint8_t kTargetLinkLayerAddress = 2;
inline constexpr uint8_t kPrefixInformation = 3;
inline constexpr uint8_t kMtu = 5;
}  // namespace nd_option

/// RFC 4861, section 4.1. Options follow, as in all messages.
struct NdRouterSolicitation {
    uint8_t type = icmpv6_type::kRouterSolicitation;
    uint8_t code = 0;
    be16_t checksum;
    be32_t reserved;
};
static_assert(sizeof(NdRouterSolicitation) == 8 && alignof(NdRouterSolicitation) == 1);

/// RFC 4861, section 4.2.
struct NdRouterAdvertisement {
    static constexpr uint8_t kManaged = 0x80;
    static constexpr uint8_t kOtherConfig = 0x40;

    uint8_t type = icmpv6_type::kRouterAdvertisement;
    uint8_t code = 0;
    be16_t checksum;
    uint8_t hop_limit = 0;  ///< for packets of the hosts; 0: unspecified
    uint8_t flags = 0;
    be16_t lifetime;    ///< seconds as a default router; 0: none
    be32_t reachable;   ///< milliseconds; 0: unspecified
    be32_t retransmit;  ///< milliseconds; 0: unspecified
};
static_assert(sizeof(NdRouterAdvertisement) == 16 && alignof(NdRouterAdvertisement) == 1);

/// RFC 4861, section 4.3.
struct NdNeighborSolicitation {
    uint8_t type = icmpv6_type::kNeighborSolicitation;
    uint8_t code = 0;
    be16_t checksum;
    be32_t reserved;
    Ipv6Address target;
};
static_assert(sizeof(NdNeighborSolicitation) == 24 && alignof(NdNeighborSolicitation) == 1);

/// RFC 4861, section 4.4.
struct NdNeighborAdvertisement {
    static constexpr uint32_t kRouter = 0x8000'0000;
    static constexpr uint32_t kSolicited = 0x4000'0000;
    static constexpr uint32_t kOverride = 0x2000'0000;

    uint8_t type = icmpv6_type::kNeighborAdvertisement;
    uint8_t code = 0;
    be16_t checksum;
    be32_t flags;
    Ipv6Address target;

    /// True if any of `mask` is set.
    constexpr bool has(uint32_t mask) const noexcept { return (flags.value() & mask) != 0; }
};
static_assert(sizeof(NdNeighborAdvertisement) == 24 && alignof(NdNeighborAdvertisement) == 1);

/// How every option begins. RFC 4861, section 4.6.
struct NdOption {
    uint8_t type = 0;
    uint8_t length_field = 0;

    /// Bytes, these two included; as received it may be 0, which is invalid.
    constexpr unsigned length() const noexcept { return length_field * 8u; }
};
static_assert(sizeof(NdOption) == 2);

/// RFC 4861, section 4.6.1, over Ethernet: RFC 2464, section 6.
struct NdLinkLayerAddressOption {
    NdOption option{nd_option::kSourceLinkLayerAddress, 1};
    MacAddress mac;
};
static_assert(sizeof(NdLinkLayerAddressOption) == 8 && alignof(NdLinkLayerAddressOption) == 1);

/// RFC 4861, section 4.6.2.
struct NdPrefixInformationOption {
    static constexpr uint8_t kOnLink = 0x80;
    static constexpr uint8_t kAutonomous = 0x40;

    NdOption option{nd_option::kPrefixInformation, 4};
    uint8_t prefix_length = 0;  ///< bits
    uint8_t flags = 0;
    be32_t valid_lifetime;      ///< seconds; all ones: for ever
    be32_t preferred_lifetime;  ///< seconds; all ones: for ever
    be32_t reserved;
    Ipv6Address prefix;
};
static_assert(sizeof(NdPrefixInformationOption) == 32 && alignof(NdPrefixInformationOption) == 1);

/// RFC 4861, section 4.6.4.
struct NdMtuOption {
    NdOption option{nd_option::kMtu, 1};
    be16_t reserved;
    be32_t mtu;  ///< bytes of an IPv6 packet
};
static_assert(sizeof(NdMtuOption) == 8 && alignof(NdMtuOption) == 1);

/// The first thing found wrong with a message; RFC 4861 has it dropped silently in any case.
enum class NdDefect : uint8_t {
    none,
    bad_hop_limit,  ///< not 255: it may come from beyond a router
    truncated,      ///< shorter than the fixed part of its type
    wrong_type,     ///< of another type than the parser is for
    bad_code,       ///< not 0
    bad_checksum,
    bad_source,              ///< multicast
    bad_target,              ///< multicast
    bad_destination,         ///< from ::, but not to a solicited-node address
    solicited_multicast,     ///< an advertisement to everybody claims to answer one
    bad_option_length,       ///< 0, or beyond the end of the message
    bad_link_layer_address,  ///< option not of 8 bytes, or a zero or multicast MAC address in it
    unexpected_link_layer_address  ///< from ::, and yet with the sender's MAC address
};

/// A checked message, or what is wrong with it.
template <class T>
struct NdParsed {
    T message = {};  ///< of use only if defect == none
    NdDefect defect = NdDefect::none;

    explicit constexpr operator bool() const noexcept { return defect == NdDefect::none; }
    constexpr const T& operator*() const noexcept { return message; }
    constexpr const T* operator->() const noexcept { return &message; }
};

struct RouterSolicitation {
    Ipv6Address source;
    std::optional<MacAddress> source_mac;  ///< option; never together with source ::
};

struct NeighborSolicitation {
    Ipv6Address source;
    Ipv6Address destination;
    Ipv6Address target;
    std::optional<MacAddress> source_mac;  ///< option; never together with source ::

    /// Asks whether `target` is free, and claims no address (RFC 4862, section 5.4).
    constexpr bool is_duplicate_address_detection() const noexcept {
        return source.is_unspecified();
    }
};

struct NeighborAdvertisement {
    Ipv6Address source;
    Ipv6Address destination;
    Ipv6Address target;
    std::optional<MacAddress> target_mac;  ///< option
    bool router = false;
    bool solicited = false;
    bool override_cached = false;  ///< the O flag
};

enum class NdChecksum : uint8_t {
    verify,
    trusted  ///< somebody verified it, or it is partial and there is nothing yet to verify
};

/// Check a received message as RFC 4861, sections 6.1.1, 7.1.1 and 7.1.2 demand. `message` is all
/// of ICMPv6, as long as the IPv6 payload length says, without extension headers and padding; it
/// may lie at any address. Options of other types are stepped over, and of two of the same type the
/// first counts, but all must be well formed.
///
/// Left to the caller: that the message was not in fragments (RFC 6980), and whether its addresses
/// make sense on this link. Pure functions.
NdParsed<RouterSolicitation> parse_router_solicitation(const Ipv6Header& ip,
                                                       std::span<const std::byte> message,
                                                       NdChecksum checksum) noexcept;
NdParsed<NeighborSolicitation> parse_neighbor_solicitation(const Ipv6Header& ip,
                                                           std::span<const std::byte> message,
                                                           NdChecksum checksum) noexcept;
NdParsed<NeighborAdvertisement> parse_neighbor_advertisement(const Ipv6Header& ip,
                                                             std::span<const std::byte> message,
                                                             NdChecksum checksum) noexcept;

/// ff02::1 and ff02::2 (RFC 4291, section 2.7.1).
inline constexpr Ipv6Address kAllNodes(std::array<uint8_t, 16>{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0,
                                                               0, 0, 0, 0, 0, 1});
inline constexpr Ipv6Address kAllRouters(std::array<uint8_t, 16>{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0,
                                                                 0, 0, 0, 0, 0, 2});

/// ff02::1:ffXX:XXXX with the last 24 bits of `address` (RFC 4291, section 2.7.1).
constexpr Ipv6Address solicited_node_multicast(const Ipv6Address& address) noexcept {
    const auto& last = address.bytes();
    return Ipv6Address(std::array<uint8_t, 16>{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff,
                                               last[13], last[14], last[15]});
}

constexpr bool is_solicited_node_multicast(const Ipv6Address& address) noexcept {
    return address == solicited_node_multicast(address);
}

/// 33:33 and the last four bytes of `group` (RFC 2464, section 7).
constexpr MacAddress multicast_mac(const Ipv6Address& group) noexcept {
    const auto& last = group.bytes();
    return {0x33, 0x33, last[12], last[13], last[14], last[15]};
}

/// fe80::/64 with the modified EUI-64 of `mac` (RFC 4291, appendix A; RFC 2464, section 5).
constexpr Ipv6Address link_local_address(const MacAddress& mac) noexcept {
    const auto& id = mac.bytes();
    return Ipv6Address(std::array<uint8_t, 16>{0xfe, 0x80, 0, 0, 0, 0, 0, 0,
                                               static_cast<uint8_t>(id[0] ^ 0x02), id[1], id[2],
                                               0xff, 0xfe, id[3], id[4], id[5]});
}

}  // namespace heddle::net
