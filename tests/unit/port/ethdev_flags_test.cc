#include "port/ethdev_flags.h"

#include "net/packet_builder.h"
#include "port_fixture.h"

namespace heddle::port {
namespace {

using net::PacketBuilder;
using packet::Gso;
using packet::L4Checksum;
using packet::Metadata;
using test::Bytes;
using test::FramePtr;

class EthdevFlagsTest : public test::PoolTest {
 protected:
    static PacketBuilder ipv4() {
        return PacketBuilder()
            .ethernet({2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2})
            .ipv4({192, 0, 2, 1}, {192, 0, 2, 2});
    }
    static FramePtr make(const PacketBuilder& builder) {
        const auto built = builder.build();
        const auto* bytes = reinterpret_cast<const uint8_t*>(built.data());
        return test::make_frame(pools(), Bytes(bytes, bytes + built.size()));
    }
    static Metadata receive(rte_mbuf* frame, uint64_t flags) {
        frame->ol_flags |= flags;
        EXPECT_TRUE(from_receive_flags(frame));
        EXPECT_EQ(frame->ol_flags & ~kBufferFlags, 0) << "metadata is the only truth";
        return packet::metadata(frame);
    }
};

TEST_F(EthdevFlagsTest, ChecksumStateIsWhatTheDeviceFound) {
    const FramePtr frame = make(ipv4().udp(1, 2).payload(100));
    EXPECT_EQ(receive(frame.get(), 0).l4_checksum, L4Checksum::unknown);
    EXPECT_EQ(receive(frame.get(), RTE_MBUF_F_RX_L4_CKSUM_GOOD).l4_checksum, L4Checksum::good);
    EXPECT_EQ(receive(frame.get(), RTE_MBUF_F_RX_L4_CKSUM_BAD).l4_checksum, L4Checksum::bad);
    EXPECT_EQ(receive(frame.get(), RTE_MBUF_F_RX_RSS_HASH).l4_checksum, L4Checksum::unknown);
}

TEST_F(EthdevFlagsTest, ChecksumThatOnlyTravelledInMemoryIsPartial) {
    const FramePtr frame = make(ipv4().udp(1, 2).payload(100).partial_checksum());
    const Metadata known = receive(frame.get(), RTE_MBUF_F_RX_L4_CKSUM_NONE);
    EXPECT_EQ(known.l4_checksum, L4Checksum::partial);
    EXPECT_EQ(known.l4_offset, 34);
}

TEST_F(EthdevFlagsTest, MergedSegmentsAreASuperframe) {
    const FramePtr frame = make(ipv4().tcp(1, 2).payload(8000));
    frame->tso_segsz = 1448;
    const Metadata known = receive(frame.get(), RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
    EXPECT_EQ(known.gso, Gso::tcp4);
    EXPECT_EQ(known.gso_size, 1448);
    EXPECT_EQ(known.payload_offset, 54);
}

TEST_F(EthdevFlagsTest, StrippedTagIsPutBack) {
    const FramePtr frame = make(ipv4().udp(1, 2).payload(100));
    frame->vlan_tci = 0xa123;
    const Metadata known = receive(frame.get(), RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_VLAN |
                                                    RTE_MBUF_F_RX_L4_CKSUM_GOOD);
    const auto tagged = PacketBuilder()
                            .ethernet({2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2})
                            .vlan(0x123, 5)
                            .ipv4({192, 0, 2, 1}, {192, 0, 2, 2})
                            .udp(1, 2)
                            .payload(100)
                            .build();
    const Bytes bytes = test::bytes_of(frame.get());
    ASSERT_EQ(bytes.size(), tagged.size());
    EXPECT_EQ(std::memcmp(bytes.data(), tagged.data(), bytes.size()), 0);
    EXPECT_EQ(known.l4_checksum, L4Checksum::good);
}

TEST_F(EthdevFlagsTest, PartialChecksumIsLeftToTheDevice) {
    const FramePtr frame = make(ipv4().udp(1, 2).payload(100).partial_checksum());
    receive(frame.get(), RTE_MBUF_F_RX_L4_CKSUM_NONE);
    ASSERT_TRUE(needs_transmit_flags(packet::metadata(frame.get())));
    set_transmit_flags(frame.get());
    EXPECT_EQ(frame->ol_flags, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM);
    EXPECT_EQ(frame->l2_len, 14);
    EXPECT_EQ(frame->l3_len, 20);
}

TEST_F(EthdevFlagsTest, SuperframeBehindATagIsLeftToTheDevice) {
    const net::Ipv6Address address;
    const FramePtr frame = make(PacketBuilder()
                                    .ethernet({2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2})
                                    .vlan(7)
                                    .ipv6(address, address)
                                    .tcp(1, 2)
                                    .payload(8000));
    frame->tso_segsz = 1428;
    ASSERT_EQ(receive(frame.get(), RTE_MBUF_F_RX_LRO).gso, Gso::tcp6);
    ASSERT_TRUE(needs_transmit_flags(packet::metadata(frame.get())));
    set_transmit_flags(frame.get());
    EXPECT_EQ(frame->ol_flags, RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_SEG);
    EXPECT_EQ(frame->l2_len, 18);
    EXPECT_EQ(frame->l3_len, 40);
    EXPECT_EQ(frame->l4_len, 20);
    EXPECT_EQ(frame->tso_segsz, 1428);
}

TEST_F(EthdevFlagsTest, WhatHoldsTheBytesIsNoPropertyOfTheFrame) {
    FramePtr original = make(ipv4().udp(1, 2).payload(100));
    const FramePtr clone(rte_pktmbuf_clone(original.get(), pools().small()));
    receive(clone.get(), RTE_MBUF_F_RX_L4_CKSUM_GOOD);
    EXPECT_EQ(clone->ol_flags, RTE_MBUF_F_INDIRECT);
}

}  // namespace
}  // namespace heddle::port
