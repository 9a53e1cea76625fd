#pragma once

#include <atomic>
#include <cstdint>

namespace heddle::forwarding {

/// Rate limit by the generic cell rate algorithm (ITU-T I.371, "virtual scheduling"): one word of
/// state, so that workers share it with one compare-and-swap and without a lock. Time is the TSC.
class RateLimit {
 public:
    /// `cycles_per_unit`: TSC cycles per admitted unit, 0 for no limit; `burst`: units admitted at
    /// once after a pause, at least 1. Control thread; takes effect with the next admit().
    void configure(uint64_t cycles_per_unit, uint64_t burst) noexcept {
        uint64_t tolerance = 0;  // of the first unit none is needed
        if (__builtin_mul_overflow(cycles_per_unit, burst > 1 ? burst - 1 : 0, &tolerance)) {
            tolerance = UINT64_MAX;
        }
        if (interval_.load(std::memory_order_relaxed) != cycles_per_unit) {
            theoretical_arrival_.store(0, std::memory_order_relaxed);  // debt at the old rate
        }
        tolerance_.store(tolerance, std::memory_order_relaxed);
        interval_.store(cycles_per_unit, std::memory_order_relaxed);
    }

    /// Something of several units passes if one unit would, and all of them count afterwards: a
    /// superframe larger than the burst is not shut out for ever. Over any time t no more is
    /// admitted than burst + t / cycles_per_unit, plus what the last admission had beyond one unit.
    bool admit(uint64_t now, uint64_t units = 1) noexcept {
        const uint64_t interval = interval_.load(std::memory_order_relaxed);
        if (interval == 0) return true;
        const uint64_t tolerance = tolerance_.load(std::memory_order_relaxed);
        uint64_t arrival = theoretical_arrival_.load(std::memory_order_relaxed);
        for (;;) {
            const uint64_t start = arrival > now ? arrival : now;
            if (start - now > tolerance) return false;
            if (theoretical_arrival_.compare_exchange_weak(arrival, start + interval * units,
                                                           std::memory_order_relaxed)) {
                return true;
            }
        }
    }

 private:
    std::atomic<uint64_t> interval_{0};
    std::atomic<uint64_t> tolerance_{0};
    std::atomic<uint64_t> theoretical_arrival_{0};
};

}  // namespace heddle::forwarding
