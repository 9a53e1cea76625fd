#include "pipeline/punt.h"

#include <cstring>

#include "net/arp.h"
#include "net/ethernet.h"
#include "net/icmp.h"
#include "net/ipv6.h"
#include "net/neighbor_discovery.h"
#include "packet/frame.h"
#include "pipeline/bridge_routers.h"
#include "pipeline/ip_checks.h"
#include "pipeline/resolver.h"

namespace heddle::pipeline {
namespace {

using forwarding::Bridge;
using forwarding::InterfaceId;
using forwarding::NeighborKey;
using forwarding::RouterInterface;
using packet::DropReason;

constexpr uint32_t kNdTarget = kL2 + sizeof(net::Ipv6Header) + sizeof(net::IcmpHeader);

/// Bytes of a message that the resolver gets a copy of: options of neighbour discovery included.
constexpr uint32_t kCopied = 256;

bool is_known(const Context& context, const NeighborKey& key) noexcept {
    return context.tables.neighbors.find(key) != forwarding::kNoAdjacency;
}

void punt_copy(Context& context, rte_mbuf* frame) noexcept {
    const packet::Metadata& meta = packet::metadata(frame);
    rte_mbuf* copy = packet::allocate_small(context.pools);
    if (copy == nullptr) return;  // the neighbour is asked again later
    const uint16_t bytes = static_cast<uint16_t>(std::min(frame->pkt_len, kCopied));
    auto* data = reinterpret_cast<std::byte*>(rte_pktmbuf_append(copy, bytes));
    if (!packet::copy_out(frame, 0, {data, bytes})) {
        rte_pktmbuf_free(copy);
        return;
    }
    packet::metadata(copy).ingress_port = meta.ingress_port;
    packet::metadata(copy).scope = meta.scope;
    packet::metadata(copy).l4_checksum = meta.l4_checksum;
    context.tables.counters(meta.ingress_port, context.worker).replicated.add(1);
    punt_neighbor_message(context, forwarding::kNoInterface, copy);
}

bool watch_arp(Context& context, const Bridge& bridge, rte_mbuf* frame) noexcept {
    if (frame->data_len < kL2 + sizeof(net::ArpHeader)) return false;
    const auto* arp = rte_pktmbuf_mtod_offset(frame, const net::ArpHeader*, kL2);
    if (!arp->is_ethernet_ipv4()) return false;
    const bool forged = owner_of(context, bridge, arp->sender_ip) != nullptr;
    if (forged || owner_of(context, bridge, arp->target_ip) != nullptr ||
        (arp->is_request() && !arp->is_probe() && !arp->is_announcement() &&
         proxied(context, bridge, NeighborKey(bridge.id, arp->target_ip)))) {
        punt_neighbor_message(context, forwarding::kNoInterface, frame);
        return true;
    }
    if (is_known(context, NeighborKey(bridge.id, arp->sender_ip))) punt_copy(context, frame);
    return false;
}

bool watch_nd(Context& context, const Bridge& bridge, rte_mbuf* frame) noexcept {
    if (frame->data_len < kL2 + sizeof(net::Ipv6Header) + sizeof(net::IcmpHeader)) return false;
    const auto* ip = rte_pktmbuf_mtod_offset(frame, const net::Ipv6Header*, kL2);
    if (ip->next_header != net::ip_protocol::kIcmpv6) return false;
    const auto* icmp =
        rte_pktmbuf_mtod_offset(frame, const net::IcmpHeader*, kL2 + sizeof(net::Ipv6Header));
    if (icmp->type == net::icmpv6_type::kRouterSolicitation) {
        const RouterInterface* advertised = find_router(
            context, bridge, [](const RouterInterface& each) { return each.advertises; });
        if (advertised != nullptr) punt_copy(context, frame);
        return false;
    }
    const bool solicitation = icmp->type == net::icmpv6_type::kNeighborSolicitation;
    if ((!solicitation && icmp->type != net::icmpv6_type::kNeighborAdvertisement) ||
        frame->data_len < kNdTarget + sizeof(net::Ipv6Address)) {
        return false;
    }
    const auto& target = *rte_pktmbuf_mtod_offset(frame, const net::Ipv6Address*, kNdTarget);
    const NeighborKey key(bridge.id, target);
    if (owner_of(context, bridge, target) != nullptr ||
        (solicitation && !ip->source.is_unspecified() && ip->source != target &&
         proxied(context, bridge, key))) {
        punt_neighbor_message(context, forwarding::kNoInterface, frame);
        return true;
    }
    if (!solicitation && is_known(context, key)) punt_copy(context, frame);
    return false;
}

}  // namespace

void punt(Context& context, rte_mbuf* frame) noexcept {
    if (context.resolver != nullptr) {
        context.resolver->handle(context, frame);
        return;
    }
    if (context.punted_count == context.punted.size()) {
        drop(context, packet::metadata(frame).ingress_port, DropReason::neighbor_limit, frame);
        return;
    }
    context.punted[context.punted_count++] = frame;
}

void punt_neighbor_message(Context& context, InterfaceId interface, rte_mbuf* frame) noexcept {
    packet::Metadata& meta = packet::metadata(frame);
    if (!context.tables.resolver_limit(meta.ingress_port).admit(context.now)) {
        drop(context, meta.ingress_port, DropReason::neighbor_limit, frame);
        return;
    }
    meta.ingress_interface = interface;
    meta.punt = packet::Punt::neighbor;
    punt(context, frame);
}

bool watch_neighbor_message(Context& context, const Bridge& bridge, rte_mbuf* frame) noexcept {
    switch (rte_pktmbuf_mtod(frame, const net::EthernetHeader*)->ethertype.value()) {
        case net::ethertype::kArp:
            return watch_arp(context, bridge, frame);
        case net::ethertype::kIpv6:
            return watch_nd(context, bridge, frame);
        default:
            return false;
    }
}

}  // namespace heddle::pipeline
