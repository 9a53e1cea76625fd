#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "forwarding/ids.h"
#include "packet/counters.h"
#include "port/port.h"

namespace heddle::worker {

class Worker;

/// Which worker handles the flows of a hot queue: a flow's hash selects a bucket, the bucket a
/// worker. Immutable once published.
struct SpreadMap {
    static constexpr size_t kBuckets = 128;
    std::array<uint8_t, kBuckets> worker{};

    uint8_t of(uint32_t flow_hash) const noexcept { return worker[flow_hash % kBuckets]; }
};

/// A receive queue of a port, polled by one worker at a time: its owner.
///
/// Concurrency: made and destroyed by the control thread, which hands it from worker to worker by
/// commands (see Worker). Members marked "owner" are touched by the owning worker only; the command
/// that passes the queue on orders them.
struct RxQueue {
    RxQueue(forwarding::PortId port_id, uint16_t queue_index, port::Port& queue_device) noexcept
        : port(port_id), index(queue_index), device(queue_device) {}

    const forwarding::PortId port;
    const uint16_t index;
    port::Port& device;

    std::atomic<uint16_t> owner{0};   ///< worker id; written when attached
    std::atomic<uint64_t> cycles{0};  ///< spent on its frames, from receive to transmit
    packet::Counter frames;

    std::atomic<const SpreadMap*> wanted_spread{
        nullptr};                                   ///< control; nullptr: all flows at the owner
    std::atomic<const SpreadMap*> spread{nullptr};  ///< owner: in force

    bool active = false;          ///< owner: polled each round, rather than waited for
    uint8_t empty_polls = 0;      ///< owner: in a row
    uint64_t spread_targets = 0;  ///< owner: bit mask of the other workers in the present map
    uint64_t spread_to = 0;       ///< owner: those of them that got frames
    std::array<uint32_t, forwarding::kMaxWorkers>
        spread_position{};  ///< owner: behind those frames
};

}  // namespace heddle::worker
