#pragma once

#include <atomic>
#include <cstring>

#include "forwarding/bridge.h"
#include "forwarding/fdb.h"
#include "forwarding/ids.h"
#include "forwarding/lpm_arena.h"
#include "forwarding/neighbor_table.h"
#include "forwarding/next_hop.h"
#include "forwarding/port_entry.h"
#include "forwarding/rate_limit.h"
#include "forwarding/router_interface.h"
#include "forwarding/vrf.h"
#include "forwarding/zeroed_array.h"

namespace heddle::forwarding {

/// All that the data plane follows. Control stores into it; workers only read (and learn into the
/// FDB).
///
/// Concurrency: a worker may keep what it loads until its next quiescent state. Control unpublishes
/// first, waits for a grace period, frees then. Ids are reused only after one, too.
class Tables {
 public:
    explicit Tables(size_t fdb_buckets = Fdb::kDefaultBuckets)
        : fdb(fdb_buckets),
          ports_(kMaxPorts),
          bridges_(kMaxBridges),
          bridge_ports_(kMaxBridgePorts),
          port_counters_(kMaxPorts),
          storm_limits_(kMaxPorts),
          last_oversize_from_(kMaxPorts),
          bridge_counters_(kMaxBridges),
          icmp_limits_(kMaxPorts),
          resolver_limits_(kMaxPorts),
          vrfs_(kMaxRouters),
          interfaces_(kMaxInterfaces),
          next_hops_(kMaxNextHops),
          groups_(kMaxNextHopGroups) {}

    const PortEntry* port(PortId id) const noexcept {
        return ports_[id].load(std::memory_order_acquire);
    }
    const Bridge* bridge(BridgeId id) const noexcept {
        return bridges_[id].load(std::memory_order_acquire);
    }
    BridgePort bridge_port(BridgePortId id) const noexcept {
        return BridgePort::unpack(bridge_ports_[id].load(std::memory_order_relaxed));
    }
    packet::PortCounters& counters(PortId id, unsigned worker) noexcept {
        return port_counters_[id].of_worker[worker];
    }
    const packet::PortCounters& counters(PortId id, unsigned worker) const noexcept {
        return port_counters_[id].of_worker[worker];
    }
    BridgeCounters& bridge_counters(BridgeId id) noexcept { return bridge_counters_[id]; }
    const BridgeCounters& bridge_counters(BridgeId id) const noexcept {
        return bridge_counters_[id];
    }
    /// The ingress port of the last frame dropped because it exceeded the MTU of port `id`: what an
    /// operator needs to know to find the mismatch.
    std::atomic<PortId>& last_oversize_from(PortId id) noexcept { return last_oversize_from_[id]; }
    RateLimit& storm_limit(PortId id) noexcept { return storm_limits_[id]; }

    /// Errors that may be sent on account of frames of a port.
    RateLimit& icmp_limit(PortId id) noexcept { return icmp_limits_[id]; }
    /// Frames of a port that the resolver may be asked to look at.
    RateLimit& resolver_limit(PortId id) noexcept { return resolver_limits_[id]; }

    const Vrf* vrf(RouterId id) const noexcept { return vrfs_[id].load(std::memory_order_acquire); }
    const RouterInterface* interface(InterfaceId id) const noexcept {
        return interfaces_[id].load(std::memory_order_acquire);
    }
    NextHop next_hop(NextHopId id) const noexcept {
        return NextHop::unpack(next_hops_[id].load(std::memory_order_relaxed));
    }
    const NextHopGroup* group(uint32_t id) const noexcept {
        return groups_[id].load(std::memory_order_acquire);
    }

    // ---- Control thread; the caller keeps what it publishes alive for a grace period longer
    // --------

    void publish(PortId id, const PortEntry* entry) noexcept {
        ports_[id].store(entry, std::memory_order_release);
    }
    void publish(BridgeId id, const Bridge* bridge) noexcept {
        bridges_[id].store(bridge, std::memory_order_release);
    }
    void publish(BridgePortId id, const BridgePort& bridge_port) noexcept {
        bridge_ports_[id].store(bridge_port.pack(), std::memory_order_relaxed);
    }

    void publish_vrf(RouterId id, const Vrf* vrf) noexcept {
        vrfs_[id].store(vrf, std::memory_order_release);
    }
    void publish_interface(InterfaceId id, const RouterInterface* interface) noexcept {
        interfaces_[id].store(interface, std::memory_order_release);
    }
    void publish_next_hop(NextHopId id, const NextHop& next_hop) noexcept {
        next_hops_[id].store(next_hop.pack(), std::memory_order_relaxed);
    }
    void publish_group(uint32_t id, const NextHopGroup* group) noexcept {
        groups_[id].store(group, std::memory_order_release);
    }

    /// Begin anew with the next owner of the id. No worker may be using it.
    void reset_port_counters(PortId id) noexcept {
        std::memset(static_cast<void*>(&port_counters_[id]), 0, sizeof(WorkersCounters));
    }
    void reset_counters(BridgeId id) noexcept {
        std::memset(static_cast<void*>(&bridge_counters_[id]), 0, sizeof(BridgeCounters));
    }

    Fdb fdb;
    LpmArena lpm_arena;  ///< of all VRFs
    NeighborTable neighbors;

 private:
    struct WorkersCounters {
        packet::PortCounters of_worker[kMaxWorkers];
    };

    ZeroedArray<std::atomic<const PortEntry*>> ports_;
    ZeroedArray<std::atomic<const Bridge*>> bridges_;
    ZeroedArray<std::atomic<uint64_t>> bridge_ports_;
    ZeroedArray<WorkersCounters> port_counters_;
    ZeroedArray<RateLimit> storm_limits_;
    ZeroedArray<std::atomic<PortId>> last_oversize_from_;
    ZeroedArray<BridgeCounters> bridge_counters_;
    ZeroedArray<RateLimit> icmp_limits_;
    ZeroedArray<RateLimit> resolver_limits_;
    ZeroedArray<std::atomic<const Vrf*>> vrfs_;
    ZeroedArray<std::atomic<const RouterInterface*>> interfaces_;
    ZeroedArray<std::atomic<uint64_t>> next_hops_;
    ZeroedArray<std::atomic<const NextHopGroup*>> groups_;
};

}  // namespace heddle::forwarding
