#include <gtest/gtest.h>

#include <random>

#include "pools.h"
#include "traffic.h"
#include "worker/worker.h"

/// Workers under hand-made decisions: maps and moves that a scheduler would make rarely, here all
/// the time and at random.
namespace heddle::worker {
namespace {

using test::eventually;
using test::SourcePort;
using test::Wakeup;

class Handover : public test::ThreadedPoolTest {
 protected:
    void start(unsigned workers, bool first_is_busy_polling = false) {
        network_ = std::make_unique<test::Network>();
        read_side_ = std::make_unique<ReadSide>();
        by_id_.assign(forwarding::kMaxWorkers, nullptr);
        for (unsigned id = 0; id < workers; ++id) {
            workers_.push_back(std::make_unique<Worker>(
                static_cast<uint16_t>(id),
                Worker::Environment{network_->tables, pools(), *read_side_, by_id_, resolver_},
                Worker::Options{.busy_polling = first_is_busy_polling && id == 0}));
            by_id_[id] = workers_.back().get();
        }
    }
    void TearDown() override {
        for (auto& queue : queues_) {
            set_map(*queue, nullptr);
            command(queue->owner, Command::Kind::detach, queue.get());
        }
        workers_.clear();
        queues_.clear();
        maps_.clear();
        sources_.clear();
        network_.reset();
        ThreadedPoolTest::TearDown();
    }

    SourcePort& add_source(Wakeup wakeup, uint32_t flows = 32) {
        const auto id = static_cast<forwarding::PortId>(10 + sources_.size());
        sources_.push_back(std::make_unique<SourcePort>(pools(), id, wakeup, 1, flows));
        network_->publish(id, *sources_.back());
        queues_.push_back(std::make_unique<RxQueue>(id, uint16_t{0}, *sources_.back()));
        command(0, Command::Kind::attach, queues_.back().get());
        return *sources_.back();
    }

    void command(unsigned worker, Command::Kind kind, RxQueue* queue, Worker* next = nullptr) {
        Command command{.kind = kind, .queue = queue, .next = next};
        workers_[worker]->post(command);
        ASSERT_TRUE(eventually([&] { return command.done.load(std::memory_order_acquire); }));
    }

    void set_map(RxQueue& queue, std::unique_ptr<const SpreadMap> map) {
        queue.wanted_spread.store(map.get(), std::memory_order_release);
        command(queue.owner, Command::Kind::look, &queue);
        ASSERT_TRUE(
            eventually([&] { return queue.spread.load(std::memory_order_acquire) == map.get(); }));
        read_side_->synchronize();
        maps_[&queue] = std::move(map);
    }

    void move(RxQueue& queue, uint16_t to) {
        set_map(queue, nullptr);
        command(queue.owner, Command::Kind::detach, &queue, workers_[to].get());
    }

    std::unique_ptr<const SpreadMap> random_map() {
        auto map = std::make_unique<SpreadMap>();
        for (uint8_t& worker : map->worker)
            worker = static_cast<uint8_t>(random_() % workers_.size());
        return map;
    }

    void expect_all_delivered() {
        uint64_t offered = 0;
        for (const auto& source : sources_)
            offered += source->offered();
        EXPECT_TRUE(eventually([&] { return network_->sink.received() >= offered; }))
            << "received " << network_->sink.received() << " of " << offered;
        EXPECT_EQ(network_->sink.received(), offered);
        EXPECT_EQ(network_->sink.disorder(), 0u);
        EXPECT_EQ(network_->drops(), 0u);
        for (const auto& source : sources_)
            EXPECT_FALSE(source->overlapped());
    }

