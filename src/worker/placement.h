#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace heddle::worker {

/// Measured over the last interval. Loads are shares of one worker's time, 0 to 1.
struct QueueLoad {
    size_t queue = 0;  ///< the caller's index
    uint16_t worker = 0;
    double load = 0;
};

struct Move {
    size_t queue = 0;
    uint16_t to = 0;
};

/// Above `saturated` a worker may be losing frames; it is relieved only if another is so much less
/// busy that the move is worth its price, and stays worth it (no queue goes back and forth).
struct PlacementPolicy {
    double saturated = 0.85;
    double gain = 0.15;  ///< by how much the busier of the two must get less busy
};

/// The worker for a new queue: the least loaded, then the one with the fewest queues, then the
/// lowest id.
uint16_t place(const std::vector<QueueLoad>& queues, unsigned workers);

/// The one move that best relieves the busiest worker, or none. Deterministic; one move per
/// interval, so that the next decision sees what it did.
std::optional<Move> rebalance(const std::vector<QueueLoad>& queues, unsigned workers,
                              const PlacementPolicy& policy = {});

}  // namespace heddle::worker
