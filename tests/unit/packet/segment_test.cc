#include "packet/segment.h"

#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <memory>
#include <utility>

#include "packet/checksum.h"
#include "packet/frame.h"
#include "support/eal.h"
#include "support/frames.h"
#include "support/packet_model.h"

namespace heddle::packet {
namespace {

using test::append;
using test::Bytes;
using test::bytes_of;
using test::ChecksumField;
using test::FramePtr;
using test::make_frame;
using test::PacketModel;
using test::TunnelModel;

constexpr uint8_t kCwr = 0x80, kEce = 0x40, kPsh = 0x08, kFin = 0x01, kAck = 0x10;

class SegmentTest : public test::PoolTest {
 protected:
    FramePtr superframe(const PacketModel& model, uint16_t gso_size,
                        const std::vector<size_t>& split = test::arena_split()) {
        FramePtr frame = make_frame(pools(), model.bytes(ChecksumField::partial), split);
        metadata(frame.get()) = model.metadata(L4Checksum::partial, gso_size);
        metadata(frame.get()).gso_ecn = true;  // means nothing to a segment
        return frame;
    }

    /// Takes over the frame; the segments are in segments_ then.
    tl::expected<uint32_t, DropReason> cut(FramePtr frame, bool complete_checksum) {
        segments_.clear();
        const auto count = segment(frame.release(), pools(), complete_checksum, out_);
        for (uint32_t i = 0; i < count.value_or(0); ++i)
            segments_.emplace_back(out_[i]);
        return count;
    }

    void expect_segments(const PacketModel& model, uint16_t gso_size, bool complete_checksum) {
        const auto expected = model.segments(gso_size);
        ASSERT_EQ(segments_.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
            SCOPED_TRACE("segment " + std::to_string(i));
            rte_mbuf* actual = segments_[i].get();
            ASSERT_EQ(bytes_of(actual),
                      expected[i].bytes(complete_checksum ? ChecksumField::full
                                                          : ChecksumField::partial));
            ASSERT_TRUE(test::is_sane(actual));
            ASSERT_GE(rte_pktmbuf_headroom(actual), kHeadroom);
            ASSERT_TRUE(is_exclusive(actual));
            if (actual->pkt_len <= kSmallRoom) {
                ASSERT_EQ(actual->nb_segs, 1);
            }
            const Metadata wanted =
                expected[i].metadata(complete_checksum ? L4Checksum::good : L4Checksum::partial);
            ASSERT_EQ(std::memcmp(&metadata(actual), &wanted, sizeof(wanted)), 0);
        }
    }

    FramePtr superframe(const TunnelModel& model, uint16_t gso_size,
                        const std::vector<size_t>& split = test::arena_split()) {
        FramePtr frame = make_frame(pools(), model.bytes(ChecksumField::partial), split);
        metadata(frame.get()) = model.metadata(L4Checksum::unknown, L4Checksum::partial, gso_size);
        metadata(frame.get()).gso_ecn = true;
        return frame;
    }

    void expect_segments(const TunnelModel& model, uint16_t gso_size) {
        const auto expected = model.segments(gso_size);
        ASSERT_EQ(segments_.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
            SCOPED_TRACE("segment " + std::to_string(i));
            rte_mbuf* actual = segments_[i].get();
            ASSERT_EQ(bytes_of(actual), expected[i].bytes(ChecksumField::full));
            ASSERT_TRUE(test::is_sane(actual));
            ASSERT_GE(rte_pktmbuf_headroom(actual), kHeadroom);
            ASSERT_TRUE(is_exclusive(actual));
            const bool has_outer = model.outer.udp && model.outer_checksum;
            const Metadata wanted = expected[i].metadata(
                has_outer ? L4Checksum::good : L4Checksum::unknown, L4Checksum::good);
            ASSERT_EQ(std::memcmp(&metadata(actual), &wanted, sizeof(wanted)), 0);
        }
    }

