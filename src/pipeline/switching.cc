#include "pipeline/switching.h"

#include "net/ethernet.h"
#include "packet/frame.h"
#include "pipeline/bridge_output.h"
#include "pipeline/classify.h"
#include "pipeline/punt.h"
#include "pipeline/routing.h"

namespace heddle::pipeline {
namespace {

using forwarding::Bridge;
using forwarding::BridgePort;
using forwarding::BridgePortId;
using forwarding::Fdb;
using forwarding::FdbValue;
using forwarding::kNoBridgePort;
using forwarding::PortEntry;
using forwarding::PortId;
using packet::DropReason;

/// A frame between classification and forwarding, with its FDB lookups under way.
struct Pending {
    rte_mbuf* frame;
    const Bridge* bridge;
    BridgePortId ingress;
    uint64_t destination_hash;
    uint64_t source_hash;
    uint16_t ethertype;  ///< host order
    bool to_router;      ///< to the bridge's router; its destination is not looked up
    Fdb::Key destination;
    Fdb::Key source;
};

/// The bridge of a bridge port; most bursts stay in one.
class BridgeCache {
 public:
    explicit BridgeCache(const forwarding::Tables& tables) noexcept : tables_(tables) {}

    const Bridge* of(BridgePortId id) noexcept {
        if (id != id_) {
            id_ = id;
            bridge_ = tables_.bridge(tables_.bridge_port(id).bridge);
        }
        return bridge_;
    }

