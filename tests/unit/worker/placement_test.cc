#include "worker/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace heddle::worker {
namespace {

std::vector<double> worker_loads(const std::vector<QueueLoad>& queues, unsigned workers) {
    std::vector<double> loads(workers, 0.0);
    for (const QueueLoad& queue : queues)
        loads[queue.worker] += queue.load;
    return loads;
}

std::vector<QueueLoad> random_topology(std::mt19937& random, unsigned workers, size_t queues) {
    std::uniform_real_distribution<double> load(0, 0.6);
    std::vector<QueueLoad> result;
    for (size_t i = 0; i < queues; ++i)
        result.push_back({i, static_cast<uint16_t>(random() % workers), load(random)});
    return result;
}

TEST(Placement, FirstQueueGoesToTheFirstWorker) {
    EXPECT_EQ(place({}, 1), 0);
    EXPECT_EQ(place({}, 8), 0);
}

TEST(Placement, IdleQueuesAreDealtOutEvenly) {
    std::vector<QueueLoad> queues;
    for (size_t i = 0; i < 12; ++i)
        queues.push_back({i, place(queues, 4), 0});
    std::vector<int> count(4, 0);
    for (const QueueLoad& queue : queues)
        ++count[queue.worker];
    EXPECT_EQ(count, std::vector<int>(4, 3));
}

TEST(Placement, NewQueueGoesToTheLeastLoadedWorkerHoweverManyQueuesItHas) {
    const std::vector<QueueLoad> queues = {
        {0, 0, 0.9}, {1, 1, 0.0}, {2, 1, 0.0}, {3, 1, 0.1}, {4, 2, 0.5}};
    EXPECT_EQ(place(queues, 3), 1);
}

TEST(Placement, QueuesOfWorkersThatDoNotExistAreIgnored) {
    EXPECT_EQ(place({{0, 7, 0.9}, {1, 0, 0.2}}, 2), 1);
    EXPECT_FALSE(rebalance({{0, 7, 1.0}, {1, 0, 0.2}}, 2).has_value());
}

TEST(Placement, OneWorkerHasNowhereToMoveTo) {
    EXPECT_FALSE(rebalance({{0, 0, 1.0}, {1, 0, 1.0}}, 1).has_value());
}

TEST(Placement, NothingMovesWhileNobodyIsSaturated) {
    EXPECT_FALSE(rebalance({{0, 0, 0.4}, {1, 0, 0.4}}, 2).has_value());
}

TEST(Placement, SaturatedWorkerGivesAQueueToTheIdlestOne) {
    const auto move = rebalance({{0, 0, 0.5}, {1, 0, 0.5}, {2, 1, 0.3}, {3, 2, 0.1}}, 3);
    ASSERT_TRUE(move.has_value());
    EXPECT_EQ(move->to, 2);
    EXPECT_TRUE(move->queue == 0 || move->queue == 1);
}

TEST(Placement, SingleHotQueueStaysWhereItIs) {
    EXPECT_FALSE(rebalance({{0, 0, 1.0}}, 2).has_value());
}

TEST(Placement, SmallGainIsNotWorthAMove) {
    EXPECT_FALSE(rebalance({{0, 0, 0.85}, {1, 0, 0.1}}, 2).has_value());
    EXPECT_TRUE(rebalance({{0, 0, 0.8}, {1, 0, 0.2}}, 2).has_value());
    EXPECT_FALSE(rebalance({{0, 0, 0.5}, {1, 0, 0.5}, {2, 1, 0.4}}, 2).has_value())
        << "0.9 on the other worker instead";
}

TEST(Placement, SameMeasurementGivesTheSameMove) {
    std::mt19937 random(3);
    for (int i = 0; i < 1000; ++i) {
        const auto queues = random_topology(random, 4, 10);
        const auto first = rebalance(queues, 4);
        const auto second = rebalance(queues, 4);
        ASSERT_EQ(first.has_value(), second.has_value());
        if (first) {
            EXPECT_EQ(first->queue, second->queue);
            EXPECT_EQ(first->to, second->to);
        }
    }
}

TEST(Placement, MoveLeavesTheBusierOfBothWorkersLessBusyByTheGain) {
    std::mt19937 random(4);
    const PlacementPolicy policy;
    int moves = 0;
    for (int i = 0; i < 5000; ++i) {
        const auto workers = static_cast<unsigned>(2 + random() % 4);
        auto queues = random_topology(random, workers, 1 + random() % 12);
        const auto before = worker_loads(queues, workers);
        const auto busiest = std::max_element(before.begin(), before.end());
        const auto move = rebalance(queues, workers);
        if (!move) continue;
        ++moves;
        ASSERT_LT(move->to, workers);
        ASSERT_EQ(queues[move->queue].worker, busiest - before.begin());
        ASSERT_GE(*busiest, policy.saturated);
        const auto from = queues[move->queue].worker;
        queues[move->queue].worker = move->to;
        const auto after = worker_loads(queues, workers);
        ASSERT_LE(std::max(after[from], after[move->to]), *busiest - policy.gain + 1e-9);
    }
    EXPECT_GT(moves, 500);
}

TEST(Placement, QueuesComeToRestUnderConstantLoad) {
    std::mt19937 random(5);
    for (int i = 0; i < 2000; ++i) {
        const auto workers = static_cast<unsigned>(2 + random() % 6);
        auto queues = random_topology(random, workers, 1 + random() % 20);
        int moves = 0;
        while (const auto move = rebalance(queues, workers)) {
            queues[move->queue].worker = move->to;
            ASSERT_LT(++moves, 200) << "queues go round and round";
        }
    }
}

// What is measured on a saturated worker is not what its queues could use: together they get 1.
TEST(Placement, QueuesComeToRestWhenLoadsAreMeasuredUnderSaturation) {
    std::mt19937 random(6);
    for (int i = 0; i < 2000; ++i) {
        const auto workers = static_cast<unsigned>(2 + random() % 4);
        auto demand = random_topology(random, workers, 1 + random() % 12);
        int moves = 0;
        for (int interval = 0; interval < 200; ++interval) {
            auto measured = demand;
            const auto wanted = worker_loads(demand, workers);
            for (QueueLoad& queue : measured)
                queue.load /= std::max(1.0, wanted[queue.worker]);
            if (const auto move = rebalance(measured, workers)) {
                demand[move->queue].worker = move->to;
                ++moves;
            }
        }
        ASSERT_LT(moves, 60) << "queues go round and round";
    }
}

// Field case 2.7: load on two queues of one worker, then on the two of the other.
TEST(Placement, LoadThatShiftsToQueuesOfOneWorkerIsSharedAgain) {
    std::vector<QueueLoad> queues = {{0, 0, 0.5}, {1, 0, 0.5}, {2, 1, 0}, {3, 1, 0}};
    auto move = rebalance(queues, 2);
    ASSERT_TRUE(move.has_value());
    queues[move->queue].worker = move->to;
    queues[0].load = queues[1].load = 0;
    queues[2].load = queues[3].load = 0.5;
    move = rebalance(queues, 2);
    ASSERT_TRUE(move.has_value());
    queues[move->queue].worker = move->to;
    EXPECT_EQ(worker_loads(queues, 2), std::vector<double>({0.5, 0.5}));
}

}  // namespace
}  // namespace heddle::worker
