#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <optional>

#include "net/ip_address.h"
#include "net/mac_address.h"
#include "packet/pools.h"

/// ARP messages that Heddle sends itself: RFC 826; probes and announcements: RFC 5227.
///
/// Each function makes a new frame of one small buffer without VLAN tag, which is the caller's;
/// nullptr if none is free. The Ethernet source is the sender's MAC address. 42 bytes long: drivers
/// of devices that need 60 pad. Any thread may call them.
namespace heddle::service {

/// Who has `target_ip`? To everybody, or to the one neighbour that is asked whether it is still
/// there (RFC 1122, section 2.3.2.1).
[[nodiscard]] rte_mbuf* arp_request(const net::MacAddress& sender_mac, net::Ipv4Address sender_ip,
                                    net::Ipv4Address target_ip,
                                    const std::optional<net::MacAddress>& destination,
                                    const packet::Pools& pools) noexcept;

/// `sender_ip` is at `sender_mac`, told to the one who asked.
[[nodiscard]] rte_mbuf* arp_reply(const net::MacAddress& sender_mac, net::Ipv4Address sender_ip,
                                  const net::MacAddress& target_mac, net::Ipv4Address target_ip,
                                  const packet::Pools& pools) noexcept;

/// Has anybody `target_ip`, which the sender does not claim yet? (RFC 5227, section 2.1.1)
[[nodiscard]] rte_mbuf* arp_probe(const net::MacAddress& sender_mac, net::Ipv4Address target_ip,
                                  const packet::Pools& pools) noexcept;

/// Some hosts update their caches by one form only; whoever wants to reach all sends both.
enum class ArpAnnouncement : uint8_t {
    request,  ///< RFC 5227, section 2.3
    reply     ///< RFC 5944, section 4.6; also the target MAC address is the sender's
};

/// `ip` is at `mac`, told to everybody unasked (gratuitous ARP).
[[nodiscard]] rte_mbuf* arp_announcement(const net::MacAddress& mac, net::Ipv4Address ip,
                                         ArpAnnouncement form, const packet::Pools& pools) noexcept;

}  // namespace heddle::service
