// What the resolver makes of ARP and neighbour discovery.
#include "net/arp.h"
#include "net/ethernet.h"
#include "packet/frame.h"
#include "pipeline/bridge_routers.h"
#include "pipeline/ip_checks.h"
#include "pipeline/resolver.h"
#include "pipeline/routing.h"
#include "service/arp_messages.h"
#include "service/nd_messages.h"

namespace heddle::pipeline {
namespace {

using forwarding::Adjacency;
using forwarding::AdjacencyId;
using forwarding::Bridge;
using forwarding::kNoAdjacency;
using forwarding::NeighborKey;
using forwarding::RouterInterface;
using packet::DropReason;

const net::MacAddress& ethernet_source(const rte_mbuf* frame) noexcept {
    return rte_pktmbuf_mtod(frame, const net::EthernetHeader*)->source;
}
bool is_station(const net::MacAddress& mac) noexcept {
    return mac.is_unicast() && !mac.is_zero();
}

void originate(Context& context, const Bridge& bridge, rte_mbuf* frame) noexcept {
    if (frame != nullptr) originate_on_bridge(context, bridge.id, frame);
}

}  // namespace

void Resolver::handle_message(Context& context, rte_mbuf* frame) noexcept {
    const packet::Metadata& meta = packet::metadata(frame);
    const uint16_t type = rte_pktmbuf_mtod(frame, const net::EthernetHeader*)->ethertype.value();
    const bool arp = type == net::ethertype::kArp;
    if (!(arp ? handle_arp(context, frame) : handle_nd(context, frame))) {
        drop(context, meta.ingress_port, arp ? DropReason::bad_arp : DropReason::bad_nd, frame);
        return;
    }
    context.tables.counters(meta.ingress_port, context.worker).consumed.add(1);
    rte_pktmbuf_free(frame);
}

void Resolver::learn_on(Context& context, const Bridge& bridge, const net::IpAddress& address,
                        const net::MacAddress& mac, bool solicited) noexcept {
    find_router(context, bridge, [&](const RouterInterface& each) {
        learn(context, each, address, mac, false, solicited);
        return false;  // the next one
    });
}

bool Resolver::handle_arp(Context& context, rte_mbuf* frame) noexcept {
    const Bridge* bridge = context.tables.bridge(packet::metadata(frame).scope);
    if (bridge == nullptr || (frame->data_len < kL2 + sizeof(net::ArpHeader) &&
                              !packet::pull(frame, kL2 + sizeof(net::ArpHeader)))) {
        return false;
    }
    const net::ArpHeader arp = *rte_pktmbuf_mtod_offset(frame, const net::ArpHeader*, kL2);
    if (!arp.is_ethernet_ipv4() || (!arp.is_request() && !arp.is_reply()) ||
        !is_station(arp.sender_mac) || arp.sender_mac != ethernet_source(frame)) {
        return false;
    }
    if (const RouterInterface* own = owner_of(context, *bridge, arp.sender_ip)) {
        conflict(context, *own);
        return false;
    }
    const RouterInterface* in = owner_of(context, *bridge, arp.target_ip);
    if (arp.is_reply()) {
        learn_on(context, *bridge, arp.sender_ip, arp.sender_mac, in != nullptr);
        return true;
    }
    if (in != nullptr) {
        if (!arp.is_probe()) learn(context, *in, arp.sender_ip, arp.sender_mac, true, false);
        originate(context, *bridge,
                  service::arp_reply(in->mac, arp.target_ip, arp.sender_mac, arp.sender_ip,
                                     context.pools));
        return true;
    }
    if (const auto mac = proxied(context, *bridge, NeighborKey(bridge->id, arp.target_ip))) {
        originate(
            context, *bridge,
            service::arp_reply(*mac, arp.target_ip, arp.sender_mac, arp.sender_ip, context.pools));
    }
    if (!arp.is_probe()) learn_on(context, *bridge, arp.sender_ip, arp.sender_mac, false);
    return true;
}

bool Resolver::handle_nd(Context& context, rte_mbuf* frame) noexcept {
    constexpr uint32_t kHeaders = kL2 + sizeof(net::Ipv6Header);
    const packet::Metadata& meta = packet::metadata(frame);
    if (frame->data_len < kHeaders + sizeof(net::IcmpHeader)) return false;
    const net::Ipv6Header ip = *ipv6_header(frame);
    const uint32_t length = ip.payload_length.value();
    if (ip.next_header != net::ip_protocol::kIcmpv6 || frame->data_len < kHeaders + length ||
        length < sizeof(net::IcmpHeader) || !is_station(ethernet_source(frame))) {
        return false;
    }
    const std::span<const std::byte> message(
        rte_pktmbuf_mtod_offset(frame, const std::byte*, kHeaders), length);
    const bool trusted = meta.l4_checksum == packet::L4Checksum::good ||
                         meta.l4_checksum == packet::L4Checksum::partial;
    const auto checksum = trusted ? net::NdChecksum::trusted : net::NdChecksum::verify;
    switch (std::to_integer<uint8_t>(message[0])) {
        case net::icmpv6_type::kNeighborSolicitation: {
            const auto parsed = net::parse_neighbor_solicitation(ip, message, checksum);
            return parsed && handle_solicitation(context, frame, *parsed);
        }
        case net::icmpv6_type::kNeighborAdvertisement: {
            const auto parsed = net::parse_neighbor_advertisement(ip, message, checksum);
            return parsed && handle_advertisement(context, frame, *parsed);
        }
        case net::icmpv6_type::kRouterSolicitation: {
            const auto parsed = net::parse_router_solicitation(ip, message, checksum);
            return parsed && handle_router_solicitation(context, frame, *parsed);
        }
        default:
            return false;
    }
}

bool Resolver::handle_solicitation(Context& context, const rte_mbuf* frame,
                                   const net::NeighborSolicitation& message) noexcept {
    const Bridge* bridge = context.tables.bridge(packet::metadata(frame).scope);
    if (bridge == nullptr) return false;
    const net::MacAddress& from = ethernet_source(frame);
    if (message.source_mac && *message.source_mac != from) return false;
    if (const RouterInterface* own = owner_of(context, *bridge, message.source)) {
        conflict(context, *own);
        return false;
    }
    const RouterInterface* in = owner_of(context, *bridge, message.target);
    const auto host = in != nullptr ? std::optional(in->mac)
                                    : proxied(context, *bridge, {bridge->id, message.target});
    if (!host) return in != nullptr;
    const bool probe = message.is_duplicate_address_detection();
    if (in != nullptr && !probe && message.source_mac) {
        learn(context, *in, message.source, *message.source_mac, true, false);
    }
    service::NeighborAdvertisementMessage answer;
    answer.source_mac = *host;
    answer.source = message.target;
    answer.target = message.target;
    answer.target_mac = *host;
    answer.router = in != nullptr;
    answer.solicited = !probe;
    answer.override_cached = true;
    answer.receiver = probe ? service::multicast_receiver(net::kAllNodes)
                            : service::Ipv6Receiver{message.source, from};
    originate(context, *bridge, service::neighbor_advertisement(answer, context.pools));
    return true;
}

bool Resolver::handle_advertisement(Context& context, const rte_mbuf* frame,
                                    const net::NeighborAdvertisement& message) noexcept {
    const Bridge* bridge = context.tables.bridge(packet::metadata(frame).scope);
    if (bridge == nullptr) return false;
    const net::MacAddress& from = ethernet_source(frame);
    if (message.target_mac && *message.target_mac != from) return false;
    if (const RouterInterface* own = owner_of(context, *bridge, message.target)) {
        conflict(context, *own);
        return false;
    }
    const AdjacencyId id = context.tables.neighbors.find({bridge->id, message.target});
    if (id == kNoAdjacency) return true;  // RFC 4861, section 7.2.5: no entry is made
    Neighbor& neighbor = neighbors_[id];
    const bool known = context.tables.neighbors.at(id).link.load(std::memory_order_relaxed) != 0;
    if (!known && !message.target_mac) return true;
    const net::MacAddress mac = message.target_mac.value_or(neighbor.mac);
    if (known && mac != neighbor.mac && !message.override_cached) {
        if (neighbor.phase == NeighborPhase::reachable) neighbor.phase = NeighborPhase::stale;
        return true;
    }
    learn_on(context, *bridge, message.target, mac, message.solicited);
    return true;
}

bool Resolver::handle_router_solicitation(Context& context, const rte_mbuf* frame,
                                          const net::RouterSolicitation& message) noexcept {
    const Bridge* bridge = context.tables.bridge(packet::metadata(frame).scope);
    if (bridge == nullptr) return false;
    const net::MacAddress& from = ethernet_source(frame);
    if (message.source_mac && *message.source_mac != from) return false;
    if (message.source_mac) {
        learn_on(context, *bridge, message.source, *message.source_mac, false);
    }
    find_router(context, *bridge, [&](const RouterInterface& each) {
        if (!each.advertises) return false;
        announcer_.solicited(context, each, message.source, from);
        next_tick_ = context.now;  // what is due next may have come nearer
        return false;
    });
    return true;
}

void Resolver::conflict(Context& context, const RouterInterface& own) noexcept {
    statistics_.conflict_at.store(own.id, std::memory_order_relaxed);
    statistics_.conflicts.fetch_add(1, std::memory_order_relaxed);
    announcer_.defend(context, own);
}

}  // namespace heddle::pipeline
