#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::forwarding {

using PortId = uint16_t;
using BridgeId = uint16_t;

/// One membership of a port in a bridge (untagged or under one VLAN tag).
using BridgePortId = uint32_t;

inline constexpr size_t kMaxPorts = 4096;
inline constexpr size_t kMaxBridges = 65536;
inline constexpr size_t kMaxBridgePorts = 1u << 18;
inline constexpr size_t kMaxWorkers = 64;

/// Index 0 of each table stays empty, so that zeroed memory means "none".
inline constexpr PortId kNoPort = 0;
inline constexpr BridgeId kNoBridge = 0;
inline constexpr BridgePortId kNoBridgePort = 0;

}  // namespace heddle::forwarding
