#include "pipeline/egress.h"

#include <gtest/gtest.h>

#include "rig.h"
#include "support/packet_model.h"

namespace heddle::test {
namespace {

using packet::DropReason;
using packet::L4Checksum;

class Egress : public PoolTest {
 protected:
    void SetUp() override {
        PoolTest::SetUp();
        rig_.emplace(pools());
    }
    void TearDown() override {
        rig_.reset();
        PoolTest::TearDown();
    }
    Rig& rig() { return *rig_; }

    /// Enqueues as the pipeline does.
    void enqueue(forwarding::PortId port, const PacketModel& model, ChecksumField field,
                 L4Checksum state, uint16_t gso_size = 0) {
        const Bytes bytes = model.bytes(field);
        FramePtr frame =
            make_frame(pools(), bytes, bytes.size() > 2048 ? arena_split() : std::vector<size_t>{});
        packet::metadata(frame.get()) = model.metadata(state, gso_size);
        rig().tables.counters(port, 0).rx_frames.add(1);
        rig().context.egress.enqueue(port, frame.release());
    }
    void flush() { rig().context.egress.flush(); }

 private:
    std::optional<Rig> rig_;
};

TEST_F(Egress, NothingIsSentBeforeTheFlush) {
    FakePort& port = rig().add_port(1);
    enqueue(1, {}, ChecksumField::full, L4Checksum::good);
    EXPECT_TRUE(port.sent.empty());
    flush();
    EXPECT_EQ(port.sent.size(), 1u);
    flush();
    EXPECT_EQ(port.sent.size(), 1u);
}

TEST_F(Egress, FullBurstIsSentAtOnceAndInOneCall) {
    FakePort& port = rig().add_port(1);
    for (uint32_t i = 0; i < 3 * port::kBurst + 5; ++i)
        enqueue(1, {.sequence = i}, ChecksumField::full, L4Checksum::good);
    EXPECT_EQ(port.sent.size(), 3u * port::kBurst);
    flush();
    ASSERT_EQ(port.sent.size(), 3u * port::kBurst + 5);
    EXPECT_EQ(port.transmit_calls, 4u);
    for (uint32_t i = 0; i < port.sent.size(); ++i)
        ASSERT_EQ(port.sent[i].bytes, (PacketModel{.sequence = i}.bytes(ChecksumField::full)));
}

TEST_F(Egress, PartialChecksumIsCompletedForAPortWithoutOffload) {
    FakePort& port = rig().add_port(1);
    for (const bool v6 : {false, true}) {
        for (const bool udp : {false, true}) {
            for (const size_t length : {0, 1, 2, 99, 1200}) {
                PacketModel model{.v6 = v6, .udp = udp, .payload = Bytes(length, 0xab)};
                enqueue(1, model, ChecksumField::partial, L4Checksum::partial);
                flush();
                EXPECT_EQ(port.sent.back().bytes, model.bytes(ChecksumField::full));
                EXPECT_EQ(port.sent.back().metadata.l4_checksum, L4Checksum::good);
            }
        }
    }
}

TEST_F(Egress, PartialChecksumIsLeftToAPortWithOffload) {
    FakePort& port = rig().add_port(1, {.l4_checksum = true});
    const PacketModel model{.payload = Bytes(500, 3)};
    enqueue(1, model, ChecksumField::partial, L4Checksum::partial);
    flush();
    EXPECT_EQ(port.sent.at(0).bytes, model.bytes(ChecksumField::partial));
    EXPECT_EQ(port.sent.at(0).metadata.l4_checksum, L4Checksum::partial);
}

TEST_F(Egress, ChecksumThatIsNotPartialIsNeverTouched) {
    FakePort& port = rig().add_port(1);
    PacketModel model{.payload = Bytes(50, 3)};
    Bytes bytes = model.bytes(ChecksumField::full);
    store16(bytes, model.checksum_offset(), 0xdead);
    for (const L4Checksum state : {L4Checksum::unknown, L4Checksum::good, L4Checksum::bad}) {
        FramePtr frame = make_frame(pools(), bytes);
        packet::metadata(frame.get()) = model.metadata(state);
        rig().tables.counters(1, 0).rx_frames.add(1);
        rig().context.egress.enqueue(1, frame.release());
        flush();
        EXPECT_EQ(port.sent.back().bytes, bytes);
        EXPECT_EQ(port.sent.back().metadata.l4_checksum, state);
    }
}

TEST_F(Egress, SegmentsStayBetweenTheFramesBeforeAndBehindThem) {
    FakePort& port = rig().add_port(1);
    const PacketModel before{.sequence = 1};
    const PacketModel super{.sequence = 1000, .payload = Bytes(5000, 1)};
    const PacketModel after{.sequence = 9000};
    enqueue(1, before, ChecksumField::full, L4Checksum::good);
    enqueue(1, super, ChecksumField::partial, L4Checksum::partial, 1400);
    enqueue(1, after, ChecksumField::full, L4Checksum::good);
    flush();
    std::vector<Bytes> expected = {before.bytes(ChecksumField::full)};
    for (const PacketModel& segment : super.segments(1400))
        expected.push_back(segment.bytes(ChecksumField::full));
    expected.push_back(after.bytes(ChecksumField::full));
    ASSERT_EQ(port.sent.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(port.sent[i].bytes, expected[i]) << i;
}

TEST_F(Egress, SuperframeOfMoreSegmentsThanABurstIsSentWhole) {
    FakePort& port = rig().add_port(1);
    std::mt19937 random(1);
    const PacketModel super{.payload = random_bytes(random, 60'000)};
    enqueue(1, super, ChecksumField::partial, L4Checksum::partial, 100);
    flush();
    const auto segments = super.segments(100);
    ASSERT_EQ(port.sent.size(), segments.size());
    for (size_t i = 0; i < segments.size(); ++i)
        ASSERT_EQ(port.sent[i].bytes, segments[i].bytes(ChecksumField::full));
    EXPECT_EQ(rig().tables.counters(1, 0).replicated.read(), segments.size() - 1);
}

// Case 1.20 of the field cases: the frame's length is not what the MTU is about.
TEST_F(Egress, SuperframeFitsTheMtuIfItsSegmentsDo) {
    FakePort& port = rig().add_port(1, {.l4_checksum = true, .tso4 = true, .tso6 = true});
    for (const bool v6 : {false, true}) {
        const PacketModel super{.v6 = v6, .payload = Bytes(30'000, 1)};
        const uint16_t headers = v6 ? 60 : 40;
        for (const uint16_t mtu : {1280, 1450, 1500, 9000}) {
            rig().entry(1).mtu = mtu;
            port.sent.clear();
            enqueue(1, super, ChecksumField::partial, L4Checksum::partial,
                    static_cast<uint16_t>(mtu - headers));
            flush();
            EXPECT_EQ(port.sent.size(), 1u) << mtu;
            const uint64_t before = rig().drops(1, DropReason::tx_mtu);
            enqueue(1, super, ChecksumField::partial, L4Checksum::partial,
                    static_cast<uint16_t>(mtu - headers + 1));
            flush();
            EXPECT_EQ(port.sent.size(), 1u) << mtu;
            EXPECT_EQ(rig().drops(1, DropReason::tx_mtu), before + 1);
        }
    }
}

TEST_F(Egress, SuperframeShorterThanItsSegmentSizeFitsByItsLength) {
    FakePort& port = rig().add_port(1);
    const PacketModel model{.payload = Bytes(1000, 1)};
    enqueue(1, model, ChecksumField::partial, L4Checksum::partial, 9000);
    flush();
    ASSERT_EQ(port.sent.size(), 1u);
    EXPECT_EQ(port.sent[0].bytes, model.bytes(ChecksumField::full));
}

/// No port takes tunnel GSO, whatever TSO it has; and what the MTU limits is the outer packet.
TEST_F(Egress, SuperframeInsideATunnelIsSegmentedForEveryPortAndFitsTheMtuIfItsSegmentsDo) {
    test::TunnelModel model{.inner = {.payload = Bytes(20000, 1)}};
    const auto headers = static_cast<uint16_t>(20 + 8 + 8 + 14 + 20 + 20);
    for (const bool fits : {true, false}) {
        const forwarding::PortId id = fits ? 1 : 2;
        const auto gso_size = static_cast<uint16_t>(1500 - headers + (fits ? 0 : 1));
        FakePort& port = rig().add_port(
            id, {.l4_checksum = true, .tso4 = true, .tso6 = true, .uso4 = true, .uso6 = true});
        rig().entry(id).mtu = 1500;
        FramePtr frame = make_frame(pools(), model.bytes(ChecksumField::partial), arena_split());
        packet::metadata(frame.get()) =
            model.metadata(L4Checksum::unknown, L4Checksum::partial, gso_size);
        rig().tables.counters(id, 0).rx_frames.add(1);
        EXPECT_EQ(packet::segment_count(frame.get()), 15u);
        rig().context.egress.enqueue(id, frame.release());
        flush();
        if (!fits) {
            EXPECT_EQ(rig().drops(id, DropReason::tx_mtu), 1u);
            EXPECT_TRUE(port.sent.empty());
            continue;
        }
        const auto expected = model.segments(gso_size);
        ASSERT_EQ(port.sent.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i)
            EXPECT_EQ(port.sent[i].bytes, expected[i].bytes(ChecksumField::full));
    }
}

TEST_F(Egress, TagsDoNotCountForTheMtu) {
    FakePort& port = rig().add_port(1);
    for (const unsigned tags : {0, 1, 2}) {
        port.sent.clear();
        enqueue(1, {.vlan_tags = tags, .payload = Bytes(1460, 1)}, ChecksumField::full,
                L4Checksum::good);
        flush();
        EXPECT_EQ(port.sent.size(), 1u) << "1500 bytes behind " << tags << " tags";
        enqueue(1, {.vlan_tags = tags, .payload = Bytes(1461, 1)}, ChecksumField::full,
                L4Checksum::good);
        flush();
        EXPECT_EQ(port.sent.size(), 1u) << "1501 bytes behind " << tags << " tags";
    }
    EXPECT_EQ(rig().drops(1, DropReason::tx_mtu), 3u);
}

TEST_F(Egress, FrameThatIsNothingButTagsHasAnMtuAllTheSame) {
    FakePort& port = rig().add_port(1);
    Bytes bytes(12, 2);
    for (int i = 0; i < 1000; ++i)
        append32(bytes, 0x8100'0001);
    rig().tables.counters(1, 0).rx_frames.add(1);
    rig().context.egress.enqueue(1, make_frame(pools(), bytes, arena_split()).release());
    flush();
    EXPECT_TRUE(port.sent.empty());
    EXPECT_EQ(rig().drops(1, DropReason::tx_mtu), 1u);
}

TEST_F(Egress, FramesToAPortThatIsGoneDownOrWithoutDeviceAreDroppedByName) {
    FakePort& port = rig().add_port(1);
    const auto three_frames = [&] {
        for (int i = 0; i < 3; ++i)
            enqueue(1, {}, ChecksumField::full, L4Checksum::good);
        flush();
    };
    port.set_up(false);
    three_frames();
    EXPECT_EQ(rig().drops(1, DropReason::port_down), 3u);
    rig().entry(1).device = nullptr;
    three_frames();
    EXPECT_EQ(rig().drops(1, DropReason::port_down), 6u);
    rig().tables.publish(forwarding::PortId{1}, static_cast<forwarding::PortEntry*>(nullptr));
    three_frames();
    EXPECT_EQ(rig().drops(1, DropReason::port_gone), 3u);
    EXPECT_TRUE(port.sent.empty());
}

TEST_F(Egress, SuperframeWhoseHeadersLieIsDroppedByNameAndOthersPass) {
    FakePort& port = rig().add_port(1);
    PacketModel super{.payload = Bytes(5000, 1)};
    FramePtr frame = make_frame(pools(), super.bytes(ChecksumField::partial), arena_split());
    packet::metadata(frame.get()) = super.metadata(L4Checksum::partial, 1400);
    packet::metadata(frame.get()).gso = packet::Gso::udp4;
    rig().tables.counters(1, 0).rx_frames.add(1);
    rig().context.egress.enqueue(1, frame.release());
    enqueue(1, {}, ChecksumField::full, L4Checksum::good);
    flush();
    EXPECT_EQ(rig().drops(1, DropReason::tx_bad_segment), 1u);
    EXPECT_EQ(port.sent.size(), 1u);
}

TEST_F(Egress, ManyPortsAreAllFlushed) {
    std::vector<FakePort*> ports;
    for (forwarding::PortId id = 1; id <= 300; ++id)
        ports.push_back(&rig().add_port(id));
    for (int round = 0; round < 3; ++round) {
        for (forwarding::PortId id = 1; id <= 300; ++id)
            enqueue(id, {.sequence = id}, ChecksumField::full, L4Checksum::good);
        flush();
    }
    for (size_t i = 0; i < ports.size(); ++i) {
        ASSERT_EQ(ports[i]->sent.size(), 3u);
        EXPECT_EQ(
            ports[i]->sent[2].bytes,
            (PacketModel{.sequence = static_cast<uint32_t>(i + 1)}.bytes(ChecksumField::full)));
    }
}

}  // namespace
}  // namespace heddle::test
