#include <rte_cycles.h>

#include <cstdlib>
#include <memory>

#include "../unit/support/dpdk.h"
#include "../unit/support/frames.h"
#include "net/ethernet.h"
#include "net/neighbor_discovery.h"
#include "pipeline/resolver.h"
#include "pipeline/switching.h"

// Input: records of a byte (bit 0: which of two ports; bits 1 to 3: half seconds that pass before),
// two bytes of length, and a frame. The ports are in a network each, with a router between, so that
// a frame may leave only if the router sends it.

namespace heddle {
namespace {

using forwarding::NextHop;
using packet::Counter;

constexpr net::MacAddress kRouter(2, 0, 0, 0, 0, 0xaa);
constexpr net::MacAddress kHost(2, 0, 0, 0, 0, 9);
constexpr uint16_t kLongest = 2000;

void require(bool condition) {
    if (!condition) std::abort();
}

/// Lets go of what it is to send, once it has looked at it.
class Sink : public port::Port {
 public:
    uint16_t receive(uint16_t, port::IoContext&, std::span<rte_mbuf*>) noexcept override {
        return 0;
    }
    void transmit(port::IoContext& io, std::span<rte_mbuf* const> frames) noexcept override {
        for (rte_mbuf* frame : frames) {
            const net::MacAddress& source =
                rte_pktmbuf_mtod(frame, const net::EthernetHeader*)->source;
            require(source == kRouter || source == kHost);  // the latter: answered for it
            io.counters.tx_frames.add(1);
            rte_pktmbuf_free(frame);
        }
    }
    int wakeup_fd(uint16_t) const noexcept override { return -1; }
    uint16_t queue_count() const noexcept override { return 1; }
    void refresh() noexcept override {}
    std::string down_reason() const override { return {}; }
    port::Result<void> set_mtu(uint16_t) override { return {}; }
    const char* driver() const noexcept override { return "sink"; }
};

/// Two networks, the ports 1 and 2 in them, and a router.
class World {
 public:
    explicit World(const packet::Pools& pools)
        : pools_(pools),
          arena_(pools),
          vrf_(1, tables_.lpm_arena),
          context_(tables_, pools, arena_, 0) {
        context_.resolver = &resolver_;
        context_.now = uint64_t{1} << 40;
        context_.tick = 1000;
        tables_.publish_vrf(1, &vrf_);
        for (const uint16_t id : {1, 2})
            add_network(id);
        tables_.publish_next_hop(9, {NextHop::Kind::blackhole, 0, 0});
        tables_.publish_next_hop(10, {NextHop::Kind::reject, 0, 0});
        vrf_.ipv4.set({{192, 0, 2, 0}, 24}, 9);
        vrf_.ipv4.set({{198, 51, 100, 0}, 24}, 10);
        // A host that is known, so that not all depends on answers to our requests.
        resolver_.set_permanent(context_, {2, net::Ipv4Address(10, 0, 2, 9)}, kHost, 2);
        resolver_.set_permanent(context_, {2, subnet(2, 9)}, kHost, 2);
    }

    void receive(uint16_t port, std::span<const uint8_t> bytes, unsigned half_seconds) {
        context_.now += half_seconds * rte_get_tsc_hz() / 2;
        context_.tick = static_cast<uint32_t>(context_.now / rte_get_tsc_hz());
        resolver_.tick(context_);
        rte_mbuf* frame =
            test::make_frame(pools_, test::Bytes(bytes.begin(), bytes.end())).release();
        tables_.counters(port, 0).rx_frames.add(1);
        pipeline::switch_burst(context_, entries_[port], {&frame, 1});
        context_.egress.flush();
    }

