#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "net/ip_address.h"
#include "net/ip_prefix.h"
#include "net/mac_address.h"
#include "net/neighbor_discovery.h"
#include "packet/pools.h"

/// Neighbour discovery messages that Heddle sends itself: RFC 4861.
///
/// Each function makes a new frame of one small buffer without VLAN tag, which is the caller's;
/// nullptr if none is free. Hop limit 255, ICMPv6 checksum complete. Any thread may call them.
namespace heddle::service {

/// Whom a message is for.
struct Ipv6Receiver {
    net::Ipv6Address address;
    net::MacAddress mac;
};

/// All who listen to a multicast group (RFC 2464, section 7).
constexpr Ipv6Receiver multicast_receiver(const net::Ipv6Address& group) noexcept {
    return {group, net::multicast_mac(group)};
}

/// Who has `target`? To its solicited-node group or, with `destination`, to the one neighbour that
/// is asked whether it is still there (RFC 4861, section 7.3.3). Tells where the asking address is.
[[nodiscard]] rte_mbuf* neighbor_solicitation(const net::MacAddress& source_mac,
                                              const net::Ipv6Address& source,
                                              const net::Ipv6Address& target,
                                              const std::optional<net::MacAddress>& destination,
                                              const packet::Pools& pools) noexcept;

/// Has anybody `target`, which the sender does not claim yet? From :: and without the sender's
/// link-layer address (RFC 4862, section 5.4.2).
[[nodiscard]] rte_mbuf* duplicate_address_solicitation(const net::MacAddress& source_mac,
                                                       const net::Ipv6Address& target,
                                                       const packet::Pools& pools) noexcept;

/// RFC 4861, section 4.4.
struct NeighborAdvertisementMessage {
    net::MacAddress source_mac;  ///< Ethernet source
    net::Ipv6Address source;
    Ipv6Receiver receiver;
    net::Ipv6Address target;
    net::MacAddress target_mac;  ///< where `target` is; for proxies not the source
    bool router = false;
    bool solicited = false;  ///< not sent to a multicast receiver: nobody would believe it
    bool override_cached = false;
};

/// `target` is at `target_mac`.
[[nodiscard]] rte_mbuf* neighbor_advertisement(const NeighborAdvertisementMessage& message,
                                               const packet::Pools& pools) noexcept;

/// RFC 4861, section 4.6.2; the values a host gets if nobody says anything else are those of
/// section 6.2.1.
struct AdvertisedPrefix {
    net::Ipv6Prefix prefix;  ///< host bits are not sent
    bool on_link = true;
    bool autonomous = true;
    uint32_t valid_lifetime = 2'592'000;    ///< seconds; all ones: for ever
    uint32_t preferred_lifetime = 604'800;  ///< seconds, at most valid_lifetime
};

/// As many as go into a packet that every link takes, 1280 bytes; whoever has more sends several
/// advertisements (RFC 4861, section 6.2.3).
inline constexpr size_t kMaxAdvertisedPrefixes = 37;

/// RFC 4861, section 4.2.
struct RouterAdvertisement {
    net::MacAddress source_mac;
    net::Ipv6Address source;  ///< must be link-local, or hosts drop the message
    uint8_t hop_limit = 64;   ///< 0: hosts keep theirs
    bool managed = false;
    bool other_config = false;
    uint16_t router_lifetime = 1800;                  ///< seconds; 0: not a default router
    uint32_t reachable_time = 0;                      ///< milliseconds; 0: hosts keep theirs
    uint32_t retransmit_timer = 0;                    ///< milliseconds; 0: hosts keep theirs
    uint32_t mtu = 0;                                 ///< bytes; 0: not sent
    std::span<const AdvertisedPrefix> prefixes = {};  ///< beyond kMaxAdvertisedPrefixes not sent
};

/// To net::kAllNodes (multicast_receiver), or to the host that solicited it.
[[nodiscard]] rte_mbuf* router_advertisement(const RouterAdvertisement& message,
                                             const Ipv6Receiver& receiver,
                                             const packet::Pools& pools) noexcept;

}  // namespace heddle::service
