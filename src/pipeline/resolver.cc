#include "pipeline/resolver.h"

#include <algorithm>

#include "net/ethernet.h"
#include "packet/frame.h"
#include "pipeline/bridge_routers.h"
#include "pipeline/icmp_output.h"
#include "pipeline/ip_checks.h"
#include "pipeline/routing.h"
#include "service/arp_messages.h"
#include "service/nd_messages.h"

namespace heddle::pipeline {
namespace {

using forwarding::Adjacency;
using forwarding::AdjacencyId;
using forwarding::kNoAdjacency;
using forwarding::NeighborKey;
using forwarding::RouterInterface;
using packet::DropReason;

// RFC 4861, section 10.
constexpr unsigned kRetransmitMs = 1000;
constexpr unsigned kMaxMulticastSolicit = 3;
constexpr unsigned kMaxUnicastSolicit = 3;
constexpr uint32_t kReachableSeconds = 30;

/// A stale entry that nobody uses is forgotten after this many seconds.
constexpr uint32_t kStaleSeconds = 600;
/// How long a neighbour that did not answer is not asked again.
constexpr uint32_t kFailedSeconds = 1;
/// Timers of entries that do not wait for an answer.
constexpr unsigned kHousekeepingMs = 1000;

/// Of one bridge, so that its hosts cannot take all there are.
constexpr uint32_t kMaxPerBridge = 16384;

constexpr unsigned kMaxWaiting = 64;              ///< per neighbour
constexpr unsigned kMaxWaitingInAll = 2048;       ///< of a pool of 16384
constexpr unsigned kMaxWaitingSuperframes = 256;  ///< of a pool of 1024 large buffers

/// Whether an interface is on the bridge of a neighbour. Where it is not, its id is another
/// interface's by now.
bool is_way_to(const RouterInterface& out, const Context& context, AdjacencyId id) noexcept {
    return out.bridge == context.tables.neighbors.at(id).key.bridge;
}

}  // namespace

Resolver::Resolver()
    : neighbors_(forwarding::kMaxAdjacencies), of_bridge_(forwarding::kMaxBridges) {
    live_.reserve(forwarding::kMaxAdjacencies);
    retired_.reserve(forwarding::kMaxAdjacencies);
}

Resolver::~Resolver() {
    for (const AdjacencyId id : live_) {
        while (rte_mbuf* frame = take_waiting(neighbors_[id]))
            rte_pktmbuf_free(frame);
    }
}

void Resolver::handle(Context& context, rte_mbuf* frame) noexcept {
    const packet::Punt punt = std::exchange(packet::metadata(frame).punt, packet::Punt::none);
    if (punt == packet::Punt::unresolved) {
        handle_unresolved(context, frame);
    } else {
        handle_message(context, frame);
    }
}

// ---- Packets that wait

AdjacencyId Resolver::destination_of(Context& context, rte_mbuf* frame,
                                     const RouterInterface& out) noexcept {
    const packet::Metadata& meta = packet::metadata(frame);
    if (meta.adjacency != kNoAdjacency) {
        return neighbors_[meta.adjacency].live ? meta.adjacency : kNoAdjacency;
    }
    return find_or_add(context, destination_on(out.bridge, frame));
}

AdjacencyId Resolver::find_or_add(Context& context, const NeighborKey& key) noexcept {
    const AdjacencyId found = context.tables.neighbors.find(key);
    return found != kNoAdjacency ? found : add(context, key);
}

AdjacencyId Resolver::add(Context& context, const NeighborKey& key) noexcept {
    uint32_t& present = of_bridge_[key.bridge];
    if (present >= kMaxPerBridge) return kNoAdjacency;
    const AdjacencyId id = context.tables.neighbors.add(key);
    if (id == kNoAdjacency) return id;
    ++present;
    neighbors_[id] = Neighbor{};
    neighbors_[id].live = true;
    neighbors_[id].phase_since = context.tick;
    neighbors_[id].index = static_cast<uint32_t>(live_.size());
    live_.push_back(id);
    next_tick_ = std::min(next_tick_, context.now + milliseconds(kHousekeepingMs));
    return id;
}

void Resolver::handle_unresolved(Context& context, rte_mbuf* frame) noexcept {
    const packet::Metadata& meta = packet::metadata(frame);
    const RouterInterface* out = context.tables.interface(meta.egress_interface);
    if (out == nullptr || out->bridge != meta.egress_scope) {
        drop(context, meta.ingress_port, DropReason::interface_gone, frame);
        return;
    }
    const AdjacencyId id = destination_of(context, frame, *out);
    if (id == kNoAdjacency) {
        const bool gone = meta.adjacency != kNoAdjacency;  // with the route that led there
        drop(context, meta.ingress_port,
             gone ? DropReason::interface_gone : DropReason::neighbor_limit, frame);
        return;
    }
    if (!is_way_to(*out, context, id)) {  // its own route's neighbour is another one by now
        drop(context, meta.ingress_port, DropReason::interface_gone, frame);
        return;
    }
    if (context.tables.neighbors.at(id).link.load(std::memory_order_relaxed) != 0) {
        send_to_neighbor(context, *out, id, frame);  // resolved while the frame was on its way
        return;
    }
    if (neighbors_[id].phase == NeighborPhase::failed &&
        context.tick - neighbors_[id].phase_since <= kFailedSeconds) {
        refuse(context, frame);
        return;
    }
    wait(context, id, frame);
    if (neighbors_[id].phase != NeighborPhase::incomplete) start(context, id, *out);
}

void Resolver::wait(Context& context, AdjacencyId id, rte_mbuf* frame) noexcept {
    packet::Metadata& meta = packet::metadata(frame);
    Neighbor& neighbor = neighbors_[id];
    const bool superframe = meta.gso != packet::Gso::none;
    if (neighbor.waiting >= kMaxWaiting || waiting_ >= kMaxWaitingInAll ||
        (superframe && waiting_superframes_ >= kMaxWaitingSuperframes)) {
        drop(context, meta.ingress_port, DropReason::neighbor_queue_full, frame);
        return;
    }
    meta.waiting = nullptr;
    if (neighbor.first == nullptr) {
        neighbor.first = frame;
    } else {
        packet::metadata(neighbor.last).waiting = frame;
    }
    neighbor.last = frame;
    ++neighbor.waiting;
    ++waiting_;
    waiting_superframes_ += superframe ? 1 : 0;
}

rte_mbuf* Resolver::take_waiting(Neighbor& neighbor) noexcept {
    rte_mbuf* frame = neighbor.first;
    if (frame == nullptr) return nullptr;
    const packet::Metadata& meta = packet::metadata(frame);
    neighbor.first = meta.waiting;
    --neighbor.waiting;
    --waiting_;
    waiting_superframes_ -= meta.gso != packet::Gso::none ? 1 : 0;
    return frame;
}

void Resolver::flush_waiting(Context& context, AdjacencyId id) noexcept {
    while (rte_mbuf* frame = take_waiting(neighbors_[id])) {
        const packet::Metadata& meta = packet::metadata(frame);
        const RouterInterface* out = context.tables.interface(meta.egress_interface);
        if (out != nullptr && is_way_to(*out, context, id)) {
            send_to_neighbor(context, *out, id, frame);
        } else {
            drop(context, meta.ingress_port, DropReason::interface_gone, frame);
        }
    }
}

// ---- Asking

void Resolver::start(Context& context, AdjacencyId id, const RouterInterface& out) noexcept {
    Neighbor& neighbor = neighbors_[id];
    neighbor.phase = NeighborPhase::incomplete;
    neighbor.phase_since = context.tick;
    neighbor.interface = out.id;
    neighbor.probes = 0;
    ask(context, id, false);
}

void Resolver::ask(Context& context, AdjacencyId id, bool unicast) noexcept {
    Neighbor& neighbor = neighbors_[id];
    ++neighbor.probes;
    neighbor.deadline = context.now + milliseconds(kRetransmitMs);
    next_tick_ = std::min(next_tick_, neighbor.deadline);
    const RouterInterface* out = asking_interface(context, id);
    if (out == nullptr) return;
    const NeighborKey& key = context.tables.neighbors.at(id).key;
    const std::optional<net::MacAddress> to = unicast ? std::optional(neighbor.mac) : std::nullopt;
    rte_mbuf* request =
        key.is_v4()
            ? service::arp_request(out->mac, out->source_for(key.v4()), key.v4(), to, context.pools)
            : service::neighbor_solicitation(out->mac, out->source_for(key.v6()), key.v6(), to,
                                             context.pools);
    if (request == nullptr) return;  // asked again at the deadline
    statistics_.requests.fetch_add(1, std::memory_order_relaxed);
    originate_on_bridge(context, out->bridge, request);
}

/// The interface that asked before or, if that was removed, another one of the bridge.
const RouterInterface* Resolver::asking_interface(Context& context, AdjacencyId id) noexcept {
    Neighbor& neighbor = neighbors_[id];
    const RouterInterface* before = context.tables.interface(neighbor.interface);
    if (before != nullptr && is_way_to(*before, context, id)) return before;
    const NeighborKey& key = context.tables.neighbors.at(id).key;
    const forwarding::Bridge* bridge = context.tables.bridge(key.bridge);
    if (bridge == nullptr) return nullptr;
    const RouterInterface* other = find_router(context, *bridge, [&](const RouterInterface& each) {
        return key.is_v4() ? each.may_be_host(key.v4()) : each.may_be_host(key.v6());
    });
    if (other != nullptr) neighbor.interface = other->id;
    return other;
}

void Resolver::fail(Context& context, AdjacencyId id) noexcept {
    Neighbor& neighbor = neighbors_[id];
    neighbor.phase = NeighborPhase::failed;
    neighbor.phase_since = context.tick;
    while (rte_mbuf* frame = take_waiting(neighbor))
        refuse(context, frame);
}

/// Drops a packet whose neighbour does not answer, and tells its sender.
void Resolver::refuse(Context& context, rte_mbuf* frame) noexcept {
    const packet::Metadata& meta = packet::metadata(frame);
    const RouterInterface* in = context.tables.interface(meta.ingress_interface);
    if (in != nullptr && in->bridge == meta.scope && !meta.originated) {
        send_icmp_error(context, *in, frame, IcmpReason::host_unreachable);
    }
    drop(context, meta.ingress_port, DropReason::neighbor_unreachable, frame);
}

// ---- Learning

bool Resolver::is_permanent(const Context& context, AdjacencyId id) const noexcept {
    return (context.tables.neighbors.at(id).link.load(std::memory_order_relaxed) &
            Adjacency::kPermanent) != 0;
}

void Resolver::confirm(Context& context, AdjacencyId id, const net::MacAddress& mac,
                       bool solicited) noexcept {
    Neighbor& neighbor = neighbors_[id];
    if (is_permanent(context, id)) return;
    Adjacency& adjacency = context.tables.neighbors.at(id);
    const bool changed = adjacency.link.load(std::memory_order_relaxed) == 0 || neighbor.mac != mac;
    if (!solicited && !changed) return;
    neighbor.mac = mac;
    neighbor.phase = solicited ? NeighborPhase::reachable : NeighborPhase::stale;
    neighbor.phase_since = context.tick;
    neighbor.probes = 0;
    adjacency.link.store(Adjacency::link_to(mac), std::memory_order_release);
    flush_waiting(context, id);
}

void Resolver::learn(Context& context, const RouterInterface& in, const net::IpAddress& address,
                     const net::MacAddress& mac, bool create, bool solicited) noexcept {
    const bool host =
        address.is_v4() ? in.may_be_host(*address.v4()) : in.may_be_host(*address.v6());
    if (!host) return;
    const NeighborKey key(in.bridge, address);
    const AdjacencyId id = create ? find_or_add(context, key) : context.tables.neighbors.find(key);
    if (id == kNoAdjacency) return;
    if (neighbors_[id].interface == forwarding::kNoInterface) neighbors_[id].interface = in.id;
    confirm(context, id, mac, solicited);
}

// ---- Time

void Resolver::tick(Context& context) noexcept {
    if (context.now < next_tick_) return;
    next_tick_ = live_.empty() ? UINT64_MAX : context.now + milliseconds(kHousekeepingMs);
    // Backwards, as retire() puts the last one in the place of the one it takes out.
    for (size_t i = live_.size(); i-- > 0;)
        check(context, live_[i]);
    next_tick_ = std::min(next_tick_, announcer_.tick(context));
}

void Resolver::check(Context& context, AdjacencyId id) noexcept {
    Neighbor& neighbor = neighbors_[id];
    if (is_permanent(context, id)) return;
    Adjacency& adjacency = context.tables.neighbors.at(id);
    const uint32_t used = adjacency.used.load(std::memory_order_relaxed);
    const uint32_t age = context.tick - neighbor.phase_since;
    switch (neighbor.phase) {
        case NeighborPhase::unknown:
            if (neighbor.pins == 0) retire(context, id);
            return;
        case NeighborPhase::incomplete:
            if (context.now < neighbor.deadline) break;
            if (neighbor.probes < kMaxMulticastSolicit) {
                ask(context, id, false);
            } else {
                fail(context, id);
            }
            break;
        case NeighborPhase::reachable:
            if (age < kReachableSeconds) return;
            neighbor.phase = NeighborPhase::stale;
            // Used lately: whoever uses it shall not notice if the neighbour has gone.
            if (used + kReachableSeconds >= context.tick) probe(context, id);
            return;
        case NeighborPhase::stale:
            if (used > neighbor.phase_since) {
                probe(context, id);
            } else if (neighbor.pins == 0 && age > kStaleSeconds) {
                retire(context, id);
            }
            return;
        case NeighborPhase::probe:
            if (context.now < neighbor.deadline) break;
            if (neighbor.probes < kMaxUnicastSolicit) {
                ask(context, id, true);
                break;
            }
            // Perhaps somebody else has the address now: ask everybody.
            adjacency.link.store(0, std::memory_order_release);
            neighbor.phase = NeighborPhase::incomplete;
            neighbor.probes = 0;
            ask(context, id, false);
            break;
        case NeighborPhase::failed:
            if (neighbor.pins == 0 && age > kFailedSeconds) retire(context, id);
            return;
    }
    if (neighbor.phase == NeighborPhase::incomplete || neighbor.phase == NeighborPhase::probe) {
        next_tick_ = std::min(next_tick_, neighbor.deadline);
    }
}

void Resolver::probe(Context& context, AdjacencyId id) noexcept {
    Neighbor& neighbor = neighbors_[id];
    neighbor.phase = NeighborPhase::probe;
    neighbor.phase_since = context.tick;
    neighbor.probes = 0;
    ask(context, id, true);
}

void Resolver::retire(Context& context, AdjacencyId id) noexcept {
    fail(context, id);  // nothing may be left waiting
    --of_bridge_[context.tables.neighbors.at(id).key.bridge];
    context.tables.neighbors.erase(id);
    const uint32_t index = neighbors_[id].index;
    live_[index] = live_.back();
    neighbors_[live_[index]].index = index;
    live_.pop_back();
    neighbors_[id] = Neighbor{};
    retired_.push_back(id);
    retired_count_.store(retired_.size(), std::memory_order_relaxed);
}

// ---- Control's requests

void Resolver::set_permanent(Context& context, const NeighborKey& key, const net::MacAddress& mac,
                             forwarding::BridgePortId bridge_port) noexcept {
    const AdjacencyId id = find_or_add(context, key);
    if (id == kNoAdjacency) return;
    Neighbor& neighbor = neighbors_[id];
    neighbor.mac = mac;
    neighbor.phase = NeighborPhase::reachable;
    Adjacency& adjacency = context.tables.neighbors.at(id);
    adjacency.bridge_port.store(bridge_port, std::memory_order_relaxed);
    adjacency.link.store(Adjacency::link_to(mac) | Adjacency::kPermanent,
                         std::memory_order_release);
    flush_waiting(context, id);
}

void Resolver::clear_permanent(Context& context, const NeighborKey& key) noexcept {
    const AdjacencyId id = context.tables.neighbors.find(key);
    if (id == kNoAdjacency || !is_permanent(context, id)) return;
    Adjacency& adjacency = context.tables.neighbors.at(id);
    adjacency.bridge_port.store(forwarding::kNoBridgePort, std::memory_order_relaxed);
    adjacency.link.store(0, std::memory_order_release);
    neighbors_[id].phase = NeighborPhase::unknown;
    neighbors_[id].phase_since = context.tick;
    if (neighbors_[id].pins == 0) retire(context, id);
}

AdjacencyId Resolver::pin(Context& context, const NeighborKey& key) noexcept {
    const AdjacencyId id = find_or_add(context, key);
    if (id != kNoAdjacency) ++neighbors_[id].pins;
    return id;
}

void Resolver::unpin(AdjacencyId id) noexcept {
    if (neighbors_[id].pins != 0) --neighbors_[id].pins;
}

void Resolver::forget_bridge(Context& context, forwarding::BridgeId bridge) noexcept {
    for (size_t i = live_.size(); i-- > 0;) {
        if (context.tables.neighbors.at(live_[i]).key.bridge == bridge) retire(context, live_[i]);
    }
}

template <typename Verdict>
void Resolver::sift_waiting(Context& context, AdjacencyId id, Verdict verdict) noexcept {
    // All are taken out and those that stay put back, so that they keep their order.
    for (unsigned left = neighbors_[id].waiting; left != 0; --left) {
        rte_mbuf* frame = take_waiting(neighbors_[id]);
        packet::Metadata& meta = packet::metadata(frame);
        if (const std::optional<DropReason> reason = verdict(meta)) {
            drop(context, meta.ingress_port, *reason, frame);
        } else {
            wait(context, id, frame);
        }
    }
}

void Resolver::forget_interface(Context& context, forwarding::InterfaceId interface) noexcept {
    for (const AdjacencyId id : live_) {
        Neighbor& neighbor = neighbors_[id];
        if (neighbor.interface == interface) neighbor.interface = forwarding::kNoInterface;
        sift_waiting(context, id, [&](packet::Metadata& meta) {
            if (meta.ingress_interface == interface) {
                meta.ingress_interface = forwarding::kNoInterface;  // nobody is left to answer
            }
            return meta.egress_interface == interface ? std::optional(DropReason::interface_gone)
                                                      : std::nullopt;
        });
    }
}

void Resolver::forget_port(Context& context, forwarding::PortId port) noexcept {
    for (const AdjacencyId id : live_) {
        sift_waiting(context, id, [&](const packet::Metadata& meta) {
            return meta.ingress_port == port ? std::optional(DropReason::port_gone) : std::nullopt;
        });
    }
}

void Resolver::announce(Context& context, forwarding::InterfaceId interface) noexcept {
    announcer_.add(context, interface);
    next_tick_ = context.now;
}

std::vector<AdjacencyId> Resolver::take_retired() {
    std::vector<AdjacencyId> taken = retired_;
    retired_.clear();
    retired_count_.store(0, std::memory_order_relaxed);
    return taken;
}

void Resolver::release(Context& context, const std::vector<AdjacencyId>& ids) noexcept {
    for (const AdjacencyId id : ids)
        context.tables.neighbors.release(id);
}

void Resolver::for_each(const Context& context,
                        const std::function<void(const View&)>& visit) const {
    for (const AdjacencyId id : live_) {
        const Adjacency& adjacency = context.tables.neighbors.at(id);
        const Neighbor& neighbor = neighbors_[id];
        const uint32_t used = adjacency.used.load(std::memory_order_relaxed);
        visit({adjacency.key, neighbor.mac, neighbor.phase, is_permanent(context, id),
               used == 0 || used > context.tick ? 0 : context.tick - used, neighbor.waiting});
    }
}

}  // namespace heddle::pipeline