    void expect_drop(FramePtr frame, DropReason reason) {
        for (const bool complete : {true, false}) {
            FramePtr copy = make_frame(pools(), bytes_of(frame.get()), test::arena_split());
            metadata(copy.get()) = metadata(frame.get());
            const auto result = cut(std::move(copy), complete);
            ASSERT_FALSE(result);
            EXPECT_EQ(result.error(), reason);
        }
    }

    PacketModel random_model() {
        const auto chance = [&](unsigned of) { return random_() % of == 0; };
        PacketModel model{
            .v6 = chance(2), .udp = chance(3), .vlan_tags = static_cast<unsigned>(random_() % 3)};
        if (!model.v6 && chance(2)) model.ip_options = Bytes(4 * (1 + random_() % 10), 1);
        while (model.v6 && model.extensions.size() < 3 && chance(2)) {
            const unsigned units = random_() % 3;
            Bytes content = {static_cast<uint8_t>(units), 1, static_cast<uint8_t>(4 + 8 * units)};
            content.resize(7 + 8 * units);
            // Hop-by-hop options come first; then destination options, all of them one PadN.
            const uint8_t type = model.extensions.empty() ? 0 : 60;
            model.extensions.push_back({type, content});
        }
        if (chance(2)) model.tcp_options = test::tcp_timestamps();
        if (chance(4)) model.tcp_options = Bytes(4 * (random_() % 11), 1);
        model.tcp_flags = static_cast<uint8_t>(kAck | (random_() & (kCwr | kEce | kPsh | kFin)));
        model.sequence = static_cast<uint32_t>(random_());
        model.ip_id = static_cast<uint16_t>(random_());
        const size_t most = 65535 - (model.payload_offset() - model.l3_offset());
        model.payload = test::random_bytes(random_, 1 + random_() % most);
        return model;
    }

