#include "packet/checksum.h"

#include "packet/frame.h"
#include "support/eal.h"
#include "support/frames.h"
#include "support/packet_model.h"

namespace heddle::packet {
namespace {

using test::Bytes;
using test::bytes_of;
using test::ChecksumField;
using test::FramePtr;
using test::make_frame;
using test::PacketModel;

class ChecksumTest : public test::PoolTest {
 protected:
    FramePtr partial_frame(const PacketModel& model, const std::vector<size_t>& lengths) {
        FramePtr frame = make_frame(pools(), model.bytes(ChecksumField::partial), lengths);
        metadata(frame.get()) = model.metadata(L4Checksum::partial);
        return frame;
    }

    std::mt19937 random_{2};
};

TEST_F(ChecksumTest, CompletionEqualsTheNaiveSumForAnyLengthAndSplit) {
    for (size_t length = 0; length < 1000; ++length) {
        PacketModel model{.v6 = (length & 1) != 0, .udp = (length & 2) != 0};
        model.payload = test::random_bytes(random_, length * (length % 7 == 0 ? 30 : 1));
        const auto split =
            test::random_split(random_, model.payload_offset(), model.payload.size());
        const FramePtr frame = partial_frame(model, split);
        complete_l4_checksum(frame.get());
        ASSERT_EQ(bytes_of(frame.get()), model.bytes(ChecksumField::full)) << "payload " << length;
        ASSERT_EQ(metadata(frame.get()).l4_checksum, L4Checksum::good);
    }
}

TEST_F(ChecksumTest, UdpSumOfZeroIsSentAsAllOnesAndTcpsAsZero) {
    for (const bool udp : {true, false}) {
        PacketModel model{.udp = udp, .payload = Bytes(101, 0x5a)};
        model.force_checksum(0);
        const FramePtr frame = partial_frame(model, {70});
        complete_l4_checksum(frame.get());
        const Bytes bytes = bytes_of(frame.get());
        EXPECT_EQ(test::load16(bytes, model.checksum_offset()), udp ? 0xffff : 0);
        EXPECT_EQ(bytes, model.bytes(ChecksumField::full));
    }
}

TEST_F(ChecksumTest, ResultOfAllOnesIsWrittenAsSuch) {
    PacketModel model{.payload = Bytes(60, 0)};
    model.force_checksum(0xfffe);
    const FramePtr frame = partial_frame(model, {});
    complete_l4_checksum(frame.get());
    EXPECT_EQ(test::load16(bytes_of(frame.get()), model.checksum_offset()), 0xfffe);
}

TEST_F(ChecksumTest, EthernetPaddingIsNotPartOfTheMessage) {
    for (const bool udp : {true, false}) {
        const PacketModel model{.udp = udp, .payload = {1}};
        Bytes bytes = model.bytes(ChecksumField::partial);
        bytes.resize(60, 0xee);
        const FramePtr frame = make_frame(pools(), bytes, {model.payload_offset(), 3});
        metadata(frame.get()) = model.metadata(L4Checksum::partial);
        complete_l4_checksum(frame.get());
        Bytes expected = model.bytes(ChecksumField::full);
        expected.resize(60, 0xee);
        EXPECT_EQ(bytes_of(frame.get()), expected);
    }
}

TEST_F(ChecksumTest, LengthsBeyondTheFrameDoNotReadBeyondIt) {
    for (const bool v6 : {true, false}) {
        for (const bool udp : {true, false}) {
            const PacketModel model{.v6 = v6, .udp = udp, .payload = Bytes(30, 3)};
            Bytes bytes = model.bytes(ChecksumField::partial);
            test::store16(bytes, model.l3_offset() + (v6 ? 4 : 2), 0xffff);
            if (udp) test::store16(bytes, model.l4_offset() + 4, 0xffff);
            const FramePtr frame = make_frame(pools(), bytes);
            metadata(frame.get()) = model.metadata(L4Checksum::partial);
            complete_l4_checksum(frame.get());
            EXPECT_EQ(metadata(frame.get()).l4_checksum, L4Checksum::good);
        }
    }
}

TEST_F(ChecksumTest, OnlyPartialChecksumsAreTouched) {
    const PacketModel model{.payload = Bytes(10, 1)};
    for (const L4Checksum state : {L4Checksum::unknown, L4Checksum::good, L4Checksum::bad}) {
        Bytes bytes = model.bytes(ChecksumField::full);
        test::store16(bytes, model.checksum_offset(), 0x1234);
        const FramePtr frame = make_frame(pools(), bytes);
        metadata(frame.get()) = model.metadata(state);
        complete_l4_checksum(frame.get());
        EXPECT_EQ(bytes_of(frame.get()), bytes);
        EXPECT_EQ(metadata(frame.get()).l4_checksum, state);
    }
}

/// A UDP tunnel packet that carries an Ethernet frame behind 8 bytes of tunnel header (VXLAN).
struct Tunnel {
    explicit Tunnel(size_t payload) {
        inner.payload = Bytes(payload, 0x33);
        outer.udp = true;
    }
    Bytes bytes(ChecksumField outer_field, ChecksumField inner_field) {
        outer.payload = {8, 0, 0, 0, 0, 0, 42, 0};
        test::append(outer.payload, inner.bytes(inner_field));
        return outer.bytes(outer_field);
    }
    size_t inner_offset() const { return outer.payload_offset() + 8; }

