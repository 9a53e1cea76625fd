#include "forwarding/rate_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

namespace heddle::forwarding {
namespace {

constexpr uint64_t kStart = 1'000'000'000'000;

TEST(RateLimit, UnconfiguredLimitAdmitsEverything) {
    RateLimit limit;
    for (int i = 0; i < 1000; ++i)
        ASSERT_TRUE(limit.admit(0, 1000));
}

TEST(RateLimit, LimitOfZeroAdmitsEverythingAlsoAfterOneThatDidNot) {
    RateLimit limit;
    limit.configure(1000, 1);
    ASSERT_TRUE(limit.admit(kStart));
    ASSERT_FALSE(limit.admit(kStart));
    limit.configure(0, 1);
    for (int i = 0; i < 1000; ++i)
        ASSERT_TRUE(limit.admit(kStart, 64));
}

TEST(RateLimit, AfterAPauseExactlyTheBurstPassesAtOnce) {
    for (const uint64_t burst : {1, 2, 10, 1000}) {
        RateLimit limit;
        limit.configure(1000, burst);
        uint64_t admitted = 0;
        for (uint64_t i = 0; i < 2 * burst; ++i)
            admitted += limit.admit(kStart);
        EXPECT_EQ(admitted, burst);
    }
}

TEST(RateLimit, BurstOfZeroStillPassesOneAtATime) {
    RateLimit limit;
    limit.configure(1000, 0);
    EXPECT_TRUE(limit.admit(kStart));
    EXPECT_FALSE(limit.admit(kStart));
    EXPECT_TRUE(limit.admit(kStart + 1000));
}

TEST(RateLimit, DemandAboveTheRateGetsTheRateAndTheBurstAndNoMore) {
    std::mt19937_64 random(1);
    for (int run = 0; run < 200; ++run) {
        const uint64_t interval = 1 + random() % 100'000;
        const uint64_t burst = 1 + random() % 200;
        RateLimit limit;
        limit.configure(interval, burst);
        uint64_t now = kStart;
        uint64_t admitted = 0;
        for (int i = 0; i < 5000; ++i) {
            admitted += limit.admit(now);
            now += random() % interval;  // twice the rate
            ASSERT_LE(admitted, burst + (now - kStart) / interval + 1);
        }
        EXPECT_GE(admitted, (now - kStart) / interval);
    }
}

TEST(RateLimit, DemandBelowTheRateIsNeverRefused) {
    RateLimit limit;
    limit.configure(1000, 1);
    for (uint64_t i = 0; i < 10'000; ++i)
        ASSERT_TRUE(limit.admit(kStart + i * 1000));
}

TEST(RateLimit, SuperframesCountAsTheirSegments) {
    std::mt19937_64 random(2);
    constexpr uint64_t kInterval = 1000;
    constexpr uint64_t kBurst = 10;
    constexpr uint64_t kMostUnits = 45;
    RateLimit limit;
    limit.configure(kInterval, kBurst);
    uint64_t now = kStart;
    uint64_t admitted = 0;
    for (int i = 0; i < 100'000; ++i) {
        const uint64_t units = 1 + random() % kMostUnits;
        if (limit.admit(now, units)) admitted += units;
        now += random() % (10 * kInterval);
        ASSERT_LE(admitted, kBurst + (now - kStart) / kInterval + kMostUnits);
    }
    EXPECT_GE(admitted, (now - kStart) / kInterval * 95 / 100);
}

TEST(RateLimit, SuperframeLargerThanTheBurstPassesAndItsDebtIsPaid) {
    RateLimit limit;
    limit.configure(1000, 2);
    ASSERT_TRUE(limit.admit(kStart, 45));
    EXPECT_FALSE(limit.admit(kStart + 43 * 1000 - 1));
    EXPECT_TRUE(limit.admit(kStart + 44 * 1000));
}

TEST(RateLimit, LongPauseDoesNotSaveUpMoreThanTheBurst) {
    RateLimit limit;
    limit.configure(1000, 5);
    uint64_t now = 1;
    for (const uint64_t pause : {uint64_t{1} << 33, uint64_t{1} << 45, uint64_t{1} << 62}) {
        now += pause;
        unsigned admitted = 0;
        for (int i = 0; i < 100; ++i)
            admitted += limit.admit(now);
        EXPECT_EQ(admitted, 5u);
    }
}

// Workers take their time at slightly different moments.
TEST(RateLimit, TimeThatStepsBackAdmitsNothingExtra) {
    RateLimit limit;
    limit.configure(1000, 3);
    uint64_t admitted = 0;
    for (uint64_t i = 0; i < 10'000; ++i)
        admitted += limit.admit(kStart + i * 100 - (i % 7) * 50);
    EXPECT_LE(admitted, 3 + 10'000 * 100 / 1000 + 1u);
    EXPECT_GE(admitted, 10'000 * 100 / 1000 - 1u);
}

// A rate above 2^32 bit/s once overflowed in another switch; intervals here may be as long.
TEST(RateLimit, IntervalBeyond32BitsKeepsItsRate) {
    constexpr uint64_t kInterval = uint64_t{10} << 32;
    RateLimit limit;
    limit.configure(kInterval, 2);
    uint64_t admitted = 0;
    for (uint64_t i = 0; i < 1000; ++i)
        admitted += limit.admit(kStart + i * (kInterval / 10));
    EXPECT_GE(admitted, 100u);
    EXPECT_LE(admitted, 102u);
}

TEST(RateLimit, BurstThatOverflowsTheClockIsNoLimitOnBursts) {
    RateLimit limit;
    limit.configure(uint64_t{1} << 40, uint64_t{1} << 40);
    for (int i = 0; i < 1000; ++i)
        ASSERT_TRUE(limit.admit(kStart));
}

TEST(RateLimit, RaisedRateIsNotHeldBackByTheDebtOfTheOldOne) {
    RateLimit limit;
    limit.configure(uint64_t{1} << 40, 1);
    ASSERT_TRUE(limit.admit(kStart, 10));
    limit.configure(10, 1);
    EXPECT_TRUE(limit.admit(kStart + 1));
}

TEST(RateLimit, SameConfigurationAgainGivesNoFreshBurst) {
    RateLimit limit;
    limit.configure(1000, 1);
    ASSERT_TRUE(limit.admit(kStart));
    limit.configure(1000, 1);
    EXPECT_FALSE(limit.admit(kStart + 1));
}

TEST(RateLimit, WorkersThatShareALimitExceedItNeverTogether) {
    constexpr uint64_t kInterval = 100;
    constexpr uint64_t kBurst = 50;
    RateLimit limit;
    limit.configure(kInterval, kBurst);
    std::atomic<uint64_t> clock{kStart};
    std::atomic<uint64_t> admitted{0};
    std::vector<std::thread> workers;
    workers.reserve(4);
    for (int id = 0; id < 4; ++id) {
        workers.emplace_back([&] {
            uint64_t mine = 0;
            for (int i = 0; i < 200'000; ++i)
                mine += limit.admit(clock.fetch_add(10, std::memory_order_relaxed));
            admitted += mine;
        });
    }
    for (std::thread& worker : workers)
        worker.join();
    const uint64_t elapsed = clock - kStart;
    EXPECT_LE(admitted, kBurst + elapsed / kInterval + 1);
    EXPECT_GE(admitted, elapsed / kInterval * 9 / 10);
}

}  // namespace
}  // namespace heddle::forwarding
