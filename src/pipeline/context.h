#pragma once

#include <cstdint>

#include "forwarding/tables.h"
#include "packet/pools.h"
#include "pipeline/egress.h"

namespace heddle::pipeline {

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
    uint64_t now = 0;                ///< TSC when the burst was received
    forwarding::Fdb::Tick tick = 0;  ///< seconds
};

/// Frees a frame and counts why, on one port.
inline void drop(Context& context, forwarding::PortId port, packet::DropReason reason,
                 rte_mbuf* frame) noexcept {
    context.tables.counters(port, context.worker).drop(reason);
    rte_pktmbuf_free(frame);
}

}  // namespace heddle::pipeline
