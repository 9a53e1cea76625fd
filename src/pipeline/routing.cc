#include "pipeline/routing.h"

#include <algorithm>

#include "net/checksum.h"
#include "net/ethernet.h"
#include "net/flow_hash.h"
#include "packet/fragment.h"
#include "packet/frame.h"
#include "packet/segment.h"
#include "pipeline/bridge_output.h"
#include "pipeline/icmp_output.h"
#include "pipeline/ip_checks.h"
#include "pipeline/punt.h"

namespace heddle::pipeline {
namespace {

using forwarding::AdjacencyId;
using forwarding::Fdb;
using forwarding::NeighborKey;
using forwarding::NextHop;
using forwarding::NextHopId;
using forwarding::RouterInterface;
using packet::DropReason;
using packet::Metadata;

/// What the families do differently.
struct Ipv4 {
    using Address = net::Ipv4Address;
    using Header = net::Ipv4Header;
    static Header* header(rte_mbuf* frame) noexcept { return ipv4_header(frame); }
    static auto check(rte_mbuf* frame, const RouterInterface& in) noexcept {
        return check_ipv4(frame, in);
    }
    static const auto& table(const forwarding::Vrf& vrf) noexcept { return vrf.ipv4; }
    static uint8_t ttl(const Header& header) noexcept { return header.ttl; }
    static void decrement_ttl(Header& header) noexcept {
        // TTL is the upper byte of its word: RFC 1141, as ip_decrease_ttl() of the kernel does it.
        --header.ttl;
        const uint32_t sum =
            uint32_t{header.checksum.memory_order()} + net::be16_t(0x0100).memory_order();
        header.checksum =
            net::be16_t::from_memory_order(static_cast<uint16_t>(sum + (sum >= 0xffff ? 1 : 0)));
    }
    static uint32_t length(const Header& header) noexcept { return header.total_length.value(); }
};

struct Ipv6 {
    using Address = net::Ipv6Address;
    using Header = net::Ipv6Header;
    static Header* header(rte_mbuf* frame) noexcept { return ipv6_header(frame); }
    static auto check(rte_mbuf* frame, const RouterInterface& in) noexcept {
        return check_ipv6(frame, in);
    }
    static const auto& table(const forwarding::Vrf& vrf) noexcept { return vrf.ipv6; }
    static uint8_t ttl(const Header& header) noexcept { return header.hop_limit; }
    static void decrement_ttl(Header& header) noexcept { --header.hop_limit; }
    static uint32_t length(const Header& header) noexcept {
        return sizeof(Header) + header.payload_length.value();
    }
};

uint32_t flow_hash_of(rte_mbuf* frame) noexcept {
    Metadata& meta = packet::metadata(frame);
    if (!meta.has_hash) {
        const std::span<const std::byte> head = packet::first_segment(std::as_const(frame));
        meta.flow_hash = net::flow_hash(head, net::parse_frame(head, frame->pkt_len));
        meta.has_hash = true;
    }
    return meta.flow_hash;
}

/// Answers the sender with an error and drops the packet. A packet of our own is only dropped.
void refuse(Context& context, const RouterInterface* in, rte_mbuf* frame, DropReason drop_reason,
            IcmpReason icmp_reason, uint32_t mtu = 0) noexcept {
    if (in != nullptr && !packet::metadata(frame).originated) {
        send_icmp_error(context, *in, frame, icmp_reason, mtu);
    }
    drop(context, packet::metadata(frame).ingress_port, drop_reason, frame);
}

/// The interface a packet came to; nullptr for our own, or if it was removed meanwhile.
const RouterInterface* ingress_interface(const Context& context, const rte_mbuf* frame) noexcept {
    const Metadata& meta = packet::metadata(frame);
    return meta.originated ? nullptr : context.tables.interface(meta.ingress_interface);
}

// ---- The way to a neighbour

/// Bytes of the longest L3 packet that the frame is on the wire.
template <typename Ip>
uint32_t wire_length(rte_mbuf* frame) noexcept {
    const bool superframe = packet::metadata(frame).gso != packet::Gso::none;
    return superframe ? packet::longest_segment(frame) : Ip::length(*Ip::header(frame));
}

void set_addresses(rte_mbuf* frame, const net::MacAddress& source,
                   const net::MacAddress& destination) noexcept {
    auto* header = rte_pktmbuf_mtod(frame, net::EthernetHeader*);
    header->source = source;
    header->destination = destination;
}

/// A resolved neighbour, with the lookup of where it is on its bridge.
struct Way {
    const RouterInterface* out;
    uint64_t link;                   ///< Adjacency::link
    forwarding::BridgePortId known;  ///< of a host of the port table; else the FDB is asked:
    uint64_t hash;
    Fdb::Key key;
};

/// Fills in a way where it is to lie: returned by value it would be copied in pieces that the
/// processor cannot forward from its store buffer (measured: 28 cycles).
inline void set_way(Context& context, const RouterInterface& out,
                    const forwarding::Adjacency& adjacency, uint64_t link, Way& way) noexcept {
    way.out = &out;
    way.link = link;
    way.known = adjacency.bridge_port.load(std::memory_order_relaxed);
    if (way.known == forwarding::kNoBridgePort) {
        way.key = Fdb::Key(out.bridge, forwarding::Adjacency::mac_of(link).to_u64());
        way.hash = context.tables.fdb.hash(way.key);
        context.tables.fdb.prefetch(way.hash);
    }
}

/// Where on the bridge the neighbour is; `bridge` is that of another or none if nobody knows.
inline forwarding::BridgePort find_on_bridge(const Context& context, const Way& way) noexcept {
    const forwarding::BridgePortId id =
        way.known != forwarding::kNoBridgePort
            ? way.known
            : context.tables.fdb.find(way.key, way.hash).bridge_port;
    return context.tables.bridge_port(id);
}

/// To another router of the network, or to nobody in particular.
void into_bridge_slowly(Context& context, forwarding::BridgeId bridge_id,
                        const forwarding::BridgePort& to, rte_mbuf* frame) noexcept {
    if (to.bridge == bridge_id && to.interface != forwarding::kNoInterface) {
        RouteBatch other(context);
        packet::metadata(frame).originated = false;
        other.add(to.interface, frame,
                  rte_pktmbuf_mtod(frame, net::EthernetHeader*)->ethertype.value());
        return other.flush();
    }
    const forwarding::Bridge* bridge = context.tables.bridge(bridge_id);
    if (bridge == nullptr) {
        drop(context, packet::metadata(frame).ingress_port, DropReason::interface_gone, frame);
        return;
    }
    flood(context, *bridge, forwarding::kNoBridgePort, frame);
}

inline void into_bridge(Context& context, forwarding::BridgeId bridge_id,
                        const forwarding::BridgePort& to, rte_mbuf* frame) noexcept {
    if (to.bridge == bridge_id && to.port != forwarding::kNoPort) [[likely]] {
        send(context, to, frame);
    } else {
        into_bridge_slowly(context, bridge_id, to, frame);
    }
}

/// Cuts a packet that is too long into fragments and sends them. Takes ownership.
void send_fragments(Context& context, const RouterInterface& out, forwarding::BridgePort to,
                    uint32_t mtu, rte_mbuf* frame) noexcept {
    const forwarding::PortId ingress = packet::metadata(frame).ingress_port;
    packet::PortCounters& counters = context.tables.counters(ingress, context.worker);
    std::array<rte_mbuf*, packet::kMaxSegments>& segments = context.scratch->segments;
    size_t segment_count = 1;
    segments[0] = frame;
    if (packet::metadata(frame).gso != packet::Gso::none) {
        const auto count = packet::segment(frame, context.pools, true, segments);
        if (!count) return counters.drop(count.error());
        segment_count = *count;
        counters.replicated.add(segment_count - 1);
    }
    for (size_t i = 0; i < segment_count; ++i) {
        Metadata& meta = packet::metadata(segments[i]);
        if (!meta.parsed) packet::set_headers(meta, packet::parse_headers(segments[i]));
        auto& fragments = context.scratch->fragments;
        const auto count =
            packet::fragment(segments[i], static_cast<uint16_t>(mtu), context.pools, fragments);
        if (!count) {
            counters.drop(count.error());
            continue;
        }
        counters.replicated.add(*count - 1);
        for (size_t k = 0; k < *count; ++k)
            into_bridge(context, out.bridge, to, fragments[k]);
    }
}

template <typename Ip>
inline void output(Context& context, const Way& way, rte_mbuf* frame) noexcept {
    const RouterInterface& out = *way.out;
    const forwarding::BridgePort to = find_on_bridge(context, way);
    uint32_t mtu = out.mtu;
    if (const forwarding::PortEntry* port = context.tables.port(to.port)) {
        mtu = std::min<uint32_t>(mtu, port->mtu);
    }
    // Another router of the network is no wire away. It decides; and the scratch that holds
    // fragments is used by one router at a time.
    const bool fits = wire_length<Ip>(frame) <= mtu || to.interface != forwarding::kNoInterface;
    if (!fits) [[unlikely]] {
        bool fragments = false;
        if constexpr (std::is_same_v<Ip, Ipv4>) fragments = !ipv4_header(frame)->dont_fragment();
        if (!fragments) {
            refuse(context, ingress_interface(context, frame), frame, DropReason::packet_too_big,
                   IcmpReason::packet_too_big, mtu);
            return;
        }
    }
    if (!packet::metadata(frame).originated) Ip::decrement_ttl(*Ip::header(frame));
    set_addresses(frame, out.mac, forwarding::Adjacency::mac_of(way.link));
    if (fits) [[likely]] {
        into_bridge(context, out.bridge, to, frame);
    } else {
        send_fragments(context, out, to, mtu, frame);
    }
}

/// Notes that the neighbour is in use, which keeps it confirmed.
void touch(forwarding::Adjacency& adjacency, Fdb::Tick now) noexcept {
    if (adjacency.used.load(std::memory_order_relaxed) != now) {
        adjacency.used.store(now, std::memory_order_relaxed);
    }
}

void wait_for_neighbor(Context& context, const RouterInterface& out, AdjacencyId adjacency,
                       rte_mbuf* frame) noexcept {
    Metadata& meta = packet::metadata(frame);
    // An entry that nothing pins may be gone when the resolver sees the packet: it looks for
    // itself.
    if (context.tables.neighbors.at(adjacency).key == destination_on(out.bridge, frame)) {
        adjacency = forwarding::kNoAdjacency;
    }
    if (adjacency == forwarding::kNoAdjacency && is_ipv4(frame) &&
        is_broadcast_of(out, ipv4_header(frame)->destination)) {  // RFC 2644
        drop(context, meta.ingress_port, DropReason::martian, frame);
        return;
    }
    if (!meta.originated && !context.tables.resolver_limit(meta.ingress_port).admit(context.now)) {
        drop(context, meta.ingress_port, DropReason::neighbor_limit, frame);
        return;
    }
    meta.punt = packet::Punt::unresolved;
    meta.egress_interface = out.id;
    meta.egress_scope = out.bridge;
    meta.adjacency = adjacency;
    punt(context, frame);
}

template <typename Ip>
void send_single(Context& context, const RouterInterface& out, AdjacencyId id,
                 rte_mbuf* frame) noexcept {
    forwarding::Adjacency& adjacency = context.tables.neighbors.at(id);
    const uint64_t link =
        id == forwarding::kNoAdjacency ? 0 : adjacency.link.load(std::memory_order_acquire);
    if (link == 0) return wait_for_neighbor(context, out, id, frame);
    touch(adjacency, context.tick);
    Way way;
    set_way(context, out, adjacency, link, way);
    output<Ip>(context, way, frame);
}

// ---- From route to neighbour

/// Where a packet goes: a neighbour, unless it has been dealt with (`out` is then nullptr).
struct Target {
    const RouterInterface* out = nullptr;
    AdjacencyId adjacency = forwarding::kNoAdjacency;
};

/// Follows a next hop to a neighbour. Deals with everything else and answers nullptr.
template <typename Ip>
Target resolve(Context& context, const RouterInterface* in, rte_mbuf* frame, NextHop hop) noexcept {
    const forwarding::Tables& tables = context.tables;
    const typename Ip::Address destination = Ip::header(frame)->destination;
    Metadata& meta = packet::metadata(frame);
    for (unsigned passed = 0; passed < forwarding::kMaxRouterHops;) {
        const bool local = hop.kind == NextHop::Kind::receive;
        if (!local && !meta.originated && Ip::ttl(*Ip::header(frame)) <= 1) {
            refuse(context, in, frame, DropReason::ttl_exceeded, IcmpReason::ttl_exceeded);
            return {};
        }
        switch (hop.kind) {
            case NextHop::Kind::adjacency:
            case NextHop::Kind::attached: {
                const RouterInterface* out = tables.interface(hop.interface);
                if (out == nullptr) {
                    drop(context, meta.ingress_port, DropReason::interface_gone, frame);
                    return {};
                }
                if (hop.kind == NextHop::Kind::adjacency) return {out, hop.index};
                return {out, tables.neighbors.find(NeighborKey(out->bridge, destination))};
            }
            case NextHop::Kind::receive:
                if (in == nullptr) {
                    drop(context, meta.ingress_port, DropReason::no_such_service, frame);
                } else {
                    deliver_local(context, *in, frame);
                }
                return {};
            case NextHop::Kind::group: {
                const forwarding::NextHopGroup* group = tables.group(hop.index);
                hop =
                    group == nullptr ? NextHop{} : tables.next_hop(group->of(flow_hash_of(frame)));
                if (hop.kind == NextHop::Kind::group) hop = {};
                continue;
            }
            case NextHop::Kind::router: {
                const forwarding::Vrf* vrf =
                    tables.vrf(static_cast<forwarding::RouterId>(hop.index));
                hop = vrf == nullptr ? NextHop{}
                                     : tables.next_hop(Ip::table(*vrf).lookup(destination));
                ++passed;
                continue;
            }
            case NextHop::Kind::blackhole:
                drop(context, meta.ingress_port, DropReason::blackhole, frame);
                return {};
            case NextHop::Kind::reject:
                refuse(context, in, frame, DropReason::rejected, IcmpReason::rejected);
                return {};
            case NextHop::Kind::none:
                refuse(context, in, frame, DropReason::no_route, IcmpReason::no_route);
                return {};
        }
    }
    drop(context, meta.ingress_port, DropReason::router_loop, frame);
    return {};
}

/// RFC 3704: whether a packet from `source` may come in by `in`.
template <typename Ip>
bool passes_reverse_path(const forwarding::Tables& tables, const forwarding::Vrf& vrf,
                         const RouterInterface& in, const typename Ip::Address& source) noexcept {
    const auto longest = Ip::table(vrf).longest(source);
    if (!longest) return false;
    NextHop hop = tables.next_hop(longest->second);
    if (in.reverse_path == forwarding::ReversePath::loose) {
        return longest->first != 0 && hop.kind != NextHop::Kind::blackhole &&
               hop.kind != NextHop::Kind::reject && hop.kind != NextHop::Kind::receive;
    }
    const auto leads_back = [&](const NextHop& way) {
        return (way.kind == NextHop::Kind::adjacency || way.kind == NextHop::Kind::attached) &&
               way.interface == in.id;
    };
    if (hop.kind != NextHop::Kind::group) return leads_back(hop);
    const forwarding::NextHopGroup* group = tables.group(hop.index);
    return group != nullptr &&
           std::any_of(group->buckets.begin(), group->buckets.end(),
                       [&](NextHopId id) { return leads_back(tables.next_hop(id)); });
}

/// Routes packets of one family that came to one interface.
template <typename Ip>
void route_run(Context& context, const RouterInterface& in,
               std::span<rte_mbuf* const> arrived) noexcept {
    const forwarding::Vrf* vrf = context.tables.vrf(in.router);
    std::array<rte_mbuf*, port::kBurst> frames;
    std::array<typename Ip::Address, port::kBurst> destinations;
    size_t count = 0;
    for (rte_mbuf* frame : arrived) {
        std::optional<DropReason> reason = Ip::check(frame, in);
        if (!reason && vrf == nullptr) reason = DropReason::interface_gone;
        if (!reason && in.reverse_path != forwarding::ReversePath::off &&
            !passes_reverse_path<Ip>(context.tables, *vrf, in, Ip::header(frame)->source)) {
            reason = DropReason::reverse_path;
        }
        if (reason) [[unlikely]] {
            // IPv4 has no error for it, and a link-local sender no route back.
            if (std::is_same_v<Ip, Ipv6> && *reason == DropReason::beyond_scope) {
                send_icmp_error(context, in, frame, IcmpReason::beyond_scope);
            }
            drop(context, packet::metadata(frame).ingress_port, *reason, frame);
            continue;
        }
        frames[count] = frame;
        destinations[count++] = Ip::header(frame)->destination;
    }
    if (count == 0) return;

    // Each step for the whole burst, so that one packet's memory is on its way while others are
    // looked at.
    std::array<NextHopId, port::kBurst> hops;
    Ip::table(*vrf).lookup(std::span<const typename Ip::Address>(destinations.data(), count),
                           std::span<NextHopId>(hops.data(), count));
    std::array<Target, port::kBurst> targets{};
    for (size_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<Ip, Ipv6>) {
            if (destinations[i].is_link_local()) {  // our own: check() let no other pass
                deliver_local(context, in, frames[i]);
                continue;
            }
        }
        const NextHop hop = context.tables.next_hop(hops[i]);
        if (hop.kind == NextHop::Kind::adjacency && Ip::ttl(*Ip::header(frames[i])) > 1)
            [[likely]] {
            targets[i] = {context.tables.interface(hop.interface), hop.index};
        }
        if (targets[i].out == nullptr) targets[i] = resolve<Ip>(context, &in, frames[i], hop);
        if (targets[i].out != nullptr) context.tables.neighbors.prefetch(targets[i].adjacency);
    }
    std::array<Way, port::kBurst> ways;
    for (size_t i = 0; i < count; ++i) {
        const Target& target = targets[i];
        ways[i].out = nullptr;
        if (target.out == nullptr) continue;
        forwarding::Adjacency& adjacency = context.tables.neighbors.at(target.adjacency);
        // Adjacency 0 is nobody's and stays empty.
        const uint64_t link = adjacency.link.load(std::memory_order_acquire);
        if (link == 0) [[unlikely]] {
            wait_for_neighbor(context, *target.out, target.adjacency, frames[i]);
            continue;
        }
        touch(adjacency, context.tick);
        set_way(context, *target.out, adjacency, link, ways[i]);
    }
    for (size_t i = 0; i < count; ++i) {
        if (ways[i].out != nullptr) output<Ip>(context, ways[i], frames[i]);
    }
}

template <typename Ip>
void originate(Context& context, const forwarding::Vrf& vrf, rte_mbuf* frame) noexcept {
    const NextHopId id = Ip::table(vrf).lookup(Ip::header(frame)->destination);
    const Target target = resolve<Ip>(context, nullptr, frame, context.tables.next_hop(id));
    if (target.out != nullptr) send_single<Ip>(context, *target.out, target.adjacency, frame);
}

}  // namespace

