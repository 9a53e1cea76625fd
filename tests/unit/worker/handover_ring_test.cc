#include "worker/handover_ring.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "pools.h"

namespace heddle::worker {
namespace {

class HandoverRingTest : public test::ThreadedPoolTest {
 protected:
    /// The ring never looks into a frame: any number will do.
    static rte_mbuf* fake(uintptr_t number) { return reinterpret_cast<rte_mbuf*>(number << 6); }
    static std::vector<rte_mbuf*> fakes(uintptr_t first, size_t count) {
        std::vector<rte_mbuf*> frames;
        for (size_t i = 0; i < count; ++i)
            frames.push_back(fake(first + i));
        return frames;
    }
};

TEST_F(HandoverRingTest, FramesComeOutInTheOrderTheyWerePushed) {
    HandoverRing ring("order");
    EXPECT_TRUE(ring.empty());
    ASSERT_TRUE(ring.push(fakes(1, 10)));
    ASSERT_TRUE(ring.push(fakes(11, 10)));
    EXPECT_FALSE(ring.empty());
    std::vector<rte_mbuf*> out(64);
    ASSERT_EQ(ring.pop(out), 20u);
    out.resize(20);
    EXPECT_EQ(out, fakes(1, 20));
    EXPECT_TRUE(ring.empty());
}

TEST_F(HandoverRingTest, PushThatDoesNotFitPushesNothing) {
    HandoverRing ring("full");
    unsigned pushed = 0;
    while (ring.has_room(64)) {
        ASSERT_TRUE(ring.push(fakes(1, 64)));
        pushed += 64;
    }
    EXPECT_GT(pushed, HandoverRing::kSize - 128);
    EXPECT_FALSE(ring.push(fakes(1, 64)));
    std::vector<rte_mbuf*> out(2 * HandoverRing::kSize);
    EXPECT_EQ(ring.pop(out), pushed);
}

TEST_F(HandoverRingTest, PositionIsPassedOnlyWhenFramesBeforeItAreFinishedNotWhenTheyArePopped) {
    HandoverRing ring("position");
    EXPECT_TRUE(ring.passed(ring.position())) << "nothing was pushed";
    ASSERT_TRUE(ring.push(fakes(1, 5)));
    const uint32_t five = ring.position();
    ASSERT_TRUE(ring.push(fakes(6, 5)));
    const uint32_t ten = ring.position();
    EXPECT_FALSE(ring.passed(five));
    std::vector<rte_mbuf*> out(5);
    ASSERT_EQ(ring.pop(out), 5u);
    EXPECT_FALSE(ring.passed(five)) << "popped, but still in the consumer's hands";
    ring.finished(5);
    EXPECT_TRUE(ring.passed(five));
    EXPECT_FALSE(ring.passed(ten));
    ASSERT_EQ(ring.pop(out), 5u);
    ring.finished(5);
    EXPECT_TRUE(ring.passed(ten));
}

// Positions are counted in 32 bits: at 10 million frames a second they wrap every seven minutes.
TEST_F(HandoverRingTest, PositionsStayRightAcrossTheWrapOf32Bits) {
    HandoverRing ring("wrap");
    constexpr uint32_t kStart = 0U - 1000;
    rte_ring* raw = rte_ring_lookup("wrap");
    ASSERT_NE(raw, nullptr);
    (HandoverRing::kRelaxedTail ? raw->rts_prod.head.val.pos : raw->prod.head) = kStart;
    (HandoverRing::kRelaxedTail ? raw->rts_prod.tail.val.pos : raw->prod.tail) = kStart;
    raw->cons.head = kStart;
    raw->cons.tail = kStart;
    ring.finished(kStart);
    ASSERT_EQ(ring.position(), kStart);
    std::vector<rte_mbuf*> out(64);
    for (uintptr_t i = 0; i < 100; ++i) {
        const uint32_t before = ring.position();
        ASSERT_TRUE(ring.push(fakes(1 + 40 * i, 40)));
        const uint32_t behind = ring.position();
        ASSERT_EQ(behind - before, 40u);
        EXPECT_TRUE(ring.passed(before));
        EXPECT_FALSE(ring.passed(behind));
        ASSERT_EQ(ring.pop(out), 40u);
        EXPECT_EQ(out[39], fake(40 + 40 * i));
        EXPECT_FALSE(ring.passed(behind));
        ring.finished(39);
        EXPECT_FALSE(ring.passed(behind));
        ring.finished(1);
        EXPECT_TRUE(ring.passed(behind));
    }
    EXPECT_LT(ring.position(), 10'000u) << "it did wrap";
}

TEST_F(HandoverRingTest, FramesOfManyProducersArriveOnceAndInEachProducersOrder) {
    constexpr unsigned kProducers = 3;
    constexpr uintptr_t kFrames = 100'000;
    HandoverRing ring("many");
    std::vector<std::thread> producers;
    for (uintptr_t producer = 0; producer < kProducers; ++producer) {
        producers.emplace_back([&, producer] {
            for (uintptr_t next = 0; next < kFrames;) {
                const size_t count = std::min<size_t>(1 + next % 7, kFrames - next);
                if (!ring.push(fakes(producer << 32 | (next + 1), count))) {
                    std::this_thread::yield();
                    continue;
                }
                next += count;
            }
        });
    }
    std::vector<uintptr_t> last(kProducers, 0);
    std::vector<rte_mbuf*> out(64);
    for (uintptr_t received = 0; received < kProducers * kFrames;) {
        const unsigned count = ring.pop(out);
        if (count == 0) std::this_thread::yield();
        for (unsigned i = 0; i < count; ++i) {
            const uintptr_t number = reinterpret_cast<uintptr_t>(out[i]) >> 6;
            ASSERT_EQ(number & 0xffff'ffff, ++last[number >> 32]);
        }
        ring.finished(count);
        received += count;
    }
    for (std::thread& producer : producers)
        producer.join();
    EXPECT_TRUE(ring.passed(ring.position()));
    EXPECT_TRUE(ring.empty());
}

}  // namespace
}  // namespace heddle::worker
