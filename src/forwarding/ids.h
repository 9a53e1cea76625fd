#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::forwarding {

using PortId = uint16_t;
using BridgeId = uint16_t;

/// One membership of a port in a bridge (untagged or under one VLAN tag).
using BridgePortId = uint32_t;

/// A VRF.
using RouterId = uint16_t;
/// An interface of a router on a bridge.
using InterfaceId = uint16_t;
/// A neighbour on a bridge.
using AdjacencyId = uint32_t;
/// What a route leads to.
using NextHopId = uint32_t;

inline constexpr size_t kMaxPorts = 4096;
inline constexpr size_t kMaxBridges = 65536;
inline constexpr size_t kMaxBridgePorts = 1u << 18;
inline constexpr size_t kMaxWorkers = 64;
inline constexpr size_t kMaxRouters = 16384;
inline constexpr size_t kMaxInterfaces = 65536;
inline constexpr size_t kMaxAdjacencies = 1u << 16;
inline constexpr size_t kMaxNextHops = 1u << 20;
inline constexpr size_t kMaxNextHopGroups = 65536;

/// Index 0 of each table stays empty, so that zeroed memory means "none".
inline constexpr PortId kNoPort = 0;
inline constexpr BridgeId kNoBridge = 0;
inline constexpr BridgePortId kNoBridgePort = 0;
inline constexpr RouterId kNoRouter = 0;
inline constexpr InterfaceId kNoInterface = 0;
inline constexpr AdjacencyId kNoAdjacency = 0;
inline constexpr NextHopId kNoNextHop = 0;

}  // namespace heddle::forwarding
