#pragma once

#include <arpa/inet.h>
#include <rte_cycles.h>

#include <string>

#include "net/neighbor_discovery.h"
#include "pipeline/resolver.h"
#include "rig.h"
#include "service/ip_model.h"

namespace heddle::test {

/// The bytes of an address, read by libc.
inline Bytes ip(const std::string& text) {
    const bool v6 = text.find(':') != text.npos;
    Bytes bytes(v6 ? 16 : 4);
    EXPECT_EQ(inet_pton(v6 ? AF_INET6 : AF_INET, text.c_str(), bytes.data()), 1) << text;
    return bytes;
}

inline net::MacAddress to_mac(const Mac& mac) {
    return net::MacAddress(mac);
}

constexpr Mac kRouter = {2, 0, 0, 0, 0, 0xaa};
constexpr Mac kAnne = {2, 0, 0, 0, 0, 1};  ///< 10.0.1.9 and fd00:1::9 in network 1, at port 1
constexpr Mac kBert = {2, 0, 0, 0, 0, 2};  ///< 10.0.2.9 and fd00:2::9 in network 2, at port 2
constexpr Mac kNobody = {};

/// ARP over Ethernet, RFC 826.
struct Arp {
    uint16_t operation = 1;
    Mac sender_mac = kAnne;
    Bytes sender_ip = {10, 0, 1, 9};
    Mac target_mac = kNobody;
    Bytes target_ip = {10, 0, 1, 1};
    Mac destination = kBroadcastMac;
    Mac source = sender_mac;

    Bytes frame() const {
        Bytes out(destination.begin(), destination.end());
        out.insert(out.end(), source.begin(), source.end());
        append(out, {8, 6, 0, 1, 8, 0, 6, 4, 0, static_cast<uint8_t>(operation)});
        out.insert(out.end(), sender_mac.begin(), sender_mac.end());
        append(out, sender_ip);
        out.insert(out.end(), target_mac.begin(), target_mac.end());
        append(out, target_ip);
        return out;
    }
};

/// A Rig with routers and a resolver. Time stands still but for advance().
class RouterRig : public Rig {
 public:
    explicit RouterRig(const packet::Pools& pools) : Rig(pools) { context.resolver = &resolver; }
    ~RouterRig() {
        // What still waits is dropped and counted, so that the identity can hold. Twice, as the
        // errors that this makes may wait in turn.
        for (forwarding::BridgeId i = 0; i < 18; ++i)
            resolver.forget_bridge(context, static_cast<forwarding::BridgeId>(1 + i % 9));
        context.egress.flush();
    }

    void add_router(forwarding::RouterId id) {
        vrfs_[id] = std::make_unique<forwarding::Vrf>(id, tables.lpm_arena);
        tables.publish_vrf(id, vrfs_[id].get());
    }
    forwarding::Vrf& vrf(forwarding::RouterId id) { return *vrfs_.at(id); }

    /// An interface of a router on a bridge as control makes one, with its routes.
    forwarding::RouterInterface& add_router_interface(forwarding::InterfaceId id,
                                                      forwarding::RouterId router,
                                                      forwarding::BridgeId on, const Mac& mac,
                                                      const std::vector<std::string>& addresses) {
        forwarding::RouterInterface& interface = interfaces_[id];
        interface.id = id;
        interface.router = router;
        interface.bridge = on;
        interface.mac = to_mac(mac);
        interface.link_local = net::link_local_address(interface.mac);
        for (const std::string& text : addresses) {
            if (const auto v4 = net::Ipv4Prefix::parse(text)) {
                interface.add_address(*v4);
            } else {
                interface.addresses6.push_back(net::Ipv6Prefix::parse(text).value());
            }
            const std::string own = text.substr(0, text.find('/'));
            route(router, text, {forwarding::NextHop::Kind::attached, id, 0});
            route(router, own + (own.find(':') != own.npos ? "/128" : "/32"),
                  {forwarding::NextHop::Kind::receive, id, 0});
        }
        tables.publish_interface(id, &interface);
        const forwarding::BridgePortId bridge_port = 1000u + id;
        forwarding::BridgePort entry;
        entry.bridge = on;
        entry.interface = id;
        tables.publish(bridge_port, entry);
        tables.fdb.set_static({on, interface.mac.to_u64()}, bridge_port);
        bridge(on).routers.push_back(id);
        if (bridge(on).router == forwarding::kNoInterface) {
            bridge(on).router = id;
            bridge(on).router_mac = interface.mac.to_u64();
        }
        return interface;
    }
    forwarding::RouterInterface& interface(forwarding::InterfaceId id) {
        return interfaces_.at(id);
    }