    /// Forgets all that waits, and looks whether every frame is accounted for.
    void finish() {
        for (int i = 0; i < 4; ++i) {  // errors about what waited may wait in turn
            resolver_.forget_bridge(context_, 1);
            resolver_.forget_bridge(context_, 2);
        }
        context_.egress.flush();
        uint64_t in = 0;
        uint64_t out = 0;
        for (const uint16_t port : {0, 1, 2}) {
            const packet::PortCounters& counters = tables_.counters(port, 0);
            in += counters.rx_frames.read() + counters.replicated.read();
            out += counters.tx_frames.read() + counters.consumed.read();
            for (const Counter& drop : counters.drops)
                out += drop.read();
        }
        require(in == out);
    }

 private:
    static net::Ipv6Address subnet(uint8_t number, uint8_t host) {
        return net::Ipv6Address(
            std::array<uint8_t, 16>{0xfd, 0, 0, number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host});
    }

    void add_network(uint16_t id) {
        entries_[id].id = id;
        entries_[id].device = &sinks_[id];
        entries_[id].counters = &tables_.counters(id, 0);
        entries_[id].untagged = id;
        tables_.publish(id, &entries_[id]);
        tables_.publish(forwarding::BridgePortId{id}, forwarding::BridgePort{id, id, 0, false, 0});

        forwarding::RouterInterface& interface = interfaces_[id];
        interface.id = id;
        interface.router = 1;
        interface.bridge = id;
        interface.mtu = id == 1 ? 1500 : 1280;
        interface.mac = kRouter;
        interface.link_local = net::link_local_address(kRouter);
        const auto number = static_cast<uint8_t>(id);
        interface.add_address({{10, 0, number, 1}, 24});
        interface.addresses6 = {{subnet(number, 1), 64}};
        interface.advertises = true;
        tables_.publish_interface(id, &interface);
        tables_.publish_next_hop(id, {NextHop::Kind::attached, id, 0});
        tables_.publish_next_hop(id + 2u, {NextHop::Kind::receive, id, 0});
        vrf_.ipv4.set(interface.addresses4[0].network(), id);
        vrf_.ipv4.set({interface.addresses4[0].address(), 32}, id + 2u);
        vrf_.ipv6.set(interface.addresses6[0].network(), id);
        vrf_.ipv6.set({interface.addresses6[0].address(), 128}, id + 2u);

        forwarding::Bridge& bridge = bridges_[id];
        bridge.id = id;
        bridge.fdb_limit = 1000;
        bridge.flood = {id};
        bridge.routers = {id};
        bridge.router = id;
        bridge.router_mac = kRouter.to_u64();
        bridge.proxy_arp = id == 2;
        tables_.publish(forwarding::BridgeId{id}, &bridge);
        const forwarding::BridgePortId router_port = 100u + id;
        tables_.publish(router_port, forwarding::BridgePort{0, id, 0, false, id});
        tables_.fdb.set_static({id, kRouter.to_u64()}, router_port);
        resolver_.announce(context_, id);
    }

    const packet::Pools& pools_;
    port::ReceiveArena arena_;
    forwarding::Tables tables_{1024};
    forwarding::Vrf vrf_;
    std::array<Sink, 3> sinks_;
    std::array<forwarding::PortEntry, 3> entries_;
    std::array<forwarding::Bridge, 3> bridges_;
    std::array<forwarding::RouterInterface, 3> interfaces_;
    pipeline::Resolver resolver_;
    pipeline::Context context_;
};

const packet::Pools* pools = nullptr;

}  // namespace
}  // namespace heddle

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    heddle::pools = new heddle::packet::Pools(heddle::test::make_pools());
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace heddle;
    const uint32_t before = pools->in_use();
    {
        World world(*pools);
        for (std::span<const uint8_t> rest(data, size); rest.size() > 3;) {
            const size_t length =
                std::min<size_t>((rest[1] << 8 | rest[2]) % kLongest, rest.size() - 3);
            world.receive(static_cast<uint16_t>(1 + (rest[0] & 1)), rest.subspan(3, length),
                          rest[0] >> 1 & 7);
            rest = rest.subspan(3 + length);
        }
        world.finish();
    }
    require(pools->in_use() == before);
    return 0;
}
