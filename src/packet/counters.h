#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "packet/drop.h"

namespace heddle::packet {

/// A counter with one writing thread and any number of readers. add() compiles to a plain addition.
class Counter {
 public:
    void add(uint64_t n) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
    std::atomic<uint64_t> value_{0};
};

/// What one worker did with the frames of one port. Written by that worker only; readers add up the
/// workers. A frame is what crosses the port driver: a superframe of many TCP segments is one
/// frame.
///
/// Over all ports and workers, while no frame is inside the daemon:
///     rx_frames + replicated = tx_frames + consumed + all drops
struct alignas(64) PortCounters {
    Counter rx_frames;
    Counter rx_bytes;
    Counter tx_frames;
    Counter tx_bytes;
    Counter tx_packets;  ///< packets on the wire: a superframe counts as its segments
    Counter replicated;  ///< extra frames made: copies by flooding (counted on the port they came
                         ///< from), segments beyond the first by software GSO (on the port they
                         ///< leave by)
    Counter consumed;    ///< frames received on this port that a service of Heddle itself took
    std::array<Counter, kDropReasonCount> drops;

    void drop(DropReason reason, uint64_t frames = 1) noexcept {
        drops[static_cast<size_t>(reason)].add(frames);
    }
    uint64_t dropped(DropReason reason) const noexcept {
        return drops[static_cast<size_t>(reason)].read();
    }
};

}  // namespace heddle::packet