void RouteBatch::add_other(rte_mbuf* frame, uint16_t ethertype) noexcept {
    if (ethertype == net::ethertype::kArp) {
        punt_neighbor_message(context_, interface_, frame);
        return;
    }
    drop(context_, packet::metadata(frame).ingress_port, DropReason::not_routable, frame);
}

void RouteBatch::flush() noexcept {
    if (ipv4_count_ + ipv6_count_ == 0) return;
    const std::span<rte_mbuf*> ipv4(ipv4_.data(), std::exchange(ipv4_count_, 0));
    const std::span<rte_mbuf*> ipv6(ipv6_.data(), std::exchange(ipv6_count_, 0));
    const RouterInterface* in = context_.tables.interface(interface_);
    if (in == nullptr) {
        for (const std::span<rte_mbuf*> frames : {ipv4, ipv6}) {
            for (rte_mbuf* frame : frames) {
                drop(context_, packet::metadata(frame).ingress_port, DropReason::interface_gone,
                     frame);
            }
        }
        return;
    }
    if (!ipv4.empty()) route_run<Ipv4>(context_, *in, ipv4);
    if (!ipv6.empty()) route_run<Ipv6>(context_, *in, ipv6);
}

void route_originated(Context& context, forwarding::RouterId router, rte_mbuf* frame) noexcept {
    packet::metadata(frame).originated = true;
    const forwarding::Vrf* vrf = context.tables.vrf(router);
    if (vrf == nullptr) {
        drop(context, packet::metadata(frame).ingress_port, DropReason::interface_gone, frame);
    } else if (is_ipv4(frame)) {
        originate<Ipv4>(context, *vrf, frame);
    } else {
        originate<Ipv6>(context, *vrf, frame);
    }
}

