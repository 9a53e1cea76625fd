#include <gtest/gtest.h>

#include <random>

#include "bridge_model.h"
#include "net/packet_builder.h"
#include "rig.h"

namespace heddle::test {
namespace {

using forwarding::BridgeId;
using forwarding::BridgePortId;
using forwarding::PortId;
using packet::DropReason;

constexpr uint64_t kCyclesPerFlood = 1000;

/// A random topology, in tables for the pipeline and in maps for the model, and random traffic on
/// it.
class RandomBridge {
 public:
    RandomBridge(const packet::Pools& pools, uint32_t seed)
        : random_(seed), pools_(pools), rig_(pools) {
        const auto networks = static_cast<uint16_t>(1 + below(4));
        for (uint16_t id = 1; id <= networks; ++id) {
            ModelNetwork& network = model_.networks[id];
            network.transparent = below(3) == 0;
            network.group_forward_mask = static_cast<uint16_t>(below(3) == 0 ? random_() : 0);
            network.fdb_limit = static_cast<uint32_t>(below(3) == 0 ? below(6) : 1000);
            rig_.add_bridge(id, {.fdb_limit = network.fdb_limit,
                                 .vlan_transparent = network.transparent,
                                 .group_forward_mask = network.group_forward_mask});
        }
        const auto ports = static_cast<PortId>(2 + below(7));
        for (PortId id = 1; id <= ports; ++id)
            add_port(id);
        for (int i = 0; i < 12; ++i)
            addresses_.push_back(random_address());
    }

    void burst() {
        const PortId ingress = any_port();
        std::vector<FramePtr> frames;
        const size_t count = 1 + below(port::kBurst);
        for (size_t i = 0; i < count; ++i) {
            const Bytes bytes = random_frame(ingress);
            frames.push_back(make_frame(pools_, bytes, random_split(random_, 64, bytes.size())));
            model_.receive(ingress, bytes);
        }
        rig_.receive(ingress, std::move(frames));
        compare();
    }

    void change_something() {
        const PortId id = any_port();
        ModelPort& port = model_.ports[id];
        switch (below(6)) {
            case 0:
                port.up = !port.up;
                devices_[id]->set_up(port.up);
                break;
            case 1:
                port.published = !port.published;
                rig_.tables.publish(id, port.published ? &rig_.entry(id) : nullptr);
                break;
            case 2:
                port.mtu = static_cast<uint32_t>(68 + below(1500));
                rig_.entry(id).mtu = static_cast<uint16_t>(port.mtu);
                break;
            case 3:
                set_storm_limit(id);
                break;
            case 4:
                set_static();
                break;
            case 5:
                forget();
                break;
        }
    }

    uint64_t delivered() const { return delivered_; }
    const std::map<DropReason, uint64_t>& reasons() const { return reasons_; }

 private:
    uint64_t below(uint64_t limit) { return random_() % limit; }
    PortId any_port() { return static_cast<PortId>(1 + below(model_.ports.size())); }
    BridgeId any_network() { return static_cast<BridgeId>(1 + below(model_.networks.size())); }

    void add_port(PortId id) {
        devices_[id] = &rig_.add_port(id);
        model_.ports[id].mtu = 1500;
        const uint64_t kind = below(8);
        if (kind == 0) return;  // attached to nothing
        if (kind <= 5) attach(id, any_network(), 0);
        if (kind >= 4) {
            for (uint16_t vlan = 1; vlan <= 4; ++vlan) {
                if (below(2) == 0) attach(id, any_network(), vlan == 4 ? 4094 : vlan);
            }
        }
        if (below(4) == 0) set_storm_limit(id);
    }

    void attach(PortId port, BridgeId network, uint16_t vlan) {
        const bool isolated = below(3) == 0;
        members_[{network, model_.networks[network].members.size()}] =
            rig_.attach(port, network, vlan, isolated);
        model_.networks[network].members.push_back({port, vlan, isolated});
        if (vlan == 0) {
            model_.ports[port].untagged = network;
        } else {
            model_.ports[port].tagged[vlan] = network;
        }
    }

    void set_storm_limit(PortId id) {
        // Time stands still but for this: every burst is used up once.
        rig_.context.now += kCyclesPerFlood * 1'000'000;
        for (auto& [other, port] : model_.ports) {
            if (port.storm_tokens) port.storm_tokens = bursts_[other];
        }
        const bool limited = below(2) == 0;
        bursts_[id] = static_cast<int64_t>(1 + below(40));
        rig_.tables.storm_limit(id).configure(limited ? kCyclesPerFlood : 0,
                                              static_cast<uint64_t>(bursts_[id]));
        model_.ports[id].storm_tokens =
            limited ? std::optional<int64_t>(bursts_[id]) : std::nullopt;
    }

    forwarding::Fdb::Key key(BridgeId network, const Address& address) {
        return {network, net::MacAddress(address).to_u64()};
    }

    void set_static() {
        const BridgeId id = any_network();
        ModelNetwork& network = model_.networks[id];
        if (network.members.empty()) return;
        const Address& address = addresses_[below(addresses_.size())];
        const size_t member = below(network.members.size());
        const auto replaced = rig_.tables.fdb.set_static(key(id, address), members_[{id, member}]);
        ASSERT_TRUE(replaced.has_value());
        rig_.tables.bridge_counters(id).learned.fetch_sub(*replaced);
        network.fdb[address] = {member, true};
    }

