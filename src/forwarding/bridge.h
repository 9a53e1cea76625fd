#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "forwarding/ids.h"

namespace heddle::forwarding {

/// A port's membership in a bridge: where frames of the bridge enter and leave by that port. Or a
/// router's interface on it, which the FDB finds in the same way. It packs into one word, which
/// workers read and control replaces atomically.
struct BridgePort {
    PortId port = kNoPort;
    BridgeId bridge = kNoBridge;
    uint16_t vlan = 0;  ///< tag of its frames on the wire, 12 bits; 0: untagged
    bool isolated = false;
    InterfaceId interface = kNoInterface;  ///< if set, this is a router's, and `port` is kNoPort

    uint64_t pack() const noexcept {
        return uint64_t{port} | uint64_t{bridge} << 16 | uint64_t{vlan} << 32 |
               uint64_t{isolated} << 44 | uint64_t{interface} << 48;
    }
    static BridgePort unpack(uint64_t word) noexcept {
        return {static_cast<PortId>(word), static_cast<BridgeId>(word >> 16),
                static_cast<uint16_t>(word >> 32 & 0xfff), (word >> 44 & 1) != 0,
                static_cast<InterfaceId>(word >> 48)};
    }
};

/// What a worker needs of a bridge. Immutable: control publishes a new one for every change.
struct Bridge {
    BridgeId id = kNoBridge;
    uint32_t fdb_limit = 0;
    bool vlan_transparent = false;
    uint16_t group_forward_mask = 0;
    std::vector<BridgePortId> flood = {};   ///< all its bridge ports
    std::vector<InterfaceId> routers = {};  ///< interfaces of routers on it
    bool proxy_arp = false;
    /// One of the routers and its MAC address, so that frames to it need no lookup; the others have
    /// entries in the FDB, as this one has.
    uint64_t router_mac = 0;  ///< as net::MacAddress::to_u64() gives it; 0: no router
    InterfaceId router = kNoInterface;
};

/// What workers count per bridge, rarely: a new address, a move, a refusal.
struct BridgeCounters {
    std::atomic<uint32_t> learned;  ///< entries in the FDB now, without static ones
    std::atomic<uint64_t> limit_hits;
    std::atomic<uint64_t> moves;

    /// Takes a place for one more learned address, unless there are `limit` already.
    bool reserve(uint32_t limit) noexcept {
        uint32_t present = learned.load(std::memory_order_relaxed);
        while (present < limit) {
            if (learned.compare_exchange_weak(present, present + 1, std::memory_order_relaxed)) {
                return true;
            }
        }
        limit_hits.fetch_add(1, std::memory_order_relaxed);
        return false;
    }

    /// Gives back a place that reserve() took, as the table had none.
    void cancel() noexcept {
        learned.fetch_sub(1, std::memory_order_relaxed);
        limit_hits.fetch_add(1, std::memory_order_relaxed);
    }
};

}  // namespace heddle::forwarding
