#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "worker/rx_queue.h"

namespace heddle::worker {

/// Decides for one queue whether its flows shall be spread over other workers, and proves it by
/// trial: spreading costs a hash and a trip over a ring per frame, so it is kept only where it
/// moves more frames. A pure state machine on measurements, one step per interval.
class SpreadControl {
 public:
    struct Measurement {
        double frames_per_second = 0;
        double queue_load = 0;            ///< share of the owner's time
        std::vector<double> worker_busy;  ///< by worker id
        uint16_t owner = 0;
    };

    enum class Decision : uint8_t { keep, spread, stop };

    /// What to do now; `share` then says which part of the flows others shall take.
    Decision step(const Measurement& measured);

    /// The map for Decision::spread: the owner keeps 1 - share of the buckets, idle workers divide
    /// the rest by how idle they are.
    static std::unique_ptr<const SpreadMap> make_map(const Measurement& measured, double share);

    double share() const noexcept { return share_; }
    void reset() noexcept { *this = SpreadControl(); }

 private:
    enum class State : uint8_t { local, settling, trial, spread };

    State state_ = State::local;
    unsigned intervals_ = 0;  ///< in this state
    unsigned pause_ = 0;      ///< intervals until the next trial
    unsigned failures_ = 0;
    double sum_ = 0;       ///< of frames_per_second in this state
    double baseline_ = 0;  ///< frames_per_second before the trial
    double share_ = 0;
};

}  // namespace heddle::worker