    std::mt19937 random_{7};
    std::unique_ptr<test::Network> network_;
    std::unique_ptr<ReadSide> read_side_;
    pipeline::Resolver resolver_;
    std::vector<Worker*> by_id_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<SourcePort>> sources_;
    std::vector<std::unique_ptr<RxQueue>> queues_;
    std::map<RxQueue*, std::unique_ptr<const SpreadMap>> maps_;
};

TEST_F(Handover, FlowsKeepTheirOrderWhileMapsChangeUnderLoad) {
    start(3);
    SourcePort& polled = add_source(Wakeup::none);
    SourcePort& waited = add_source(Wakeup::eventfd);
    for (int i = 0; i < 150; ++i) {
        polled.offer(random_() % 2000);
        waited.offer(random_() % 2000);
        RxQueue& queue = *queues_[random_() % 2];
        set_map(queue, random_() % 4 == 0 ? nullptr : random_map());
    }
    expect_all_delivered();
    EXPECT_GT(workers_[1]->statistics().handed_over, 1000u);
    EXPECT_GT(workers_[2]->statistics().handed_over, 1000u);
}

TEST_F(Handover, FlowsKeepTheirOrderWhileQueuesMoveAndSpreadUnderLoad) {
    start(3);
    SourcePort& polled = add_source(Wakeup::none);
    SourcePort& waited = add_source(Wakeup::eventfd);
    for (int i = 0; i < 150; ++i) {
        polled.offer(random_() % 2000);
        waited.offer(random_() % 2000);
        RxQueue& queue = *queues_[random_() % 2];
        if (random_() % 2 == 0) {
            set_map(queue, random_map());
        } else {
            move(queue, static_cast<uint16_t>(random_() % 3));
        }
    }
    expect_all_delivered();
}

// Symptom: a busy port whose flows are spread stops receiving for ever.
TEST_F(Handover, QueueHeldBackByAFullRingGoesOnWithoutAnotherWakeup) {
    start(2);
    SourcePort& source = add_source(Wakeup::eventfd, 4);
    auto all_to_the_other = std::make_unique<SpreadMap>();
    all_to_the_other->worker.fill(1);
    set_map(*queues_[0], std::move(all_to_the_other));
    // Handing over is faster than forwarding: the ring of 1024 fills, and nothing is offered after.
    for (int i = 0; i < 20; ++i) {
        source.offer(50'000);
        ASSERT_TRUE(eventually([&] { return source.waiting() == 0; }))
            << source.waiting() << " frames wait in the device, and nobody looks";
    }
    expect_all_delivered();
}

// Symptom: now and then a single frame is late by seconds.
TEST_F(Handover, WorkerThatFallsAsleepMissesNoFrameHandedToIt) {
    constexpr uint64_t kFrames = 20'000;
    /// Gives the next frame soon after the last one arrived, at every moment of the way to sleep.
    struct Echo : SourcePort {
        Echo(const packet::Pools& pools, test::SinkPort& sink)
            : SourcePort(pools, 10, Wakeup::none, 1, 1), sink_(sink) {}
        uint16_t receive(uint16_t queue, port::IoContext& io,
                         std::span<rte_mbuf*> frames) noexcept override {
            if (offered() < kFrames && sink_.received() == offered()) {
                test::loiter(random_() % 1500);
                offer(1);
            }
            return SourcePort::receive(queue, io, frames);
        }
        test::SinkPort& sink_;
        std::minstd_rand random_;
    };
    start(2, true);
    sources_.push_back(std::make_unique<Echo>(pools(), network_->sink));
    network_->publish(10, *sources_[0]);
    queues_.push_back(std::make_unique<RxQueue>(forwarding::PortId{10}, uint16_t{0}, *sources_[0]));
    auto all_to_the_other = std::make_unique<SpreadMap>();
    all_to_the_other->worker.fill(1);
    queues_[0]->wanted_spread = all_to_the_other.get();
    maps_[queues_[0].get()] = std::move(all_to_the_other);
    command(0, Command::Kind::attach, queues_[0].get());
    EXPECT_TRUE(eventually([&] { return network_->sink.received() == kFrames; }))
        << "stuck after " << network_->sink.received();
    EXPECT_EQ(workers_[1]->statistics().handed_over, kFrames);
    expect_all_delivered();
}

TEST_F(Handover, TwoQueuesThatSpreadToEachOthersOwnersDoNotDeadlock) {
    start(2);
    SourcePort& one = add_source(Wakeup::none);
    SourcePort& two = add_source(Wakeup::eventfd);
    move(*queues_[1], 1);
    for (size_t i = 0; i < 2; ++i) {
        auto crossed = std::make_unique<SpreadMap>();
        crossed->worker.fill(static_cast<uint8_t>(1 - i));
        set_map(*queues_[i], std::move(crossed));
    }
    for (int i = 0; i < 20; ++i) {
        one.offer(10'000);
        two.offer(10'000);
    }
    expect_all_delivered();
}

}  // namespace
}  // namespace heddle::worker
