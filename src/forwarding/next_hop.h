#pragma once

#include <array>
#include <cstdint>

#include "forwarding/ids.h"

namespace heddle::forwarding {

/// What a route leads to. Packs into one word, which workers read and control replaces atomically.
struct NextHop {
    enum class Kind : uint8_t {
        none,       ///< no route
        adjacency,  ///< the neighbour `index` (AdjacencyId) by way of `interface`
        attached,   ///< the destination itself is a neighbour on the network of `interface`
        receive,    ///< an address of the router's own
        blackhole,
        reject,  ///< dropped, and the sender is told
        group,   ///< one of several: `index` (NextHopGroupId)
        router   ///< looked up again in `index` (RouterId)
    };
    Kind kind = Kind::none;
    InterfaceId interface = kNoInterface;
    uint32_t index = 0;

    uint64_t pack() const noexcept {
        return uint64_t{index} | uint64_t{interface} << 32 |
               uint64_t{static_cast<uint8_t>(kind)} << 48;
    }
    static NextHop unpack(uint64_t word) noexcept {
        return {static_cast<Kind>(word >> 48), static_cast<InterfaceId>(word >> 32),
                static_cast<uint32_t>(word)};
    }
    friend bool operator==(const NextHop&, const NextHop&) = default;
};

/// From router to router, before a packet counts as going round.
inline constexpr unsigned kMaxRouterHops = 8;

/// Several next hops among which flows are shared. A flow keeps its bucket; when a member goes,
/// only its buckets get others (resilient hashing).
struct NextHopGroup {
    static constexpr unsigned kBuckets = 256;
    std::array<NextHopId, kBuckets> buckets{};

    NextHopId of(uint32_t flow_hash) const noexcept { return buckets[flow_hash >> 24]; }
};

}  // namespace heddle::forwarding