    PacketModel outer;
    PacketModel inner;
};

TEST_F(ChecksumTest, InnerPartialIsCompletedBeforeTheOuterOneThatCoversIt) {
    Tunnel tunnel(777);
    const FramePtr frame = make_frame(
        pools(), tunnel.bytes(ChecksumField::partial, ChecksumField::partial), {400, 1, 2, 3});
    Metadata& known = metadata(frame.get());
    known = tunnel.outer.metadata(L4Checksum::partial);
    const auto base = static_cast<uint16_t>(tunnel.inner_offset());
    known.inner_l3_offset = static_cast<uint16_t>(base + tunnel.inner.l3_offset());
    known.inner_l4_offset = static_cast<uint16_t>(base + tunnel.inner.l4_offset());
    known.inner_payload_offset = static_cast<uint16_t>(base + tunnel.inner.payload_offset());
    known.inner_l4_checksum = L4Checksum::partial;
    complete_l4_checksum(frame.get());
    EXPECT_EQ(bytes_of(frame.get()), tunnel.bytes(ChecksumField::full, ChecksumField::full));
    EXPECT_EQ(known.l4_checksum, L4Checksum::good);
    EXPECT_EQ(known.inner_l4_checksum, L4Checksum::good);
}

TEST_F(ChecksumTest, CompletionAtAnyPlaceReachesIntoTunnelPayloadAcrossSegments) {
    Tunnel tunnel(777);
    const Bytes before = tunnel.bytes(ChecksumField::partial, ChecksumField::partial);
    const Bytes after = tunnel.bytes(ChecksumField::partial, ChecksumField::full);
    const uint32_t start = static_cast<uint32_t>(tunnel.inner_offset() + tunnel.inner.l4_offset());
    // The second split puts the two bytes of the field into different segments.
    for (const std::vector<size_t>& split :
         {std::vector<size_t>{}, std::vector<size_t>{start + 17}, std::vector<size_t>{60, 1, 0}}) {
        const FramePtr frame = make_frame(pools(), before, split);
        ASSERT_TRUE(complete_checksum_at(frame.get(), start, 16));
        EXPECT_EQ(bytes_of(frame.get()), after);
    }
}

TEST_F(ChecksumTest, CompletionAtAPlaceOutsideTheFrameIsRefused) {
    const Bytes bytes(100, 1);
    const FramePtr frame = make_frame(pools(), bytes, {30, 30});
    EXPECT_FALSE(complete_checksum_at(frame.get(), 99, 0));
    EXPECT_FALSE(complete_checksum_at(frame.get(), 83, 16));
    EXPECT_FALSE(complete_checksum_at(frame.get(), 65535, 65535));
    EXPECT_FALSE(complete_checksum_at(frame.get(), UINT32_MAX, UINT32_MAX));
    EXPECT_EQ(bytes_of(frame.get()), bytes);
    EXPECT_TRUE(complete_checksum_at(frame.get(), 82, 16)) << "the last two bytes";
}

}  // namespace
}  // namespace heddle::packet
