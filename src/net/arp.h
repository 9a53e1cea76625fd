#pragma once

#include <cstdint>

#include "net/big_endian.h"
#include "net/ethernet.h"
#include "net/ip_address.h"
#include "net/mac_address.h"

namespace heddle::net {

namespace arp_operation {
inline constexpr uint16_t kRequest = 1;
inline constexpr uint16_t kReply = 2;
}  // namespace arp_operation

/// ARP of IPv4 over Ethernet. RFC 826; probes and announcements: RFC 5227.
struct ArpHeader {
    static constexpr uint16_t kHardwareEthernet = 1;

    be16_t hardware_type{kHardwareEthernet};
    be16_t protocol_type{ethertype::kIpv4};
    uint8_t hardware_length = sizeof(MacAddress);
    uint8_t protocol_length = sizeof(Ipv4Address);
    be16_t operation;
    MacAddress sender_mac;
    Ipv4Address sender_ip;
    MacAddress target_mac;
    Ipv4Address target_ip;

    /// False means that the addresses lie elsewhere: check before reading them.
    constexpr bool is_ethernet_ipv4() const noexcept {
        return hardware_type.value() == kHardwareEthernet &&
               protocol_type.value() == ethertype::kIpv4 && hardware_length == sizeof(MacAddress) &&
               protocol_length == sizeof(Ipv4Address);
    }
    constexpr bool is_request() const noexcept {
        return operation.value() == arp_operation::kRequest;
    }
    constexpr bool is_reply() const noexcept { return operation.value() == arp_operation::kReply; }

    /// The sender asks whether an address is free without claiming it (RFC 5227, section 1.1).
    constexpr bool is_probe() const noexcept { return is_request() && sender_ip.is_unspecified(); }
    /// Gratuitous: the sender tells its own address.
    constexpr bool is_announcement() const noexcept { return sender_ip == target_ip; }
};
static_assert(sizeof(ArpHeader) == 28 && alignof(ArpHeader) == 1);

}  // namespace heddle::net