void send_to_neighbor(Context& context, const RouterInterface& out, AdjacencyId adjacency,
                      rte_mbuf* frame) noexcept {
    if (is_ipv4(frame)) {
        send_single<Ipv4>(context, out, adjacency, frame);
    } else {
        send_single<Ipv6>(context, out, adjacency, frame);
    }
}

void send_on_bridge(Context& context, forwarding::BridgeId bridge, rte_mbuf* frame) noexcept {
    const auto* header = rte_pktmbuf_mtod(frame, const net::EthernetHeader*);
    forwarding::BridgePort to;
    if (header->destination.is_unicast()) {
        const Fdb::Key key(bridge, header->destination_u64());
        const forwarding::FdbValue found =
            context.tables.fdb.find(key, context.tables.fdb.hash(key));
        if (found.bridge_port != forwarding::kNoBridgePort) {
            to = context.tables.bridge_port(found.bridge_port);
        }
    }
    into_bridge(context, bridge, to, frame);
}

void originate_on_bridge(Context& context, forwarding::BridgeId bridge, rte_mbuf* frame) noexcept {
    context.tables.counters(forwarding::kNoPort, context.worker).replicated.add(1);
    packet::metadata(frame).originated = true;
    send_on_bridge(context, bridge, frame);
}

}  // namespace heddle::pipeline