    void forget() {
        const BridgeId id = any_network();
        rig_.tables.fdb.retire_if(
            [&](const forwarding::Fdb::Entry& entry) { return entry.key.bridge() == id; });
        rig_.tables.fdb.release();
        rig_.tables.bridge_counters(id).learned = 0;
        model_.networks[id].fdb.clear();
    }

    Address random_address() {
        Address address;
        for (uint8_t& byte : address)
            byte = static_cast<uint8_t>(random_());
        address[0] &= 0xfe;
        return address;
    }

    Address random_destination() {
        switch (below(12)) {
            case 0:
                return {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
            case 1:
                return {0x01, 0x80, 0xc2, 0, 0, static_cast<uint8_t>(below(18))};
            case 2:
                return {0x33, 0x33, 0, 0, 0, static_cast<uint8_t>(below(256))};
            case 3:
                return random_address();
            default:
                return addresses_[below(addresses_.size())];
        }
    }
    Address random_source() {
        switch (below(40)) {
            case 0:
                return {};
            case 1:
                return {0x01, 0, 0x5e, 1, 2, 3};
            case 2:
                return {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
            default:
                return addresses_[below(addresses_.size())];
        }
    }

    void append_tag(Bytes& bytes, PortId ingress) {
        static constexpr uint16_t kVids[] = {0, 1, 2, 3, 4094, 4095, 5};
        uint16_t vid = kVids[below(std::size(kVids))];
        const auto& carried = model_.ports[ingress].tagged;
        if (!carried.empty() && below(2) == 0)
            vid = std::next(carried.begin(), static_cast<long>(below(carried.size())))->first;
        const uint16_t type = below(6) == 0 ? 0x88a8 : 0x8100;
        const auto tci = static_cast<uint16_t>(below(16) << 12 | vid);
        for (const uint16_t value : {type, tci}) {
            bytes.push_back(static_cast<uint8_t>(value >> 8));
            bytes.push_back(static_cast<uint8_t>(value));
        }
    }

    Bytes random_frame(PortId ingress) {
        const Address destination = random_destination();
        const Address source = random_source();
        Bytes bytes(destination.begin(), destination.end());
        bytes.insert(bytes.end(), source.begin(), source.end());
        if (below(2) == 0) append_tag(bytes, ingress);
        if (below(8) == 0) append_tag(bytes, ingress);
        if (below(30) == 0) append_tag(bytes, ingress);
        if (below(100) == 0) {
            for (int i = 0; i < 200; ++i)
                append_tag(bytes, ingress);
        }
        bytes.insert(bytes.end(), {0x08, 0x00});
        const Bytes payload = random_bytes(random_, below(4) == 0 ? below(1600) : below(60));
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        if (below(30) == 0) bytes.resize(below(20));
        return bytes;
    }

    void compare() {
        for (auto& [id, port] : model_.ports) {
            FakePort& device = *devices_[id];
            ASSERT_TRUE(device.sane);
            ASSERT_EQ(device.sent.size(), port.sent.size()) << "frames sent by port " << id;
            for (size_t i = 0; i < port.sent.size(); ++i) {
                ASSERT_EQ(device.sent[i].bytes, port.sent[i])
                    << "frame " << i << " sent by port " << id;
            }
            delivered_ += port.sent.size();
            device.sent.clear();
            port.sent.clear();
            for (size_t i = 0; i < packet::kDropReasonCount; ++i) {
                const auto reason = static_cast<DropReason>(i);
                ASSERT_EQ(rig_.drops(id, reason), port.drops[reason])
                    << packet::name(reason) << " on port " << id;
                reasons_[reason] = std::max(reasons_[reason], port.drops[reason]);
            }
        }
        for (auto& [id, network] : model_.networks) {
            ASSERT_EQ(rig_.tables.bridge_counters(id).learned, network.learned())
                << "addresses learned in network " << id;
        }
        rig_.check_identity();
    }

    std::mt19937 random_;
    const packet::Pools& pools_;
    Rig rig_;
    BridgeModel model_;
    std::map<PortId, FakePort*> devices_;
    std::map<std::pair<BridgeId, size_t>, BridgePortId> members_;
    std::map<PortId, int64_t> bursts_;
    std::vector<Address> addresses_;
    uint64_t delivered_ = 0;
    std::map<DropReason, uint64_t> reasons_;
};

class SwitchingProperty : public PoolTest {};

TEST_F(SwitchingProperty, RandomTopologiesAndFramesAreSwitchedAsTheModelSays) {
    uint64_t delivered = 0;
    std::map<DropReason, unsigned> seen;
    for (uint32_t seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomBridge bridge(pools(), seed);
        for (int i = 0; i < 30; ++i) {
            bridge.burst();
            if (HasFatalFailure()) return;
            if (i % 3 == 0) bridge.change_something();
        }
        delivered += bridge.delivered();
        for (const auto& [reason, count] : bridge.reasons())
            seen[reason] += count != 0;
    }
    // The property is worth what the random walk visits.
    EXPECT_GT(delivered, 50'000u);
    for (const DropReason reason :
         {DropReason::rx_runt, DropReason::bad_source_mac, DropReason::port_not_attached,
          DropReason::vlan_not_allowed, DropReason::bad_vlan_tag, DropReason::link_local_group,
          DropReason::no_destination, DropReason::same_port, DropReason::port_isolated,
          DropReason::storm_limit, DropReason::port_gone, DropReason::port_down,
          DropReason::tx_mtu}) {
        EXPECT_GE(seen[reason], 5u) << packet::name(reason);
    }
}

}  // namespace
}  // namespace heddle::test