    std::mt19937 random_{3};
    std::unique_ptr<rte_mbuf*[]> storage_ = std::make_unique<rte_mbuf*[]>(kMaxSegments);
    std::span<rte_mbuf*> out_{storage_.get(), kMaxSegments};
    std::vector<FramePtr> segments_;
};

TEST_F(SegmentTest, AnyHeadersPayloadAndSplitEqualTheNaiveModelByteByByte) {
    for (int round = 0; round < 1500; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        const PacketModel model = random_model();
        const uint16_t gso_size = static_cast<uint16_t>(
            round % 3 == 0 ? 48 + random_() % 200 : 48 + random_() % (9000 - 48));
        const bool complete = round % 2 == 0;
        FramePtr frame =
            superframe(model, gso_size,
                       test::random_split(random_, model.payload_offset(), model.payload.size()));
        const uint32_t count = segment_count(frame.get());
        if (count == 1) continue;  // see the tests of that case
        const auto result = cut(std::move(frame), complete);
        ASSERT_TRUE(result);
        ASSERT_EQ(*result, count);
        expect_segments(model, gso_size, complete);
        if (HasFatalFailure()) return;
    }
}

TEST_F(SegmentTest, ReassembledSegmentsGiveBackThePayload) {
    for (const bool udp : {false, true}) {
        PacketModel model{.v6 = true, .udp = udp, .payload = test::random_bytes(random_, 64001)};
        ASSERT_TRUE(cut(superframe(model, 1447), true));
        Bytes reassembled;
        for (const FramePtr& segment : segments_) {
            const Bytes bytes = bytes_of(segment.get());
            append(reassembled,
                   {bytes.begin() + static_cast<ptrdiff_t>(model.payload_offset()), bytes.end()});
        }
        EXPECT_EQ(reassembled, model.payload);
    }
}

/// Field case 1.12.
TEST_F(SegmentTest, OddSegmentsOfMtuProbingHaveValidChecksums) {
    PacketModel model{.payload = test::random_bytes(random_, 1447 + 1447 + 733)};
    const std::vector<size_t> odd_split = {model.payload_offset() + 1, 1447, 3};
    ASSERT_EQ(cut(superframe(model, 1447, odd_split), true), 3u);
    expect_segments(model, 1447, true);
    EXPECT_EQ(segments_[2]->pkt_len, model.payload_offset() + 733);
}

/// Field case 1.8.
TEST_F(SegmentTest, CwrIsOnTheFirstSegmentOnlyFinAndPshOnTheLastOnly) {
    PacketModel model{.tcp_flags = kCwr | kEce | kPsh | kFin | kAck, .payload = Bytes(3000, 1)};
    ASSERT_EQ(cut(superframe(model, 1000), true), 3u);
    const auto flags = [&](size_t i) {
        return bytes_of(segments_[i].get()).at(model.l4_offset() + 13);
    };
    EXPECT_EQ(flags(0), kCwr | kEce | kAck);
    EXPECT_EQ(flags(1), kEce | kAck);
    EXPECT_EQ(flags(2), kEce | kPsh | kFin | kAck);
}

TEST_F(SegmentTest, SequenceNumberAndIdentificationWrapAround) {
    PacketModel model{.sequence = 0xffff'fff0, .ip_id = 0xfffe, .payload = Bytes(5000, 9)};
    ASSERT_TRUE(cut(superframe(model, 1000), true));
    expect_segments(model, 1000, true);
}

TEST_F(SegmentTest, UdpChecksumOfZeroIsSentAsAllOnesAndTcpsAsZero) {
    for (const bool udp : {true, false}) {
        PacketModel model{.udp = udp, .payload = Bytes(1000, 7)};
        // The last segment is the one whose first bytes do not matter to the others.
        PacketModel last = model.segments(600)[1];
        last.force_checksum(0);
        std::copy(last.payload.begin(), last.payload.end(), model.payload.begin() + 600);
        ASSERT_EQ(cut(superframe(model, 600), true), 2u);
        expect_segments(model, 600, true);
        EXPECT_EQ(test::load16(bytes_of(segments_[1].get()), model.checksum_offset()),
                  udp ? 0xffff : 0);
    }
}

TEST_F(SegmentTest, PartialSegmentsCompletedLaterEqualThoseCompletedAtOnce) {
    PacketModel model{.udp = true, .payload = test::random_bytes(random_, 20001)};
    ASSERT_TRUE(cut(superframe(model, 1448), false));
    for (const FramePtr& segment : segments_)
        complete_l4_checksum(segment.get());
    expect_segments(model, 1448, true);
}

TEST_F(SegmentTest, SuperframesWithFullChecksumsAreCutAsWell) {
    for (const L4Checksum state : {L4Checksum::good, L4Checksum::unknown}) {
        for (const bool v6 : {true, false}) {
            for (const bool complete : {true, false}) {
                const PacketModel model{.v6 = v6, .payload = Bytes(5000, 0x42)};
                FramePtr frame = make_frame(pools(), model.bytes(ChecksumField::full));
                metadata(frame.get()) = model.metadata(state, 1448);
                ASSERT_EQ(cut(std::move(frame), complete), 4u);
                const auto expected = model.segments(1448);
                for (size_t i = 0; i < 4; ++i) {
                    EXPECT_EQ(
                        bytes_of(segments_[i].get()),
                        expected[i].bytes(complete ? ChecksumField::full : ChecksumField::partial));
                    EXPECT_EQ(metadata(segments_[i].get()).l4_checksum,
                              complete ? state : L4Checksum::partial);
                }
            }
        }
    }
}

PacketModel with_routing_header() {
    PacketModel model{.v6 = true, .payload = Bytes(3001, 0x17)};
    model.final_destination = Bytes(16, 0xfd);
    Bytes content = {2, 2, 1, 0, 0, 0, 0};  // type 2, one segment left
    append(content, model.final_destination);
    model.extensions.push_back({43, content});
    return model;
}

TEST_F(SegmentTest, PseudoHeaderBehindARoutingHeaderIsTheSendersToKnow) {
    const PacketModel model = with_routing_header();
    ASSERT_EQ(cut(superframe(model, 1448), true), 3u);
    expect_segments(model, 1448, true);

    FramePtr frame = superframe(model, 1448);
    metadata(frame.get()).l4_checksum = L4Checksum::unknown;
    expect_drop(std::move(frame), DropReason::tx_bad_segment);
}

TEST_F(SegmentTest, PayloadThatFitsOneSegmentPassesWithoutACopy) {
    for (const size_t payload : {0, 1, 1447, 1448}) {
        for (const bool complete : {true, false}) {
            const PacketModel model{.payload = Bytes(payload, 4)};
            FramePtr frame = superframe(model, 1448);
            const rte_mbuf* same = frame.get();
            ASSERT_EQ(segment_count(frame.get()), 1u);
            ASSERT_EQ(cut(std::move(frame), complete), 1u);
            EXPECT_EQ(segments_[0].get(), same);
            EXPECT_EQ(bytes_of(same),
                      model.bytes(complete ? ChecksumField::full : ChecksumField::partial));
            EXPECT_EQ(metadata(same).gso, Gso::none);
            EXPECT_EQ(metadata(same).gso_size, 0);
            EXPECT_EQ(metadata(same).l4_checksum,
                      complete ? L4Checksum::good : L4Checksum::partial);
        }
    }
}

TEST_F(SegmentTest, AFloodedCloneIsCutWithoutTouchingTheOtherCopies) {
    for (const size_t payload : {1000, 5000}) {
        const PacketModel model{.payload = Bytes(payload, 4)};
        const FramePtr original = superframe(model, 1448);
        FramePtr clone(rte_pktmbuf_clone(original.get(), pools().small()));
        metadata(clone.get()) = metadata(original.get());
        ASSERT_TRUE(cut(std::move(clone), true));
        expect_segments(model, 1448, true);
        EXPECT_EQ(bytes_of(original.get()), model.bytes(ChecksumField::partial));
    }
}

TEST_F(SegmentTest, JumboSegmentsChainBuffers) {
    const PacketModel model{.payload = test::random_bytes(random_, 60000)};
    ASSERT_EQ(cut(superframe(model, 8948), true), 7u);
    expect_segments(model, 8948, true);
    EXPECT_EQ(segments_[0]->nb_segs, 5);
}

TEST_F(SegmentTest, LowestMssLinuxSendsIsCut) {
    const PacketModel model{.tcp_options = test::tcp_timestamps(), .payload = Bytes(65483, 1)};
    ASSERT_EQ(cut(superframe(model, 36), true), 1819u);
}

TEST_F(SegmentTest, HostileGsoSizesAreDropped) {
    for (const size_t payload : {100, 60000}) {
        for (const uint16_t gso_size : {0, 1, 7}) {
            const PacketModel model{.payload = Bytes(payload, 1)};
            FramePtr frame = superframe(model, 1448);
            metadata(frame.get()).gso_size = gso_size;
            expect_drop(std::move(frame), DropReason::tx_bad_segment);
        }
    }
}

TEST_F(SegmentTest, MoreSegmentsThanTheLimitAreDroppedHoweverMuchRoomThereIs) {
    const size_t most = kMaxSegments * 8;
    auto storage = std::make_unique<rte_mbuf*[]>(most);
    for (const size_t payload : {most, most + 1}) {
        const PacketModel model{.payload = Bytes(payload, 1)};
        const auto result =
            segment(superframe(model, 8).release(), pools(), true, {storage.get(), most});
        ASSERT_EQ(result.has_value(), payload == most);
        rte_pktmbuf_free_bulk(storage.get(), result.value_or(0));
    }
}

TEST_F(SegmentTest, MoreSegmentsThanTheCallerHasRoomForAreDropped) {
    const PacketModel model{.payload = Bytes(10000, 1)};
    std::array<rte_mbuf*, 3> few;
    const auto result = segment(superframe(model, 1448).release(), pools(), true, few);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error(), DropReason::tx_bad_segment);
}

TEST_F(SegmentTest, MetadataOrLengthsThatContradictTheHeadersAreDropped) {
    const std::vector<std::function<void(Metadata&)>> lies = {
        [](Metadata& m) { m.parsed = false; },
        [](Metadata& m) { m.gso = Gso::none; },
        [](Metadata& m) { m.gso = Gso::tcp6; },
        [](Metadata& m) { m.gso = Gso::udp4; },
        [](Metadata& m) { m.l4_checksum = L4Checksum::bad; },
        [](Metadata& m) { m.l3_offset = 0; },
        [](Metadata& m) { m.l3_offset = 65535; },
        [](Metadata& m) { m.l4_offset = 0; },
        [](Metadata& m) { m.l4_offset += 4; },
        [](Metadata& m) { m.payload_offset = 0; },
        [](Metadata& m) { m.payload_offset = 65535; },
        [](Metadata& m) { m.inner_l4_offset = m.l4_offset; },
    };
    const PacketModel model{.payload = Bytes(10000, 1)};
    for (size_t i = 0; i < lies.size(); ++i) {
        SCOPED_TRACE(i);
        FramePtr frame = superframe(model, 1448);
        lies[i](metadata(frame.get()));
        expect_drop(std::move(frame), DropReason::tx_bad_segment);
    }
    const size_t l3 = model.l3_offset();
    const size_t l4 = model.l4_offset();
    const std::vector<std::pair<size_t, uint8_t>> flaws = {
        {l3, 0x55},       // version
        {l3, 0x46},       // IHL
        {l3 + 2, 0},      // total length
        {l3 + 6, 0x20},   // first fragment
        {l3 + 7, 1},      // later fragment
        {l3 + 9, 17},     // protocol
        {l4 + 12, 0x60},  // data offset
    };
    for (const auto& [offset, value] : flaws) {
        SCOPED_TRACE(offset);
        FramePtr frame = superframe(model, 1448);
        first_segment(frame.get())[offset] = std::byte{value};
        expect_drop(std::move(frame), DropReason::tx_bad_segment);
    }
}

TEST_F(SegmentTest, TunnelledSuperframesEqualTheNaiveModelByteByByte) {
    for (const bool outer_v6 : {false, true}) {
        for (TunnelModel model : test::tunnels(outer_v6)) {
            for (int round = 0; round < 12; ++round) {
                SCOPED_TRACE(std::to_string(model.outer.destination_port) + " protocol " +
                             std::to_string(model.outer.protocol()) + " outer v6 " +
                             std::to_string(outer_v6) + " round " + std::to_string(round));
                const bool inner_v6 = model.inner.v6;
                model.inner = random_model();
                if (model.inner.v6 != inner_v6) {
                    model.inner.v6 = inner_v6;
                    model.inner.ip_options.clear();
                    model.inner.extensions.clear();
                }
                model.inner.payload.resize(std::min<size_t>(model.inner.payload.size(), 64000));
                model.outer.vlan_tags = static_cast<unsigned>(random_() % 3);
                model.outer.ip_id = static_cast<uint16_t>(random_());
                if (!outer_v6 && random_() % 4 == 0) model.outer.ip_options = Bytes(8, 1);
                const auto gso_size = static_cast<uint16_t>(48 + random_() % 3000);
                const auto split =
                    test::random_split(random_, model.inner_base() + model.inner.payload_offset(),
                                       model.inner.payload.size());
                const bool complete = round % 2 == 0;  // makes no difference
                ASSERT_TRUE(cut(superframe(model, gso_size, split), complete));
                expect_segments(model, gso_size);
                if (HasFatalFailure()) return;
                model.outer.ip_options.clear();
            }
        }
    }
}

TEST_F(SegmentTest, TunnelledPayloadThatFitsOneSegmentGetsItsOuterHeadersFinished) {
    for (const size_t payload : {1, 1448}) {
        TunnelModel model{.inner = {.payload = Bytes(payload, 4)}};
        ASSERT_EQ(cut(superframe(model, 1448), false), 1u);
        expect_segments(model, 1448);
    }
}

TEST_F(SegmentTest, OuterUdpChecksumThatComesOutAsZeroIsSentAsAllOnes) {
    TunnelModel model{.inner = {.payload = Bytes(1448, 4)}};
    // The VNI is part of the outer checksum only.
    uint16_t checksum =
        test::load16(model.bytes(ChecksumField::full), model.outer.checksum_offset());
    const uint32_t vni = test::load16(model.header, 4) + uint32_t{checksum};
    test::store16(model.header, 4, (vni & 0xffff) + (vni >> 16));
    checksum = test::load16(model.bytes(ChecksumField::full), model.outer.checksum_offset());
    ASSERT_EQ(checksum, 0xffff);
    ASSERT_EQ(cut(superframe(model, 1448), false), 1u);
    expect_segments(model, 1448);
}

TEST_F(SegmentTest, ZeroOuterUdpChecksumOverIpv6IsReplaced) {
    TunnelModel model{.outer_checksum = false, .inner = {.payload = Bytes(5000, 4)}};
    model.outer.v6 = true;
    FramePtr frame = superframe(model, 1448);
    model.outer_checksum = true;
    ASSERT_EQ(cut(std::move(frame), true), 4u);
    expect_segments(model, 1448);
}

TEST_F(SegmentTest, TunnelMetadataOrLengthsThatContradictTheHeadersAreDropped) {
    TunnelModel model{.inner = {.payload = Bytes(10000, 1)}};
    const std::vector<std::function<void(Metadata&)>> lies = {
        [](Metadata& m) { m.inner_l4_checksum = L4Checksum::unknown; },
        [](Metadata& m) { m.inner_l4_checksum = L4Checksum::bad; },
        [](Metadata& m) { m.inner_l3_offset = 0; },
        [](Metadata& m) { m.inner_l3_offset = m.l3_offset; },
        [](Metadata& m) { m.inner_l3_offset += 4; },
        [](Metadata& m) { m.inner_l4_offset += 4; },
        [](Metadata& m) { m.inner_payload_offset = 0; },
        [](Metadata& m) { m.inner_payload_offset = 65535; },
        [](Metadata& m) { m.l3_offset = 0; },
        [](Metadata& m) { m.l4_offset = 0; },
        [](Metadata& m) { m.payload_offset = 0; },
        [](Metadata& m) { m.ip_protocol = 6; },
        [](Metadata& m) { m.ethertype = 0x86dd; },
        [](Metadata& m) { m.gso = Gso::tcp6; },
        [](Metadata& m) { m.gso = Gso::udp4; },
    };
    for (size_t i = 0; i < lies.size(); ++i) {
        SCOPED_TRACE(i);
        FramePtr frame = superframe(model, 1448);
        lies[i](metadata(frame.get()));
        expect_drop(std::move(frame), DropReason::tx_bad_segment);
    }
    const size_t inner_l3 = model.inner_base() + model.inner.l3_offset();
    const std::vector<std::pair<size_t, uint8_t>> flaws = {
        {14 + 2, 0},          // outer total length
        {14 + 6, 0x20},       // outer first fragment
        {34 + 4, 1},          // outer UDP length
        {inner_l3, 0x46},     // inner IHL
        {inner_l3 + 2, 0},    // inner total length
        {inner_l3 + 6, 0x20}  // inner first fragment
    };
    for (const auto& [offset, value] : flaws) {
        SCOPED_TRACE(offset);
        FramePtr frame = superframe(model, 1448);
        first_segment(frame.get())[offset] = std::byte{value};
        expect_drop(std::move(frame), DropReason::tx_bad_segment);
    }
}

TEST_F(SegmentTest, ExhaustedPoolDropsTheWholeSuperframeAndLeaksNothing) {
    const PacketModel model{.payload = Bytes(60000, 1)};
    for (const uint16_t gso_size : {1448, 8948}) {
        FramePtr frame = superframe(model, gso_size);
        std::vector<FramePtr> hoard;
        while (rte_mbuf* buffer = rte_pktmbuf_alloc(pools().small()))
            hoard.emplace_back(buffer);
        hoard.resize(hoard.size() - 20);
        const auto result = cut(std::move(frame), true);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error(), DropReason::tx_no_buffer);
    }
}

}  // namespace
}  // namespace heddle::packet
