#include "pipeline/switching.h"

#include <gtest/gtest.h>

#include "net/packet_builder.h"
#include "rig.h"
#include "support/packet_model.h"

namespace heddle::test {
namespace {

using net::MacAddress;
using net::PacketBuilder;
using packet::DropReason;

constexpr MacAddress kAnne(2, 0, 0, 0, 0, 1);
constexpr MacAddress kBert(2, 0, 0, 0, 0, 2);
constexpr MacAddress kEveryone = MacAddress::broadcast();

Bytes to_bytes(const std::vector<std::byte>& built) {
    Bytes bytes(built.size());
    std::memcpy(bytes.data(), built.data(), built.size());
    return bytes;
}

Bytes frame(const MacAddress& source, const MacAddress& destination, uint16_t port = 1) {
    return to_bytes(PacketBuilder()
                        .ethernet(source, destination)
                        .ipv4({10, 0, 0, 1}, {10, 0, 0, 2})
                        .udp(port, 53)
                        .payload(30)
                        .build());
}
Bytes tagged(const MacAddress& source, const MacAddress& destination, uint16_t vid, uint8_t pcp,
             uint16_t tpid = 0x8100) {
    return to_bytes(PacketBuilder()
                        .ethernet(source, destination)
                        .vlan(vid, pcp, tpid)
                        .ipv4({10, 0, 0, 1}, {10, 0, 0, 2})
                        .udp(1, 53)
                        .payload(30)
                        .build());
}

class Switching : public PoolTest {};

TEST_F(Switching, FrameToAnAddressLearnedEarlierInTheSameBurstIsNotFlooded) {
    Rig rig(pools());
    FakePort& one = rig.add_port(1);
    FakePort& two = rig.add_port(2);
    FakePort& three = rig.add_port(3);
    rig.add_bridge(1);
    for (const forwarding::PortId id : {1, 2, 3})
        rig.attach(id, 1);
    rig.receive(2, frame(kBert, kEveryone));
    std::vector<FramePtr> burst(3);
    for (FramePtr& each : burst)
        each = make_frame(pools(), frame(kAnne, kBert));
    rig.receive(1, std::move(burst));
    EXPECT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(two.sent.size(), 3u);
    EXPECT_EQ(three.sent.size(), 1u) << "only the broadcast";
}

TEST_F(Switching, AddressThatMovesIsFoundAtItsNewPortAtOnce) {
    Rig rig(pools());
    rig.add_port(1);
    FakePort& two = rig.add_port(2);
    FakePort& three = rig.add_port(3);
    rig.add_bridge(1);
    for (const forwarding::PortId id : {1, 2, 3})
        rig.attach(id, 1);
    rig.receive(2, frame(kBert, kEveryone));
    rig.receive(3, frame(kBert, kEveryone));
    two.sent.clear();
    three.sent.clear();
    rig.receive(1, frame(kAnne, kBert));
    EXPECT_EQ(two.sent.size(), 0u);
    EXPECT_EQ(three.sent.size(), 1u);
    EXPECT_EQ(rig.tables.bridge_counters(1).moves, 1u);
    EXPECT_EQ(rig.tables.bridge_counters(1).learned, 2u);
}

TEST_F(Switching, SourceIsStampedWithTheSecondItLastSent) {
    Rig rig(pools());
    rig.add_port(1);
    rig.add_bridge(1);
    rig.attach(1, 1);
    const forwarding::Fdb::Key key(1, kAnne.to_u64());
    for (const uint32_t second : {7u, 8u, 300u}) {
        rig.context.tick = second;
        rig.receive(1, frame(kAnne, kEveryone));
        EXPECT_EQ(rig.tables.fdb.find(key, rig.tables.fdb.hash(key)).tick, second);
    }
}

TEST_F(Switching, PriorityOfATagTakenOffIsInTheTagPutOn) {
    Rig rig(pools());
    rig.add_port(1);
    FakePort& trunk = rig.add_port(2);
    FakePort& access = rig.add_port(3);
    rig.add_bridge(1);
    rig.attach(1, 1, 10);
    rig.attach(2, 1, 2000);
    rig.attach(3, 1);
    for (uint8_t pcp = 0; pcp < 8; ++pcp) {
        rig.receive(1, tagged(kAnne, kEveryone, 10, pcp));
        EXPECT_EQ(trunk.sent.back().bytes, tagged(kAnne, kEveryone, 2000, pcp));
        EXPECT_EQ(access.sent.back().bytes, frame(kAnne, kEveryone));
    }
}

TEST_F(Switching, DropEligibilityOfAPriorityTagIsInTheTagPutOn) {
    Rig rig(pools());
    rig.add_port(1);
    FakePort& trunk = rig.add_port(2);
    rig.add_bridge(1);
    rig.attach(1, 1);
    rig.attach(2, 1, 7);
    Bytes bytes = tagged(kAnne, kEveryone, 0, 5);
    bytes[14] |= 0x10;
    rig.receive(1, bytes);
    Bytes expected = tagged(kAnne, kEveryone, 7, 5);
    expected[14] |= 0x10;
    EXPECT_EQ(trunk.sent.at(0).bytes, expected);
}

TEST_F(Switching, OffsetsFollowTheTagThatIsTakenOffOrPutOn) {
    Rig rig(pools());
    rig.add_port(1);
    FakePort& access = rig.add_port(2, {.l4_checksum = true});
    FakePort& trunk = rig.add_port(3, {.l4_checksum = true});
    rig.add_bridge(1);
    rig.attach(1, 1, 10);
    rig.attach(2, 1);
    rig.attach(3, 1, 20);
    PacketModel model{.vlan_tags = 1, .payload = Bytes(100, 7)};
    Bytes bytes = model.bytes(ChecksumField::partial);
    store16(bytes, 14, 10);
    std::vector<FramePtr> burst;
    burst.push_back(make_frame(pools(), bytes));
    packet::metadata(burst[0].get()) = model.metadata(packet::L4Checksum::partial);
    rig.receive(1, std::move(burst));
    EXPECT_EQ(access.sent.at(0).metadata.l3_offset, 14);
    EXPECT_EQ(access.sent.at(0).metadata.l4_offset, 34);
    EXPECT_EQ(access.sent.at(0).metadata.payload_offset, 54);
    EXPECT_EQ(access.sent.at(0).metadata.inner_l3_offset, 0) << "absent stays absent";
    EXPECT_EQ(trunk.sent.at(0).metadata.l3_offset, 18);
    EXPECT_EQ(trunk.sent.at(0).metadata.payload_offset, 58);
    EXPECT_EQ(trunk.sent.at(0).metadata.ingress_port, 1);
    EXPECT_EQ(trunk.sent.at(0).metadata.scope, 1);
}

TEST_F(Switching, TenantsDoubleTagCrossesATransparentNetworkUntouched) {
    Rig rig(pools());
    rig.add_port(1);
    FakePort& two = rig.add_port(2);
    auto settings = Rig::default_settings();
    settings.vlan_transparent = true;
    rig.add_bridge(1, settings);
    rig.attach(1, 1);
    rig.attach(2, 1);
    const Bytes bytes = to_bytes(PacketBuilder()
                                     .ethernet(kAnne, kEveryone)
                                     .vlan(100, 3, 0x88a8)
                                     .vlan(200, 1)
                                     .ipv4({10, 0, 0, 1}, {10, 0, 0, 2})
                                     .udp(1, 2)
                                     .payload(10)
                                     .build());
    rig.receive(1, bytes);
    EXPECT_EQ(two.sent.at(0).bytes, bytes);
}

TEST_F(Switching, NestedTagOnAnOrdinaryNetworkIsABadTag) {
    Rig rig(pools());
    rig.add_port(1);
    rig.add_port(2);
    rig.add_bridge(1);
    rig.attach(1, 1, 10);
    rig.attach(2, 1);
    rig.receive(1, to_bytes(PacketBuilder()
                                .ethernet(kAnne, kEveryone)
                                .vlan(10)
                                .vlan(20)
                                .ipv4({10, 0, 0, 1}, {10, 0, 0, 2})
                                .udp(1, 2)
                                .build()));
    EXPECT_EQ(rig.drops(1, DropReason::bad_vlan_tag), 1u);
}

TEST_F(Switching, StormLimitCountsASuperframeAsItsSegments) {
    Rig rig(pools());
    rig.add_port(1);
    FakePort& two = rig.add_port(2, {.l4_checksum = true, .tso4 = true});
    rig.add_bridge(1);
    rig.attach(1, 1);
    rig.attach(2, 1);
    rig.tables.storm_limit(1).configure(1000, 10);
    const auto send = [&](size_t payload) {
        PacketModel model{.payload = Bytes(payload, 1)};
        std::vector<FramePtr> burst;
        burst.push_back(make_frame(pools(), model.bytes(ChecksumField::partial)));
        packet::metadata(burst[0].get()) = model.metadata(packet::L4Checksum::partial, 100);
        rig.receive(1, std::move(burst));
    };
    send(800);  // 8 of 10
    send(300);  // the ninth of 10 passes, and so does what comes with it
    EXPECT_EQ(two.sent.size(), 2u);
    send(100);
    EXPECT_EQ(two.sent.size(), 2u);
    EXPECT_EQ(rig.drops(1, DropReason::storm_limit), 1u);
    rig.context.now += 2 * 1000;  // the eleventh is paid, then one more fits
    send(100);
    EXPECT_EQ(two.sent.size(), 3u);
}

TEST_F(Switching, KnownUnicastIsNeverStormLimited) {
    Rig rig(pools());
    rig.add_port(1);
    FakePort& two = rig.add_port(2);
    rig.add_bridge(1);
    rig.attach(1, 1);
    rig.attach(2, 1);
    rig.receive(2, frame(kBert, kEveryone));
    rig.tables.storm_limit(1).configure(uint64_t{1} << 60, 1);
    for (int i = 0; i < 100; ++i)
        rig.receive(1, frame(kAnne, kBert));
    EXPECT_EQ(two.sent.size(), 100u);
}

TEST_F(Switching, EntryOfAMemberThatLeftLeadsToANamedDrop) {
    Rig rig(pools());
    rig.add_port(1);
    rig.add_port(2);
    rig.add_bridge(1);
    rig.attach(1, 1);
    const auto gone = rig.attach(2, 1);
    rig.receive(2, frame(kBert, kEveryone));
    rig.tables.publish(gone, forwarding::BridgePort{});
    rig.receive(1, frame(kAnne, kBert));
    EXPECT_EQ(rig.drops(1, DropReason::port_gone), 1u);
}

// Symptom: a network stops learning for ever after a scan filled the table.
TEST_F(Switching, LearningAttemptsIntoAFullTableCostNoPlaces) {
    Rig rig(pools(), 1);  // one bucket: four addresses
    rig.add_port(1);
    rig.add_port(2);
    rig.add_bridge(1, Rig::default_settings(100));
    rig.attach(1, 1);
    rig.attach(2, 1);
    for (uint8_t i = 1; i <= 50; ++i)
        rig.receive(1, frame(MacAddress(2, 0, 0, 0, 1, i), kEveryone));
    EXPECT_EQ(rig.tables.bridge_counters(1).learned, 4u);
    EXPECT_EQ(rig.tables.bridge_counters(1).limit_hits, 46u);
}

TEST_F(Switching, AddressesBeyondTheLimitAreForwardedButNotLearned) {
    Rig rig(pools());
    rig.add_port(1);
    FakePort& two = rig.add_port(2);
    rig.add_bridge(1, Rig::default_settings(3));
    rig.attach(1, 1);
    rig.attach(2, 1);
    for (uint8_t i = 1; i <= 10; ++i)
        rig.receive(1, frame(MacAddress(2, 0, 0, 0, 1, i), kEveryone));
    EXPECT_EQ(two.sent.size(), 10u);
    EXPECT_EQ(rig.tables.bridge_counters(1).learned, 3u);
    EXPECT_EQ(rig.tables.bridge_counters(1).limit_hits, 7u);
}

// Case 1.8 of the field cases: one superframe to all kinds of ports at once.
TEST_F(Switching, FloodedSuperframeStaysWholeForCapablePortsAndIsSegmentedForOthers) {
    for (const bool v6 : {false, true}) {
        Rig rig(pools());
        rig.add_port(1);
        const port::Capabilities all{.l4_checksum = true, .tso4 = true, .tso6 = true};
        FakePort& capable = rig.add_port(2, all);
        FakePort& plain = rig.add_port(3);
        FakePort& checksum_only = rig.add_port(4, {.l4_checksum = true});
        FakePort& trunk = rig.add_port(5);
        FakePort& capable_trunk = rig.add_port(6, all);
        FakePort& last = rig.add_port(7);
        rig.add_bridge(1);
        for (const forwarding::PortId id : {1, 2, 3, 4, 7})
            rig.attach(id, 1);
        rig.attach(5, 1, 55);
        rig.attach(6, 1, 66);

        std::mt19937 random(v6 ? 6 : 4);
        PacketModel model{.v6 = v6,
                          .tcp_options = tcp_timestamps(),
                          .tcp_flags = 0x98,
                          .payload = random_bytes(random, 60'000)};
        const Bytes super = model.bytes(ChecksumField::partial);
        std::vector<FramePtr> burst;
        burst.push_back(make_frame(pools(), super, arena_split()));
        packet::metadata(burst[0].get()) = model.metadata(packet::L4Checksum::partial, 1428);
        rig.receive(1, std::move(burst));

        const auto with_tag = [](Bytes bytes, uint8_t vid) {
            const Bytes tag = {0x81, 0, 0, vid};
            bytes.insert(bytes.begin() + 12, tag.begin(), tag.end());
            return bytes;
        };
        ASSERT_EQ(capable.sent.size(), 1u);
        EXPECT_EQ(capable.sent[0].bytes, super);
        EXPECT_EQ(capable.sent[0].metadata.gso_size, 1428);
        ASSERT_EQ(capable_trunk.sent.size(), 1u);
        EXPECT_EQ(capable_trunk.sent[0].bytes, with_tag(super, 66));

        const auto segments = model.segments(1428);
        for (FakePort* port : {&plain, &checksum_only, &trunk, &last}) {
            ASSERT_EQ(port->sent.size(), segments.size());
            ASSERT_TRUE(port->sane);
            for (size_t i = 0; i < segments.size(); ++i) {
                Bytes expected = segments[i].bytes(port == &checksum_only ? ChecksumField::partial
                                                                          : ChecksumField::full);
                if (port == &trunk) expected = with_tag(expected, 55);
                ASSERT_EQ(port->sent[i].bytes, expected) << "segment " << i;
                ASSERT_EQ(port->sent[i].metadata.gso, packet::Gso::none);
            }
        }
        EXPECT_EQ(rig.tables.counters(1, 0).replicated.read(), 5u);
        EXPECT_EQ(rig.tables.counters(3, 0).replicated.read(), segments.size() - 1);
        EXPECT_EQ(rig.tables.counters(2, 0).tx_packets.read(), segments.size());
        EXPECT_EQ(rig.all_drops(), 0u);
    }
}

TEST_F(Switching, FloodThatRunsOutOfBuffersCountsEveryCopyItCouldNotMake) {
    auto few = packet::Pools::create({.small = 1023, .large = 31}, "few");
    ASSERT_TRUE(few.has_value());
    Rig rig(*few);
    rig.add_port(1);
    rig.add_bridge(1);
    rig.attach(1, 1);
    std::vector<FakePort*> others;
    for (forwarding::PortId id = 2; id < 12; ++id) {
        others.push_back(&rig.add_port(id));
        rig.attach(id, 1, id % 2 == 0 ? 0 : id);
    }
    std::vector<FramePtr> hoard;
    while (rte_mbuf* taken = rte_pktmbuf_alloc(few->small()))
        hoard.emplace_back(taken);
    ASSERT_GT(hoard.size(), 64u);
    hoard.resize(hoard.size() - 8);
    rig.context.egress.flush();

    std::vector<FramePtr> burst;
    burst.push_back(make_frame(*few, frame(kAnne, kEveryone)));
    burst.push_back(make_frame(*few, frame(kAnne, kEveryone)));
    rig.receive(1, std::move(burst));
    size_t sent = 0;
    uint64_t dropped = 0;
    for (forwarding::PortId id = 2; id < 12; ++id)
        dropped += rig.drops(id, DropReason::tx_no_buffer);
    for (const FakePort* port : others)
        sent += port->sent.size();
    EXPECT_GT(dropped, 0u);
    EXPECT_EQ(sent + dropped, 20u);
    rig.check_identity();
    hoard.clear();
    EXPECT_EQ(few->in_use(), 0u);
}

}  // namespace
}  // namespace heddle::test