 private:
    const forwarding::Tables& tables_;
    BridgePortId id_ = kNoBridgePort;
    const Bridge* bridge_ = nullptr;
};

/// Bit of group_forward_mask for one of 01:80:c2:00:00:00 ... 0f; 0 for any other address.
uint32_t local_group_bit(const net::MacAddress& address) noexcept {
    return address.is_local_group() ? 1u << address.bytes()[5] : 0;
}

/// Classifies a frame and starts its lookups; false if it was dropped.
bool prepare(Context& context, const PortEntry& ingress, BridgeCache& bridges, rte_mbuf* frame,
             Pending& pending) noexcept {
    if (frame->data_len < sizeof(net::EthernetHeader)) [[unlikely]] {
        drop(context, ingress.id, DropReason::rx_runt, frame);
        return false;
    }
    Classified classified{ingress.untagged, ingress.vlans == nullptr
                                                ? DropReason::port_not_attached
                                                : DropReason::vlan_not_allowed};
    if (net::is_vlan_tag(rte_pktmbuf_mtod(frame, net::EthernetHeader*)->ethertype.value())) {
        classified = classify_tagged(context.tables, ingress, frame);
    }
    const Bridge* bridge =
        classified.bridge_port == kNoBridgePort ? nullptr : bridges.of(classified.bridge_port);
    if (bridge == nullptr) [[unlikely]] {
        drop(context, ingress.id, classified.reason, frame);
        return false;
    }
    const auto* header = rte_pktmbuf_mtod(frame, const net::EthernetHeader*);
    if (header->source.is_multicast() || header->source.is_zero()) [[unlikely]] {
        drop(context, ingress.id, DropReason::bad_source_mac, frame);
        return false;
    }
    packet::Metadata& meta = packet::metadata(frame);
    meta.ingress_port = ingress.id;
    meta.scope = bridge->id;
    const uint64_t destination = header->destination_u64();
    pending.frame = frame;
    pending.bridge = bridge;
    pending.ingress = classified.bridge_port;
    pending.ethertype = header->ethertype.value();
    pending.source = Fdb::Key(bridge->id, header->source_u64());
    pending.source_hash = context.tables.fdb.hash(pending.source);
    context.tables.fdb.prefetch(pending.source_hash);
    pending.to_router = destination == bridge->router_mac;
    if (pending.to_router) return true;
    pending.destination = Fdb::Key(bridge->id, destination);
    pending.destination_hash = context.tables.fdb.hash(pending.destination);
    if (header->destination.is_unicast()) context.tables.fdb.prefetch(pending.destination_hash);
    return true;
}

/// True if a router of the bridge has the source address: nobody else may use it.
bool is_router_mac(Context& context, const Pending& pending) noexcept {
    const FdbValue found = context.tables.fdb.find(pending.source, pending.source_hash);
    return context.tables.bridge_port(found.bridge_port).interface != forwarding::kNoInterface;
}

/// Learns the source address; false if the frame was dropped.
bool learn(Context& context, const Pending& pending) noexcept {
    const Bridge& bridge = *pending.bridge;
    forwarding::BridgeCounters& counters = context.tables.bridge_counters(bridge.id);
    bool reserved = false;
    const Fdb::Learned learned =
        context.tables.fdb.learn(pending.source, pending.source_hash, pending.ingress, context.tick,
                                 [&] { return reserved = counters.reserve(bridge.fdb_limit); });
    if (learned == Fdb::Learned::moved) counters.moves.fetch_add(1, std::memory_order_relaxed);
    if (reserved && learned != Fdb::Learned::added) [[unlikely]]
        counters.cancel();
    if (learned == Fdb::Learned::is_static && !bridge.routers.empty() &&
        is_router_mac(context, pending)) [[unlikely]] {
        drop(context, packet::metadata(pending.frame).ingress_port, DropReason::router_mac,
             pending.frame);
        return false;
    }
    return true;
}

void forward(Context& context, const PortEntry& ingress, const Pending& pending,
             RouteBatch& routed) noexcept {
    if (pending.to_router) {
        routed.add(pending.bridge->router, pending.frame, pending.ethertype);
        return;
    }
    const auto* header = rte_pktmbuf_mtod(pending.frame, const net::EthernetHeader*);
    if (header->destination.is_multicast()) {
        const uint32_t local_group = local_group_bit(header->destination);
        if (local_group != 0 && (pending.bridge->group_forward_mask & local_group) == 0) {
            drop(context, ingress.id, DropReason::link_local_group, pending.frame);
            return;
        }
        const bool watched = !pending.bridge->routers.empty() || pending.bridge->proxy_arp;
        if (watched && watch_neighbor_message(context, *pending.bridge, pending.frame)) return;
        flood(context, *pending.bridge, pending.ingress, pending.frame);
        return;
    }
    const FdbValue found = context.tables.fdb.find(pending.destination, pending.destination_hash);
    if (found.bridge_port == kNoBridgePort) {
        flood(context, *pending.bridge, pending.ingress, pending.frame);
        return;
    }
    if (found.bridge_port == pending.ingress) {
        drop(context, ingress.id, DropReason::same_port, pending.frame);
        return;
    }
    const BridgePort to = context.tables.bridge_port(found.bridge_port);
    if (to.bridge != pending.bridge->id) [[unlikely]] {  // being removed, its entries still there
        drop(context, ingress.id, DropReason::port_gone, pending.frame);
        return;
    }
    if (to.interface != forwarding::kNoInterface) {
        routed.add(to.interface, pending.frame, pending.ethertype);
        return;
    }
    if (to.isolated && context.tables.bridge_port(pending.ingress).isolated) {
        drop(context, ingress.id, DropReason::port_isolated, pending.frame);
        return;
    }
    send(context, to, pending.frame);
}

}  // namespace

void switch_burst(Context& context, const PortEntry& ingress,
                  std::span<rte_mbuf*> frames) noexcept {
    Pending pending[port::kBurst];
    size_t count = 0;
    BridgeCache bridges(context.tables);
    for (rte_mbuf* frame : frames) {
        if (prepare(context, ingress, bridges, frame, pending[count])) ++count;
    }
    RouteBatch routed(context);
    for (size_t i = 0; i < count; ++i) {
        if (learn(context, pending[i])) forward(context, ingress, pending[i], routed);
    }
    routed.flush();
}

}  // namespace heddle::pipeline
