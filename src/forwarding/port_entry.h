#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "forwarding/ids.h"
#include "packet/counters.h"

namespace heddle::port {
class Port;
}

namespace heddle::forwarding {

/// The bridge port of each VLAN id of a trunk.
using VlanMap = std::array<BridgePortId, 4096>;

/// What a worker needs of a port. Immutable but for what it points to: control publishes a new one
/// for every change and frees the old one after a grace period.
struct PortEntry {
    PortId id = kNoPort;
    uint16_t mtu = 1500;
    port::Port* device = nullptr;              ///< nullptr while the device is missing
    packet::PortCounters* counters = nullptr;  ///< one per worker
    BridgePortId untagged = kNoBridgePort;     ///< access network or native VLAN
    std::unique_ptr<const VlanMap> vlans;      ///< only a trunk has one
};

}  // namespace heddle::forwarding
