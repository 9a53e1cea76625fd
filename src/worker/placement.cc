#include "worker/placement.h"

#include <algorithm>

namespace heddle::worker {
namespace {

struct WorkerLoad {
    double load = 0;
    size_t queues = 0;
};

std::vector<WorkerLoad> sum_up(const std::vector<QueueLoad>& queues, unsigned workers) {
    std::vector<WorkerLoad> sums(workers);
    for (const QueueLoad& queue : queues) {
        if (queue.worker >= workers) continue;
        sums[queue.worker].load += queue.load;
        ++sums[queue.worker].queues;
    }
    return sums;
}

}  // namespace

uint16_t place(const std::vector<QueueLoad>& queues, unsigned workers) {
    const std::vector<WorkerLoad> sums = sum_up(queues, workers);
    // Loads within a hundredth are noise.
    const auto best =
        std::min_element(sums.begin(), sums.end(), [](const WorkerLoad& a, const WorkerLoad& b) {
            const auto rank = [](double load) { return static_cast<long>(load * 100); };
            if (rank(a.load) != rank(b.load)) return a.load < b.load;
            return a.queues < b.queues;
        });
    return static_cast<uint16_t>(best - sums.begin());
}

std::optional<Move> rebalance(const std::vector<QueueLoad>& queues, unsigned workers,
                              const PlacementPolicy& policy) {
    if (workers < 2) return std::nullopt;
    const std::vector<WorkerLoad> sums = sum_up(queues, workers);
    const auto by_load = [](const WorkerLoad& a, const WorkerLoad& b) { return a.load < b.load; };
    const auto busiest = std::max_element(sums.begin(), sums.end(), by_load);
    if (busiest->load < policy.saturated) return std::nullopt;
    const auto idlest = std::min_element(sums.begin(), sums.end(), by_load);

    std::optional<Move> best;
    double best_peak = busiest->load - policy.gain;
    for (const QueueLoad& queue : queues) {
        if (queue.worker != busiest - sums.begin()) continue;
        const double peak = std::max(busiest->load - queue.load, idlest->load + queue.load);
        if (peak <= best_peak) {
            best_peak = peak;
            best = Move{queue.queue, static_cast<uint16_t>(idlest - sums.begin())};
        }
    }
    return best;
}

}  // namespace heddle::worker
