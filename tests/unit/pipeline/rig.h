#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "pipeline/switching.h"
#include "support/eal.h"
#include "support/fake_port.h"

namespace heddle::test {

/// Everything between a driver that received a burst and drivers that send: tables that a test
/// fills in by hand, and the pipeline of one worker. Checks at its end that no frame got lost
/// uncounted.
class Rig {
 public:
    explicit Rig(const packet::Pools& pools, size_t fdb_buckets = 1024)
        : tables(fdb_buckets), pools_(pools), arena_(pools), context(tables, pools, arena_, 0) {
        context.now = uint64_t{1} << 40;
        context.tick = 1000;
    }

    ~Rig() { check_identity(); }

    /// rx_frames + replicated = tx_frames + consumed + drops, over all ports; but for frames that
    /// are held back.
    void check_identity(uint64_t held = 0) const {
        uint64_t in = 0;
        uint64_t out = held;
        for (size_t id = 0; id < forwarding::kMaxPorts; ++id) {
            const auto& counters = tables.counters(static_cast<forwarding::PortId>(id), 0);
            in += counters.rx_frames.read() + counters.replicated.read();
            out += counters.tx_frames.read() + counters.consumed.read();
            for (const packet::Counter& drop : counters.drops)
                out += drop.read();
        }
        EXPECT_EQ(in, out) << "frames appeared or vanished uncounted";
    }

    FakePort& add_port(forwarding::PortId id, const port::Capabilities& capabilities = {}) {
        devices_.push_back(std::make_unique<FakePort>(capabilities));
        forwarding::PortEntry& entry = entries_[id];
        entry.id = id;
        entry.device = devices_.back().get();
        entry.counters = &tables.counters(id, 0);
        tables.publish(id, &entry);
        return *devices_.back();
    }
    forwarding::PortEntry& entry(forwarding::PortId id) { return entries_.at(id); }

    static forwarding::Bridge default_settings(uint32_t fdb_limit = 1000) {
        forwarding::Bridge settings;
        settings.fdb_limit = fdb_limit;
        return settings;
    }
    void add_bridge(forwarding::BridgeId id, forwarding::Bridge settings = default_settings()) {
        settings.id = id;
        bridges_[id] = std::move(settings);
        tables.publish(id, &bridges_[id]);
    }
    forwarding::Bridge& bridge(forwarding::BridgeId id) { return bridges_.at(id); }

    /// Makes a port a member of a bridge, untagged or under a tag.
    forwarding::BridgePortId attach(forwarding::PortId port, forwarding::BridgeId bridge,
                                    uint16_t vlan = 0, bool isolated = false) {
        const forwarding::BridgePortId id = ++last_bridge_port_;
        tables.publish(id, forwarding::BridgePort{port, bridge, vlan, isolated});
        bridges_.at(bridge).flood.push_back(id);
        forwarding::PortEntry& entry = entries_.at(port);
        if (vlan == 0) {
            entry.untagged = id;
        } else {
            auto vlans = entry.vlans == nullptr
                             ? std::make_unique<forwarding::VlanMap>()
                             : std::make_unique<forwarding::VlanMap>(*entry.vlans);
            (*vlans)[vlan] = id;
            entry.vlans = std::move(vlans);
        }
        return id;
    }

    /// What a worker does with a burst it received.
    void receive(forwarding::PortId port, std::vector<FramePtr> frames) {
        std::vector<rte_mbuf*> burst;
        for (FramePtr& frame : frames) {
            tables.counters(port, 0).rx_frames.add(1);
            burst.push_back(frame.release());
        }
        pipeline::switch_burst(context, entries_.at(port), burst);
        context.egress.flush();
    }
    void receive(forwarding::PortId port, const Bytes& bytes) {
        std::vector<FramePtr> frames;
        frames.push_back(make_frame(pools_, bytes));
        receive(port, std::move(frames));
    }

    uint64_t drops(forwarding::PortId port, packet::DropReason reason) const {
        return tables.counters(port, 0).drops[static_cast<size_t>(reason)].read();
    }
    uint64_t all_drops() const {
        uint64_t sum = 0;
        for (size_t id = 0; id < forwarding::kMaxPorts; ++id) {
            for (const packet::Counter& drop :
                 tables.counters(static_cast<forwarding::PortId>(id), 0).drops)
                sum += drop.read();
        }
        return sum;
    }

    forwarding::Tables tables;

 private:
    const packet::Pools& pools_;
    port::ReceiveArena arena_;
    std::vector<std::unique_ptr<FakePort>> devices_;
    std::map<forwarding::PortId, forwarding::PortEntry> entries_;
    std::map<forwarding::BridgeId, forwarding::Bridge> bridges_;
    forwarding::BridgePortId last_bridge_port_ = 0;

 public:
    pipeline::Context context;
};

}  // namespace heddle::test
