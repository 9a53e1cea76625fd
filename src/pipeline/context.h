#pragma once

#include <rte_cycles.h>

#include <array>
#include <cstdint>
#include <memory>

#include "forwarding/tables.h"
#include "packet/fragment.h"
#include "packet/pools.h"
#include "packet/segment.h"
#include "pipeline/egress.h"

namespace heddle::pipeline {

class Resolver;

/// Room for what one frame is cut into.
struct Scratch {
    std::array<rte_mbuf*, packet::kMaxSegments> segments;
    std::array<rte_mbuf*, packet::kMaxFragments> fragments;
};

/// What a worker carries through the pipeline. One per worker, used by it alone.
struct Context {
    Context(forwarding::Tables& all_tables, const packet::Pools& all_pools,
            port::ReceiveArena& worker_arena, uint16_t worker_id)
        : tables(all_tables),
          pools(all_pools),
          worker(worker_id),
          egress(all_tables, all_pools, worker_arena, worker_id) {}

    forwarding::Tables& tables;
    const packet::Pools& pools;
    const uint16_t worker;
    Egress egress;
    /// Only the worker that has the resolver; the others leave in `punted` what is for it.
    Resolver* resolver = nullptr;
    std::array<rte_mbuf*, 2 * port::kBurst> punted;
    size_t punted_count = 0;

    const std::unique_ptr<Scratch> scratch = std::make_unique<Scratch>();
    uint16_t ip_id = 0;              ///< of packets of Heddle's own
    uint64_t now = 0;                ///< TSC when the burst was received
    forwarding::Fdb::Tick tick = 0;  ///< seconds
};

/// TSC cycles of so many milliseconds.
inline uint64_t milliseconds(uint64_t count) noexcept {
    return count * (rte_get_tsc_hz() / 1000);
}

/// Frees a frame and counts why, on one port.
inline void drop(Context& context, forwarding::PortId port, packet::DropReason reason,
                 rte_mbuf* frame) noexcept {
    context.tables.counters(port, context.worker).drop(reason);
    rte_pktmbuf_free(frame);
}

}  // namespace heddle::pipeline
