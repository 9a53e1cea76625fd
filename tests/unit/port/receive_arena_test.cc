#include "port/receive_arena.h"

#include "port_fixture.h"

namespace heddle::port {
namespace {

using packet::kSmallRoom;
using test::FramePtr;

class ReceiveArenaTest : public test::PoolTest {
 protected:
    /// As a system call does: fills the buffers of a slot with bytes that count up.
    void fill(unsigned slot, size_t bytes) {
        uint8_t next = 0;
        for (const iovec& buffer : arena_.buffers(slot)) {
            auto* out = static_cast<uint8_t*>(buffer.iov_base);
            for (size_t i = 0; i < buffer.iov_len && bytes != 0; ++i, --bytes)
                out[i] = next++;
        }
    }
    ReceiveArena arena_{pools()};
};

TEST_F(ReceiveArenaTest, FramesOfAllLengthsComeOutAsTheyWereReadIn) {
    for (const size_t bytes : {size_t{1}, size_t{60}, size_t{kSmallRoom} - 1, size_t{kSmallRoom},
                               size_t{kSmallRoom} + 1, ReceiveArena::kSlotBytes}) {
        ASSERT_EQ(arena_.prepare(1), 1);
        fill(0, bytes);
        const FramePtr frame(arena_.take(0, bytes));
        EXPECT_TRUE(test::is_sane(frame.get())) << bytes;
        EXPECT_EQ(frame->nb_segs, bytes > kSmallRoom ? 2 : 1);
        EXPECT_EQ(rte_pktmbuf_headroom(frame.get()), packet::kHeadroom);
        const test::Bytes read = test::bytes_of(frame.get());
        ASSERT_EQ(read.size(), bytes);
        for (size_t i = 0; i < bytes; ++i)
            ASSERT_EQ(read[i], static_cast<uint8_t>(i)) << i;
    }
}

TEST_F(ReceiveArenaTest, SmallFrameLeavesTheLargeBufferInPlace) {
    ASSERT_EQ(arena_.prepare(1), 1);
    void* const large = arena_.buffers(0)[1].iov_base;
    FramePtr{arena_.take(0, 60)}.reset();
    EXPECT_EQ(arena_.held(), 1);
    ASSERT_EQ(arena_.prepare(1), 1);
    EXPECT_EQ(arena_.buffers(0)[1].iov_base, large);
}

TEST_F(ReceiveArenaTest, MetadataIsClearWhateverTheBufferWasUsedForBefore) {
    ASSERT_EQ(arena_.prepare(1), 1);
    FramePtr frame(arena_.take(0, 60));
    std::memset(static_cast<void*>(&packet::metadata(frame.get())), 0xff, sizeof(packet::Metadata));
    frame.reset();
    ASSERT_EQ(arena_.prepare(1), 1);
    frame.reset(arena_.take(0, 60));
    const packet::Metadata clear{};
    EXPECT_EQ(std::memcmp(&packet::metadata(frame.get()), &clear, sizeof(clear)), 0);
}

TEST_F(ReceiveArenaTest, HoldsNoMoreThanItsSlots) {
    EXPECT_EQ(arena_.prepare(1000), ReceiveArena::kSlots);
    EXPECT_EQ(arena_.held(), 2 * ReceiveArena::kSlots);
    EXPECT_EQ(arena_.prepare(1000), ReceiveArena::kSlots);
    EXPECT_EQ(arena_.held(), 2 * ReceiveArena::kSlots);
}

TEST_F(ReceiveArenaTest, WithoutFreeBuffersItHasTheSlotsThereAreBuffersFor) {
    std::vector<FramePtr> taken;
    while (rte_mbuf* buffer = rte_pktmbuf_alloc(pools().large()))
        taken.emplace_back(buffer);
    EXPECT_EQ(arena_.prepare(4), 0);
    taken.resize(taken.size() - 2);
    EXPECT_EQ(arena_.prepare(4), 2);
    taken.clear();
    EXPECT_EQ(arena_.prepare(4), 4);
}

}  // namespace
}  // namespace heddle::port