    forwarding::NextHopId add_next_hop(const forwarding::NextHop& hop) {
        tables.publish_next_hop(++last_next_hop_, hop);
        return last_next_hop_;
    }
    void route(forwarding::RouterId router, const std::string& prefix,
               const forwarding::NextHop& hop) {
        if (const auto v4 = net::Ipv4Prefix::parse(prefix)) {
            vrf(router).ipv4.set(v4->network(), add_next_hop(hop));
        } else {
            vrf(router).ipv6.set(net::Ipv6Prefix::parse(prefix).value().network(),
                                 add_next_hop(hop));
        }
    }
    /// A next hop to a neighbour, which it pins.
    forwarding::NextHop via(forwarding::InterfaceId interface_id, const std::string& address) {
        return {forwarding::NextHop::Kind::adjacency, interface_id,
                resolver.pin(context, key(interface(interface_id).bridge, address))};
    }

    static forwarding::NeighborKey key(forwarding::BridgeId on, const std::string& address) {
        return {on, net::IpAddress::parse(address).value()};
    }
    /// A host of the port table.
    void know(forwarding::BridgeId on, const std::string& address, const Mac& mac,
              forwarding::BridgePortId at = forwarding::kNoBridgePort) {
        resolver.set_permanent(context, key(on, address), to_mac(mac), at);
    }

    void advance(uint64_t milliseconds) {
        elapsed_ += milliseconds;
        context.now = kBegin + elapsed_ * (rte_get_tsc_hz() / 1000);
        context.tick = static_cast<uint32_t>(1000 + elapsed_ / 1000);
        resolver.tick(context);
        context.egress.flush();
    }

    std::optional<pipeline::Resolver::View> neighbor(forwarding::BridgeId on,
                                                     const std::string& address) const {
        std::optional<pipeline::Resolver::View> found;
        resolver.for_each(context, [&](const pipeline::Resolver::View& view) {
            if (view.key == key(on, address)) found = view;
        });
        return found;
    }

    /// Rig::check_identity() while packets wait for neighbours.
    void check_identity_with_waiting() const {
        uint64_t held = 0;
        resolver.for_each(context, [&](const auto& view) { held += view.waiting; });
        check_identity(held);
    }

    pipeline::Resolver resolver;

 private:
    static constexpr uint64_t kBegin = uint64_t{1} << 40;
    std::map<forwarding::RouterId, std::unique_ptr<forwarding::Vrf>> vrfs_;
    std::map<forwarding::InterfaceId, forwarding::RouterInterface> interfaces_;
    forwarding::NextHopId last_next_hop_ = 0;
    uint64_t elapsed_ = 0;
};

/// Router 1 between networks 1 and 2. Anne is known to be at port 1 and Bert at port 2.
class RoutedNetworks : public PoolTest {
 protected:
    explicit RoutedNetworks(bool known = true)
        : rig(pools()), one(rig.add_port(1)), two(rig.add_port(2)) {
        for (const forwarding::BridgeId id : {1, 2}) {
            rig.add_bridge(id);
            rig.attach(id, id);
        }
        rig.add_router(1);
        rig.add_router_interface(1, 1, 1, kRouter, {"10.0.1.1/24", "fd00:1::1/64"});
        rig.add_router_interface(2, 1, 2, kRouter, {"10.0.2.1/24", "fd00:2::1/64"});
        if (!known) return;
        rig.know(1, "10.0.1.9", kAnne);
        rig.know(1, "fd00:1::9", kAnne);
        rig.know(2, "10.0.2.9", kBert);
        rig.know(2, "fd00:2::9", kBert);
    }

