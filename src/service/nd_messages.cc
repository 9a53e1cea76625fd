#include "service/nd_messages.h"

#include <algorithm>

#include "net/checksum.h"
#include "service/message.h"

namespace heddle::service {
namespace {

constexpr size_t kIpOffset = sizeof(net::EthernetHeader);
constexpr size_t kIcmpOffset = kIpOffset + sizeof(net::Ipv6Header);

static_assert(sizeof(net::Ipv6Header) + sizeof(net::NdRouterAdvertisement) +
                  sizeof(net::NdLinkLayerAddressOption) + sizeof(net::NdMtuOption) +
                  kMaxAdvertisedPrefixes * sizeof(net::NdPrefixInformationOption) <=
              1280);

rte_mbuf* begin_nd(const net::MacAddress& source_mac, const net::Ipv6Address& source,
                   const Ipv6Receiver& receiver, const packet::Pools& pools) noexcept {
    rte_mbuf* frame = begin_message(source_mac, receiver.mac, net::ethertype::kIpv6, pools);
    if (frame == nullptr) return nullptr;
    net::Ipv6Header ip;
    ip.next_header = net::ip_protocol::kIcmpv6;
    ip.hop_limit = net::kNdHopLimit;
    ip.source = source;
    ip.destination = receiver.address;
    append(frame, ip);
    return frame;
}

/// Sets length and checksum of what was appended since begin_nd().
rte_mbuf* finish_nd(rte_mbuf* frame) noexcept {
    const auto bytes = packet::first_segment(frame);
    const auto message = bytes.subspan(kIcmpOffset);
    auto& ip = *net::header_at<net::Ipv6Header>(bytes, kIpOffset);
    ip.payload_length = net::be16_t(static_cast<uint16_t>(message.size()));
    auto& icmp = *net::header_at<net::IcmpHeader>(message, 0);
    auto sum = net::pseudo_header(ip.source, ip.destination, net::ip_protocol::kIcmpv6,
                                  static_cast<uint32_t>(message.size()));
    icmp.checksum = sum.add(message).checksum();
    return finish_message(frame);
}

void append_link_layer_address(rte_mbuf* frame, uint8_t type, const net::MacAddress& mac) noexcept {
    append(frame, net::NdLinkLayerAddressOption{{type, 1}, mac});
}

void append_prefix(rte_mbuf* frame, const AdvertisedPrefix& advertised) noexcept {
    net::NdPrefixInformationOption option;
    option.prefix_length = static_cast<uint8_t>(advertised.prefix.length());
    if (advertised.on_link) option.flags |= net::NdPrefixInformationOption::kOnLink;
    if (advertised.autonomous) option.flags |= net::NdPrefixInformationOption::kAutonomous;
    option.valid_lifetime = net::be32_t(advertised.valid_lifetime);
    option.preferred_lifetime = net::be32_t(advertised.preferred_lifetime);
    option.prefix = advertised.prefix.network().address();
    append(frame, option);
}

rte_mbuf* solicitation(const net::MacAddress& source_mac, const net::Ipv6Address& source,
                       const net::Ipv6Address& target, const Ipv6Receiver& receiver,
                       const packet::Pools& pools) noexcept {
    rte_mbuf* frame = begin_nd(source_mac, source, receiver, pools);
    if (frame == nullptr) return nullptr;
    net::NdNeighborSolicitation message;
    message.target = target;
    append(frame, message);
    if (!source.is_unspecified()) {
        append_link_layer_address(frame, net::nd_option::kSourceLinkLayerAddress, source_mac);
    }
    return finish_nd(frame);
}

}  // namespace

rte_mbuf* neighbor_solicitation(const net::MacAddress& source_mac, const net::Ipv6Address& source,
                                const net::Ipv6Address& target,
                                const std::optional<net::MacAddress>& destination,
                                const packet::Pools& pools) noexcept {
    const auto receiver = destination ? Ipv6Receiver{target, *destination}
                                      : multicast_receiver(net::solicited_node_multicast(target));
    return solicitation(source_mac, source, target, receiver, pools);
}

rte_mbuf* duplicate_address_solicitation(const net::MacAddress& source_mac,
                                         const net::Ipv6Address& target,
                                         const packet::Pools& pools) noexcept {
    return neighbor_solicitation(source_mac, {}, target, std::nullopt, pools);
}

rte_mbuf* neighbor_advertisement(const NeighborAdvertisementMessage& message,
                                 const packet::Pools& pools) noexcept {
    rte_mbuf* frame = begin_nd(message.source_mac, message.source, message.receiver, pools);
    if (frame == nullptr) return nullptr;
    using Wire = net::NdNeighborAdvertisement;
    const bool solicited = message.solicited && !message.receiver.address.is_multicast();
    Wire wire;
    wire.flags =
        net::be32_t((message.router ? Wire::kRouter : 0) | (solicited ? Wire::kSolicited : 0) |
                    (message.override_cached ? Wire::kOverride : 0));
    wire.target = message.target;
    append(frame, wire);
    append_link_layer_address(frame, net::nd_option::kTargetLinkLayerAddress, message.target_mac);
    return finish_nd(frame);
}

rte_mbuf* router_advertisement(const RouterAdvertisement& message, const Ipv6Receiver& receiver,
                               const packet::Pools& pools) noexcept {
    rte_mbuf* frame = begin_nd(message.source_mac, message.source, receiver, pools);
    if (frame == nullptr) return nullptr;
    net::NdRouterAdvertisement wire;
    wire.hop_limit = message.hop_limit;
    if (message.managed) wire.flags |= net::NdRouterAdvertisement::kManaged;
    if (message.other_config) wire.flags |= net::NdRouterAdvertisement::kOtherConfig;
    wire.lifetime = net::be16_t(message.router_lifetime);
    wire.reachable = net::be32_t(message.reachable_time);
    wire.retransmit = net::be32_t(message.retransmit_timer);
    append(frame, wire);
    append_link_layer_address(frame, net::nd_option::kSourceLinkLayerAddress, message.source_mac);
    if (message.mtu != 0) {
        net::NdMtuOption option;
        option.mtu = net::be32_t(message.mtu);
        append(frame, option);
    }
    const size_t prefixes = std::min(message.prefixes.size(), kMaxAdvertisedPrefixes);
    for (const AdvertisedPrefix& prefix : message.prefixes.first(prefixes))
        append_prefix(frame, prefix);
    return finish_nd(frame);
}

}  // namespace heddle::service
