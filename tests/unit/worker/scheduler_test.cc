#include "worker/scheduler.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "pools.h"
#include "traffic.h"

namespace heddle::worker {
namespace {

using test::eventually;
using test::SourcePort;
using test::Wakeup;

class SchedulerTest : public test::ThreadedPoolTest {
 protected:
    void SetUp() override {
        ThreadedPoolTest::SetUp();
        network_ = std::make_unique<test::Network>();
        scheduler_ = std::make_unique<Scheduler>(network_->tables, pools());
        scheduler_->set_workers(1);
    }
    void TearDown() override {
        scheduler_.reset();
        sources_.clear();
        network_.reset();
        ThreadedPoolTest::TearDown();
    }

    SourcePort& add_source(Wakeup wakeup, uint16_t queues = 1) {
        const auto id = static_cast<forwarding::PortId>(10 + sources_.size());
        sources_.push_back(std::make_unique<SourcePort>(pools(), id, wakeup, queues));
        network_->publish(id, *sources_.back());
        scheduler_->add_port(id, *sources_.back());
        return *sources_.back();
    }

    uint64_t offered() const {
        uint64_t sum = 0;
        for (const auto& source : sources_)
            sum += source->offered();
        return sum;
    }

    void expect_all_delivered() {
        EXPECT_TRUE(eventually([&] { return network_->sink.received() >= offered(); }))
            << "received " << network_->sink.received() << " of " << offered();
        EXPECT_EQ(network_->sink.received(), offered());
        EXPECT_EQ(network_->sink.disorder(), 0u);
        EXPECT_EQ(network_->drops(), 0u);
        for (const auto& source : sources_)
            EXPECT_FALSE(source->overlapped());
    }

    bool all_asleep() const {
        for (const auto& worker : scheduler_->worker_status()) {
            if (!worker.statistics.sleeping) return false;
        }
        return true;
    }

    /// Keeps queues from running dry without filling them for ever.
    void top_up(SourcePort& source, uint16_t queue = 0) {
        if (source.waiting(queue) < 1000) source.offer(1000, queue);
    }

