#include "worker/spread_control.h"

#include <algorithm>

namespace heddle::worker {
namespace {

/// The owner is saturated, and mostly by this queue: moving queues would not help.
constexpr double kHot = 0.9;

/// Another worker counts as having time.
constexpr double kIdle = 0.5;

/// Intervals to measure before and during a trial.
constexpr unsigned kTrial = 3;

/// A trial must gain this much; what gains less is not worth another core's time.
constexpr double kGain = 1.05;

/// Once spread: below this load of the owner it goes back to being local.
constexpr double kCool = 0.3;

/// After a failed trial wait 10 s, then twice as long each time, up to 160 s.
constexpr unsigned kPause = 100;
constexpr unsigned kMostFailures = 4;

}  // namespace

SpreadControl::Decision SpreadControl::step(const Measurement& measured) {
    const bool others_idle = [&] {
        for (size_t id = 0; id < measured.worker_busy.size(); ++id) {
            if (id != measured.owner && measured.worker_busy[id] < kIdle) return true;
        }
        return false;
    }();
    if (pause_ > 0) --pause_;

    switch (state_) {
        case State::local:
            if (measured.queue_load < kHot || !others_idle || pause_ > 0) {
                intervals_ = 0;
                sum_ = 0;
                return Decision::keep;
            }
            sum_ += measured.frames_per_second;
            if (++intervals_ < kTrial) return Decision::keep;
            baseline_ = sum_ / intervals_;
            share_ = 0.5;
            state_ = State::settling;
            return Decision::spread;

        case State::settling:  // this interval saw both ways
            state_ = State::trial;
            intervals_ = 0;
            sum_ = 0;
            return Decision::keep;

        case State::trial:
            sum_ += measured.frames_per_second;
            if (++intervals_ < kTrial) return Decision::keep;
            if (sum_ / intervals_ >= baseline_ * kGain) {
                state_ = State::spread;
                failures_ = 0;
                return Decision::keep;
            }
            pause_ = kPause << failures_;
            failures_ = std::min(failures_ + 1, kMostFailures);
            break;

        case State::spread:
            if (measured.queue_load >= kCool) return Decision::keep;
            break;
    }
    state_ = State::local;
    intervals_ = 0;
    sum_ = 0;
    share_ = 0;
    return Decision::stop;
}

std::unique_ptr<const SpreadMap> SpreadControl::make_map(const Measurement& measured,
                                                         double share) {
    auto map = std::make_unique<SpreadMap>();
    map->worker.fill(static_cast<uint8_t>(measured.owner));
    double spare = 0;
    for (size_t id = 0; id < measured.worker_busy.size(); ++id) {
        if (id != measured.owner) spare += std::max(0.0, 1.0 - measured.worker_busy[id]);
    }
    if (spare <= 0) return map;
    // Buckets are dealt out in proportion, by largest accumulated claim, so that neighbours differ.
    const size_t workers = measured.worker_busy.size();
    std::vector<double> claim(workers, 0);
    for (uint8_t& bucket : map->worker) {
        for (size_t id = 0; id < workers; ++id) {
            claim[id] += id == measured.owner
                             ? 1 - share
                             : share * std::max(0.0, 1.0 - measured.worker_busy[id]) / spare;
        }
        const auto winner = std::max_element(claim.begin(), claim.end()) - claim.begin();
        claim[static_cast<size_t>(winner)] -= 1;
        bucket = static_cast<uint8_t>(winner);
    }
    return map;
}

}  // namespace heddle::worker
