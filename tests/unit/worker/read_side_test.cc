#include "worker/read_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace heddle::worker {
namespace {

TEST(ReadSide, GracePeriodWithoutWorkersIsOverAtOnce) {
    ReadSide read_side;
    read_side.synchronize();
}

TEST(ReadSide, SleepingWorkerIsNotWaitedFor) {
    ReadSide read_side;
    read_side.enter(3);
    read_side.offline(3);
    read_side.synchronize();
    read_side.online(3);
    read_side.leave(3);
    read_side.synchronize();
}

TEST(ReadSide, GracePeriodLastsUntilTheReaderIsQuiescent) {
    ReadSide read_side;
    std::atomic<int> stage{0};
    std::thread reader([&] {
        read_side.enter(0);
        stage = 1;
        while (stage.load() != 2) {
        }
        // The control thread is about to wait or waits already; it must not get past us.
        for (int i = 0; i < 100'000; ++i)
            ASSERT_NE(stage.load(), 3);
        read_side.quiescent(0);
        while (stage.load() != 3)
            read_side.quiescent(0);
        read_side.leave(0);
    });
    while (stage.load() != 1) {
    }
    stage = 2;
    read_side.synchronize();
    stage = 3;
    reader.join();
}

// What forwarding tables do with it. Under the address sanitizer a reader that holds on to an
// object too long is a use after free.
TEST(ReadSide, ObjectFreedAfterAGracePeriodIsNeverReadAgain) {
    constexpr uint64_t kAlive = 0x1234;
    struct Object {
        std::atomic<uint64_t> mark{kAlive};
        ~Object() { mark = 0; }
    };
    ReadSide read_side;
    std::atomic<const Object*> published{new Object};
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> dead{0};
    std::vector<std::thread> readers;
    for (unsigned id = 0; id < 3; ++id) {
        readers.emplace_back([&, id] {
            read_side.enter(id);
            for (unsigned round = 0; !stop.load(std::memory_order_relaxed); ++round) {
                const Object* object = published.load(std::memory_order_acquire);
                for (int i = 0; i < 10; ++i)
                    dead += object->mark.load(std::memory_order_relaxed) != kAlive;
                read_side.quiescent(id);
                if (round % 64 == 0) {
                    read_side.offline(id);
                    read_side.online(id);
                }
            }
            read_side.leave(id);
        });
    }
    for (int i = 0; i < 500; ++i) {
        const Object* old = published.exchange(new Object, std::memory_order_acq_rel);
        read_side.synchronize();
        delete old;
    }
    stop = true;
    for (std::thread& reader : readers)
        reader.join();
    delete published.load();
    EXPECT_EQ(dead, 0u);
}

}  // namespace
}  // namespace heddle::worker