    /// A packet from Anne to Bert, as Anne sends it.
    static IpModel to_bert(bool v6 = false) {
        IpModel model;
        model.v6 = v6;
        model.destination_mac = kRouter;
        model.source_mac = kAnne;
        model.source = ip(v6 ? "fd00:1::9" : "10.0.1.9");
        model.destination = ip(v6 ? "fd00:2::9" : "10.0.2.9");
        model.payload = udp(100);
        return model;
    }
    static IpModel to(const std::string& destination, const std::string& source = {}) {
        IpModel model = to_bert(destination.find(':') != destination.npos);
        model.destination = ip(destination);
        if (!source.empty()) model.source = ip(source);
        return model;
    }
    /// A UDP datagram without checksum whose payload counts upwards.
    static Bytes udp(size_t payload, uint16_t source_port = 1234) {
        Bytes out;
        append16(out, source_port);
        append16(out, 9999);
        append16(out, static_cast<uint32_t>(8 + payload));
        append16(out, 0);
        for (size_t i = 0; i < payload; ++i)
            out.push_back(static_cast<uint8_t>(i));
        return out;
    }
    /// The same packet as the router sends it on.
    static Bytes routed(IpModel model, const Mac& destination = kBert,
                        const Mac& source = kRouter) {
        --model.ttl;
        model.destination_mac = destination;
        model.source_mac = source;
        return model.frame();
    }
    static std::vector<Bytes> bytes_of_sent(const FakePort& port) {
        std::vector<Bytes> result;
        for (const SentFrame& frame : port.sent)
            result.push_back(frame.bytes);
        return result;
    }

    RouterRig rig;
    FakePort& one;
    FakePort& two;
};

/// An ICMP message of either family in an Ethernet frame, its checksums verified.
struct SeenIcmp {
    Mac destination_mac;
    Bytes source;
    Bytes destination;
    uint8_t type;
    uint8_t code;
    uint32_t rest;  ///< the second word: MTU, pointer, identifier
    Bytes data;
};

inline std::optional<SeenIcmp> seen_icmp(const Bytes& frame) {
    const bool v6 = load16(frame, 12) == 0x86dd;
    const size_t l4 = v6 ? 54 : 34;
    if (frame.size() < l4 + 8 || frame[v6 ? 20 : 23] != (v6 ? 58 : 1)) return std::nullopt;
    SeenIcmp seen;
    std::copy_n(frame.begin(), 6, seen.destination_mac.begin());
    seen.source = v6 ? slice(frame, 22, 38) : slice(frame, 26, 30);
    seen.destination = v6 ? slice(frame, 38, 54) : slice(frame, 30, 34);
    seen.type = frame[l4];
    seen.code = frame[l4 + 1];
    seen.rest = static_cast<uint32_t>(load16(frame, l4 + 4)) << 16 | load16(frame, l4 + 6);
    seen.data = slice(frame, l4 + 8);
    Bytes summed = slice(frame, l4);
    const auto length = static_cast<uint32_t>(summed.size());
    if (length % 2 != 0) summed.push_back(0);
    if (v6) {
        append(summed, joined(seen.source, seen.destination));
        append32(summed, length);
        append32(summed, 58);
    } else {
        EXPECT_EQ(naive_sum(slice(frame, 14, 34)), 0xffff) << "IPv4 header checksum";
    }
    EXPECT_EQ(naive_sum(summed), 0xffff) << "ICMP checksum";
    return seen;
}

}  // namespace heddle::test
