#include "worker/spread_control.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace heddle::worker {
namespace {

using Decision = SpreadControl::Decision;
using Measurement = SpreadControl::Measurement;

Measurement hot(double frames = 1e6) {
    return {frames, 0.97, {0.97, 0.1}, 0};
}

/// Steps until the trial begins; how many intervals that took.
int until_spread(SpreadControl& control, const Measurement& measured, int most) {
    for (int i = 1; i <= most; ++i) {
        if (control.step(measured) == Decision::spread) return i;
    }
    return -1;
}

/// The intervals of a trial: one that saw both ways and three that count. The last decision.
Decision trial(SpreadControl& control, double frames) {
    Decision last = Decision::keep;
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(last, Decision::keep) << "decided too early";
        last = control.step(hot(frames));
    }
    return last;
}

TEST(SpreadControl, QueueWithLittleLoadStaysLocal) {
    SpreadControl control;
    EXPECT_EQ(until_spread(control, {1e6, 0.8, {0.8, 0.0}, 0}, 1000), -1);
}

TEST(SpreadControl, HotQueueStaysLocalWhileAllOthersAreBusy) {
    SpreadControl control;
    EXPECT_EQ(until_spread(control, {1e6, 0.97, {0.97, 0.8, 0.6}, 0}, 1000), -1);
}

TEST(SpreadControl, OwnerThatIsIdleByItselfIsNoHelpToItself) {
    SpreadControl control;
    EXPECT_EQ(until_spread(control, {1e6, 0.97, {0.1}, 0}, 1000), -1);
}

TEST(SpreadControl, HotQueueIsTriedAfterThreeIntervals) {
    SpreadControl control;
    EXPECT_EQ(until_spread(control, hot(), 10), 3);
    EXPECT_DOUBLE_EQ(control.share(), 0.5);
}

TEST(SpreadControl, ShortPeaksAreNotTried) {
    SpreadControl control;
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(control.step(hot()), Decision::keep);
        EXPECT_EQ(control.step(hot()), Decision::keep);
        EXPECT_EQ(control.step({1e5, 0.2, {0.2, 0.1}, 0}), Decision::keep);
    }
}

TEST(SpreadControl, TrialThatMovesMoreFramesIsKept) {
    SpreadControl control;
    ASSERT_EQ(until_spread(control, hot(), 10), 3);
    EXPECT_EQ(trial(control, 1.3e6), Decision::keep);
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(control.step({1.3e6, 0.5, {0.5, 0.6}, 0}), Decision::keep);
}

TEST(SpreadControl, TrialThatMovesNoMoreIsRevertedAndPausesLongerEachTime) {
    SpreadControl control;
    ASSERT_EQ(until_spread(control, hot(), 10), 3);
    ASSERT_EQ(trial(control, 1.02e6), Decision::stop);
    EXPECT_EQ(control.share(), 0);
    // In intervals of 100 ms: 10 s, then twice as long each time, up to 160 s; and the three that
    // are measured before a trial. The interval in which the pause ends is measured already.
    for (const int seconds : {10, 20, 40, 80, 160, 160, 160}) {
        EXPECT_EQ(until_spread(control, hot(), 10'000), seconds * 10 + 2);
        ASSERT_EQ(trial(control, 0.9e6), Decision::stop);
    }
}

TEST(SpreadControl, SuccessForgetsFailuresBefore) {
    SpreadControl control;
    for (int i = 0; i < 3; ++i) {
        ASSERT_GT(until_spread(control, hot(), 10'000), 0);
        ASSERT_EQ(trial(control, 1e6), Decision::stop);
    }
    ASSERT_GT(until_spread(control, hot(), 10'000), 0);
    ASSERT_EQ(trial(control, 2e6), Decision::keep);
    ASSERT_EQ(control.step({1e5, 0.1, {0.1, 0.1}, 0}), Decision::stop);
    ASSERT_EQ(until_spread(control, hot(), 10), 3);
    ASSERT_EQ(trial(control, 1e6), Decision::stop);
    EXPECT_EQ(until_spread(control, hot(), 10'000), 102) << "as after a first failure";
}

TEST(SpreadControl, QueueThatCooledDownBecomesLocalAgain) {
    SpreadControl control;
    ASSERT_EQ(until_spread(control, hot(), 10), 3);
    ASSERT_EQ(trial(control, 2e6), Decision::keep);
    EXPECT_EQ(control.step({5e5, 0.31, {0.31, 0.3}, 0}), Decision::keep);
    EXPECT_EQ(control.step({4e5, 0.29, {0.29, 0.3}, 0}), Decision::stop);
    EXPECT_EQ(control.share(), 0);
    EXPECT_EQ(until_spread(control, hot(), 10), 3);
}

TEST(SpreadControl, ResetForgetsTheTrialUnderWay) {
    SpreadControl control;
    ASSERT_EQ(until_spread(control, hot(), 10), 3);
    control.reset();
    EXPECT_EQ(control.step({1e6, 0.1, {0.1, 0.1}, 0}), Decision::keep) << "nothing to stop";
    EXPECT_EQ(until_spread(control, hot(), 10), 3);
}

// ---- Maps
// -----------------------------------------------------------------------------------------

std::array<int, 64> buckets_of(const SpreadMap& map) {
    std::array<int, 64> count{};
    for (const uint8_t worker : map.worker)
        ++count.at(worker);
    return count;
}

TEST(SpreadMap, WithTwoWorkersEachGetsHalf) {
    const auto map = SpreadControl::make_map({1e6, 1, {1.0, 0.0}, 0}, 0.5);
    EXPECT_EQ(buckets_of(*map)[0], 64);
    EXPECT_EQ(buckets_of(*map)[1], 64);
}

TEST(SpreadMap, OthersGetBucketsInProportionToTheirSpareTime) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> share_of(0.0, 1.0);
    for (int run = 0; run < 1000; ++run) {
        Measurement measured;
        const size_t workers = 2 + random() % 8;
        double spare = 0;
        for (size_t id = 0; id < workers; ++id)
            measured.worker_busy.push_back(share_of(random));
        measured.owner = static_cast<uint16_t>(random() % workers);
        for (size_t id = 0; id < workers; ++id)
            spare += id == measured.owner ? 0 : 1 - measured.worker_busy[id];
        const double share = share_of(random);
        const auto count = buckets_of(*SpreadControl::make_map(measured, share));
        for (size_t id = 0; id < workers; ++id) {
            const double fair =
                id == measured.owner ? 1 - share : share * (1 - measured.worker_busy[id]) / spare;
            // Dealing out by largest claim is fair within one bucket per other claimant.
            ASSERT_NEAR(count[id], fair * 128, static_cast<double>(workers)) << "worker " << id;
        }
    }
}

TEST(SpreadMap, OwnerKeepsEverythingWhenNobodyHasTime) {
    const auto map = SpreadControl::make_map({1e6, 1, {1.0, 1.0, 1.2}, 2}, 0.5);
    EXPECT_EQ(buckets_of(*map)[2], 128);
}

TEST(SpreadMap, EveryHashBelongsToTheWorkerOfItsBucket) {
    const auto map = SpreadControl::make_map({1e6, 1, {1.0, 0.0}, 0}, 0.5);
    for (uint32_t hash : {0u, 127u, 128u, 0xffff'ffffu, 0x8000'0001u})
        EXPECT_EQ(map->of(hash), map->worker[hash % 128]);
}

}  // namespace
}  // namespace heddle::worker