    std::mt19937 random_{11};
    std::unique_ptr<test::Network> network_;
    std::unique_ptr<Scheduler> scheduler_;
    std::vector<std::unique_ptr<SourcePort>> sources_;
};

TEST_F(SchedulerTest, FramesOfPollOnlyAndOfWaitedForPortsAreDelivered) {
    scheduler_->set_workers(2);
    SourcePort& polled = add_source(Wakeup::none, 2);
    SourcePort& waited = add_source(Wakeup::eventfd, 2);
    for (uint16_t queue : {0, 1}) {
        polled.offer(10'000, queue);
        waited.offer(10'000, queue);
    }
    expect_all_delivered();
}

TEST_F(SchedulerTest, NewQueuesAreDealtOutToAllWorkers) {
    scheduler_->set_workers(3);
    add_source(Wakeup::eventfd, 6);
    std::vector<unsigned> queues;
    for (const auto& worker : scheduler_->worker_status())
        queues.push_back(worker.queues);
    EXPECT_EQ(queues, std::vector<unsigned>(3, 2));
}

TEST_F(SchedulerTest, NumberOfWorkersChangesUnderLoadWithoutLossOrReordering) {
    std::vector<SourcePort*> ports = {&add_source(Wakeup::none), &add_source(Wakeup::eventfd),
                                      &add_source(Wakeup::eventfd, 3)};
    for (int i = 0; i < 60; ++i) {
        for (SourcePort* port : ports) {
            for (uint16_t queue = 0; queue < port->queue_count(); ++queue)
                top_up(*port, queue);
        }
        const unsigned count = 1 + random_() % 4;
        scheduler_->set_workers(count);
        ASSERT_EQ(scheduler_->workers(), count);
        scheduler_->tick();
    }
    expect_all_delivered();
}

TEST_F(SchedulerTest, PortsComeAndGoUnderLoadWithoutEffectOnOthers) {
    scheduler_->set_workers(2);
    SourcePort& polled = add_source(Wakeup::none);
    SourcePort& waited = add_source(Wakeup::eventfd);
    constexpr forwarding::PortId kVisitor = 100;
    for (int i = 0; i < 100; ++i) {
        top_up(polled);
        top_up(waited);
        SourcePort visitor(pools(), kVisitor, i % 2 == 0 ? Wakeup::none : Wakeup::eventfd, 2);
        network_->publish(kVisitor, visitor);
        scheduler_->add_port(kVisitor, visitor);
        visitor.offer(1 + random_() % 500, random_() % 2);
        // It goes while some of its frames wait, some are under way and some have arrived.
        scheduler_->remove_port(kVisitor);
        const uint64_t still = visitor.waiting(0) + visitor.waiting(1);
        network_->unpublish(kVisitor);
        scheduler_->synchronize();
        network_->forget(kVisitor);
        ASSERT_EQ(visitor.waiting(0) + visitor.waiting(1), still)
            << "somebody polls a port that was removed";
        ASSERT_FALSE(visitor.overlapped());
    }
    EXPECT_TRUE(eventually([&] { return polled.waiting() == 0 && waited.waiting() == 0; }));
    // The visitors' own frames begin anew with each of them.
    EXPECT_EQ(network_->sink.disorder_of(10) + network_->sink.disorder_of(11), 0u);
    EXPECT_TRUE(eventually([&] {
        return network_->sink.received_of(10) == polled.offered() &&
               network_->sink.received_of(11) == waited.offered();
    }));
    EXPECT_EQ(network_->drops(), 0u);
}

TEST_F(SchedulerTest, MeasuringAndMovingUnderSaturationLosesNothing) {
    scheduler_->set_workers(2);
    const std::array<SourcePort*, 4> ports{&add_source(Wakeup::none), &add_source(Wakeup::eventfd),
                                           &add_source(Wakeup::none), &add_source(Wakeup::eventfd)};
    for (int i = 0; i < 100; ++i) {
        // The load shifts from two ports to the two others: field case 2.7.
        for (size_t port = 0; port < 2; ++port)
            top_up(*ports[port + (i / 25 % 2 == 0 ? 0 : 2)]);
        ASSERT_TRUE(eventually([&] { return network_->sink.received() + 2000 >= offered(); }));
        scheduler_->tick();
    }
    expect_all_delivered();
}

TEST_F(SchedulerTest, IdleWorkersSleepAndAreNotWoken) {
    scheduler_->set_workers(3);
    SourcePort& source = add_source(Wakeup::eventfd, 4);
    source.offer(100);
    expect_all_delivered();
    ASSERT_TRUE(eventually([&] { return all_asleep(); }));
    const auto before = scheduler_->worker_status();
    // Nothing may happen for a while; a machine that is too busy to let it happen proves nothing,
    // but fails nobody.
    for (int i = 0; i < 5; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        scheduler_->tick();
    }
    const auto after = scheduler_->worker_status();
    for (size_t id = 0; id < 3; ++id) {
        EXPECT_EQ(after[id].statistics.wakeups, before[id].statistics.wakeups);
        EXPECT_EQ(after[id].statistics.busy_cycles, before[id].statistics.busy_cycles);
    }
}

TEST_F(SchedulerTest, FirstFrameAfterIdlenessIsDelivered) {
    scheduler_->set_workers(2);
    SourcePort& polled = add_source(Wakeup::none);
    SourcePort& waited = add_source(Wakeup::eventfd);
    for (uint64_t i = 1; i <= 200; ++i) {
        ASSERT_TRUE(eventually([&] { return all_asleep(); }));
        (i % 2 == 0 ? polled : waited).offer(1);
        ASSERT_TRUE(eventually([&] { return network_->sink.received() == i; })) << "frame " << i;
    }
    expect_all_delivered();
}

// Symptom: a lone frame stays in the device until the next one comes.
TEST_F(SchedulerTest, FrameThatComesJustBeforeItsWakeupIsArmedIsDelivered) {
    struct JustBefore : SourcePort {
        using SourcePort::SourcePort;
        void arm(uint16_t queue) noexcept override {
            if (offered() < 1000)
                offer(1, queue);  // the wake-up is not armed yet and does not fire
            SourcePort::arm(queue);
        }
    };
    sources_.push_back(std::make_unique<JustBefore>(pools(), 10, Wakeup::eventfd));
    network_->publish(10, *sources_[0]);
    scheduler_->add_port(10, *sources_[0]);
    EXPECT_TRUE(eventually([&] { return network_->sink.received() == 1000; }));
    expect_all_delivered();
}

TEST_F(SchedulerTest, BusyPollingWorkersNeverSleepUntilToldTo) {
    scheduler_->set_busy_polling(true);
    scheduler_->set_workers(2);
    SourcePort& source = add_source(Wakeup::eventfd);
    source.offer(1000);
    expect_all_delivered();
    ASSERT_TRUE(
        eventually([&] { return scheduler_->worker_status()[1].statistics.thread_id != 0; }));
    const auto before = scheduler_->worker_status();
    source.offer(1000);
    expect_all_delivered();
    const auto after = scheduler_->worker_status();
    EXPECT_EQ(after[1].statistics.wakeups, before[1].statistics.wakeups);
    EXPECT_FALSE(after[1].statistics.sleeping);
    scheduler_->set_busy_polling(false);
    EXPECT_TRUE(eventually([&] { return all_asleep(); }));
}

TEST_F(SchedulerTest, DevicePortThatFailedIsLeftInPeace) {
    scheduler_->set_workers(1);
    struct Failing : SourcePort {
        using SourcePort::SourcePort;
        void break_down() {
            fail(ENODEV);
            offer(1);
        }
    };
    Failing failing(pools(), 50, Wakeup::eventfd);
    network_->publish(50, failing);
    scheduler_->add_port(50, failing);
    ASSERT_TRUE(eventually([&] { return all_asleep(); }));
    failing.break_down();
    EXPECT_TRUE(eventually([&] { return all_asleep(); }));
    SourcePort& other = add_source(Wakeup::eventfd);
    other.offer(1000);
    expect_all_delivered();
    EXPECT_TRUE(eventually([&] { return all_asleep(); })) << "the dead port keeps a worker busy";
    const uint64_t wakeups = scheduler_->worker_status()[0].statistics.wakeups;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(scheduler_->worker_status()[0].statistics.wakeups, wakeups);
    EXPECT_EQ(failing.waiting(), 1u);
    scheduler_->remove_port(50);
    network_->unpublish(50);
    scheduler_->synchronize();
    network_->forget(50);
}

}  // namespace
}  // namespace heddle::worker
