#include "packet/frame.h"

#include <gmock/gmock.h>

#include "support/eal.h"
#include "support/frames.h"
#include "support/packet_model.h"

namespace heddle::packet {
namespace {

using test::Bytes;
using test::bytes_of;
using test::FramePtr;
using test::is_sane;
using test::make_frame;

class FrameTest : public test::PoolTest {
 protected:
    Bytes content_ = test::random_bytes(random_, 5000);
    static inline std::mt19937 random_{1};
};

TEST_F(FrameTest, ChainReaderYieldsEveryByteOnceWhateverTheSegments) {
    for (int round = 0; round < 200; ++round) {
        const FramePtr frame = make_frame(pools(), content_, test::random_split(random_, 0, 5000));
        const uint32_t offset = random_() % 5001;
        const uint32_t limit = 1 + random_() % 3000;
        Bytes read;
        ChainReader reader(frame.get(), offset);
        for (auto piece = reader.next(limit); !piece.empty(); piece = reader.next(limit)) {
            ASSERT_LE(piece.size(), limit);
            for (const std::byte byte : piece)
                read.push_back(static_cast<uint8_t>(byte));
        }
        ASSERT_EQ(read, Bytes(content_.begin() + offset, content_.end()));
    }
}

TEST_F(FrameTest, ChainReaderBehindTheEndReadsNothing) {
    const FramePtr frame = make_frame(pools(), content_, {0, 17, 0});
    EXPECT_TRUE(ChainReader(frame.get(), 5001).next(1).empty());
    EXPECT_TRUE(ChainReader(frame.get(), UINT32_MAX).next(1).empty());
}

TEST_F(FrameTest, CopyOutCrossesSegmentsAndStopsAtTheEnd) {
    const FramePtr frame = make_frame(pools(), content_, {1, 0, 2, 3, 1000});
    Bytes out(2000);
    const auto span = std::as_writable_bytes(std::span(out));
    ASSERT_TRUE(copy_out(frame.get(), 3000, span));
    EXPECT_EQ(out, Bytes(content_.begin() + 3000, content_.end()));
    ASSERT_TRUE(copy_out(frame.get(), 1, span.first(4)));
    EXPECT_EQ(Bytes(out.begin(), out.begin() + 4),
              Bytes(content_.begin() + 1, content_.begin() + 5));
    EXPECT_FALSE(copy_out(frame.get(), 3001, span));
    EXPECT_FALSE(copy_out(frame.get(), UINT32_MAX, span));
    EXPECT_TRUE(copy_out(frame.get(), 5000, {}));
}

TEST_F(FrameTest, PullGathersAHeaderSplitIntoSingleBytesAndKeepsTheContent) {
    const FramePtr frame = make_frame(pools(), content_, {1, 1, 0, 1, 5, 100});
    ASSERT_TRUE(pull(frame.get(), 54));
    EXPECT_GE(frame->data_len, 54);
    EXPECT_TRUE(is_sane(frame.get()));
    EXPECT_EQ(bytes_of(frame.get()), content_);
    EXPECT_EQ(frame->nb_segs, 3) << "emptied segments are freed";
}

TEST_F(FrameTest, PullOfMoreThanThereIsOrFitsChangesNothing) {
    const FramePtr frame = make_frame(pools(), content_, {10, 10});
    EXPECT_FALSE(pull(frame.get(), 5001));
    EXPECT_FALSE(pull(frame.get(), kSmallRoom + 1));
    EXPECT_EQ(frame->data_len, 10);
    EXPECT_EQ(frame->nb_segs, 3);
    EXPECT_EQ(bytes_of(frame.get()), content_);
}

TEST_F(FrameTest, PullDoesNotWriteIntoBytesAClonesOwnerReads) {
    const FramePtr frame = make_frame(pools(), content_, {10, 10});
    const FramePtr clone(rte_pktmbuf_clone(frame.get(), pools().small()));
    EXPECT_FALSE(pull(frame.get(), 20));
    EXPECT_FALSE(pull(clone.get(), 20));
    EXPECT_TRUE(pull(clone.get(), 10));
}

TEST_F(FrameTest, EnsureHeadroomLeavesAFrameAloneThatHasIt) {
    FramePtr frame = make_frame(pools(), content_);
    rte_mbuf* same = ensure_headroom(frame.get(), kHeadroom, pools());
    EXPECT_EQ(same, frame.get());
}

TEST_F(FrameTest, EnsureHeadroomGivesACloneHeadersOfItsOwn) {
    for (const std::vector<size_t>& lengths :
         {std::vector<size_t>{}, std::vector<size_t>{60}, std::vector<size_t>{2048, 10}}) {
        const FramePtr frame = make_frame(pools(), content_, lengths);
        metadata(frame.get()).payload_offset = 300;
        metadata(frame.get()).flow_hash = 7;
        rte_mbuf* clone = rte_pktmbuf_clone(frame.get(), pools().small());
        metadata(clone) = metadata(frame.get());
        const FramePtr own(ensure_headroom(clone, 50, pools()));
        ASSERT_TRUE(own);
        EXPECT_TRUE(is_exclusive(own.get()));
        EXPECT_GE(rte_pktmbuf_headroom(own.get()), 50);
        EXPECT_EQ(metadata(own.get()).flow_hash, 7u);
        EXPECT_EQ(bytes_of(own.get()), content_);
        EXPECT_TRUE(is_sane(own.get()));

        first_segment(own.get())[0] ^= std::byte{0xff};
        EXPECT_EQ(bytes_of(frame.get()), content_) << "the other owner saw the change";
    }
}

TEST_F(FrameTest, EnsureHeadroomOfAFullSmallFrameDoesNotLengthenTheChain) {
    FramePtr frame = make_frame(pools(), Bytes(100, 1));
    rte_pktmbuf_prepend(frame.get(), kHeadroom - 4);
    rte_mbuf* head = ensure_headroom(frame.get(), 8, pools());
    ASSERT_NE(head, frame.get());
    (void)frame.release();
    frame.reset(head);
    EXPECT_EQ(head->nb_segs, 1);
    EXPECT_EQ(head->pkt_len, 100u + kHeadroom - 4);
    EXPECT_GE(rte_pktmbuf_headroom(head), 8);
}

TEST_F(FrameTest, PrependShiftsOffsetsWithTheHeaders) {
    const FramePtr frame = make_frame(pools(), content_);
    metadata(frame.get()).l3_offset = 14;
    metadata(frame.get()).l4_offset = 34;
    const std::byte* begin = prepend(frame.get(), 4);
    EXPECT_EQ(begin, first_segment(frame.get()).data());
    EXPECT_EQ(frame->pkt_len, 5004u);
    EXPECT_EQ(metadata(frame.get()).l3_offset, 18);
    EXPECT_EQ(metadata(frame.get()).l4_offset, 38);
    EXPECT_EQ(metadata(frame.get()).inner_l4_offset, 0) << "absent stays absent";
}

TEST_F(FrameTest, ParseHeadersFindsHeadersSplitOverSegments) {
    const test::PacketModel model{.vlan_tags = 2, .payload = Bytes(3000, 5)};
    const Bytes content = model.bytes(test::ChecksumField::full);
    const FramePtr frame = make_frame(pools(), content, {14, 1, 7, 13, 20});
    const auto headers = parse_headers(frame.get());
    EXPECT_FALSE(headers.incomplete);
    EXPECT_EQ(headers.payload_offset, model.payload_offset());
    EXPECT_GE(first_segment(frame.get()).size(), model.payload_offset());
    EXPECT_EQ(bytes_of(frame.get()), content);
}

}  // namespace
}  // namespace heddle::packet
