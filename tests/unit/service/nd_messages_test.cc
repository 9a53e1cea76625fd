#include "service/nd_messages.h"

#include <gtest/gtest.h>

#include "ip_model.h"
#include "support/eal.h"

namespace heddle::service {
namespace {

using test::append;
using test::Bytes;
using test::FramePtr;
using test::IpModel;
using test::joined;

const net::MacAddress kMac(2, 1, 2, 3, 4, 5);
const net::MacAddress kOtherMac(2, 9, 9, 9, 9, 9);
const Bytes kSource = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
const Bytes kTarget = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xaa, 0xbb, 0xcc, 0xdd};
const Bytes kSolicitedNode = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xbb, 0xcc, 0xdd};
const Bytes kAllNodes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
const Bytes kSourceMacOption = {1, 1, 2, 1, 2, 3, 4, 5};

net::Ipv6Address address(const Bytes& bytes) {
    std::array<uint8_t, 16> array;
    std::copy_n(bytes.begin(), array.size(), array.begin());
    return net::Ipv6Address(array);
}

class NdMessagesTest : public test::PoolTest {
 protected:
    /// Takes over the frame. `content` is the ICMPv6 message behind the checksum.
    static void expect(rte_mbuf* frame, const test::Mac& destination_mac, const Bytes& source,
                       const Bytes& destination, uint8_t type, const Bytes& content) {
        const FramePtr owned(frame);
        ASSERT_NE(frame, nullptr);
        IpModel model{.v6 = true,
                      .destination_mac = destination_mac,
                      .source_mac = {2, 1, 2, 3, 4, 5},
                      .ttl = 255,
                      .source = source,
                      .destination = destination};
        model.icmp(type, 0, content);
        EXPECT_EQ(test::bytes_of(frame), model.frame());
        EXPECT_TRUE(test::is_sane(frame));
        EXPECT_EQ(frame->nb_segs, 1);
        EXPECT_EQ(rte_pktmbuf_headroom(frame), packet::kHeadroom);
        const packet::Metadata& known = packet::metadata(frame);
        EXPECT_TRUE(known.parsed);
        EXPECT_EQ(known.ethertype, 0x86dd);
        EXPECT_EQ(known.l3_offset, 14);
        EXPECT_EQ(known.l4_offset, 54);
        EXPECT_EQ(known.payload_offset, 62);
        EXPECT_EQ(known.ip_protocol, 58);
        EXPECT_EQ(known.l4_checksum, packet::L4Checksum::good);
    }
};

TEST_F(NdMessagesTest, SolicitationGoesToTheSolicitedNodeGroup) {
    expect(neighbor_solicitation(kMac, address(kSource), address(kTarget), std::nullopt, pools()),
           {0x33, 0x33, 0xff, 0xbb, 0xcc, 0xdd}, kSource, kSolicitedNode, 135,
           joined(joined({0, 0, 0, 0}, kTarget), kSourceMacOption));
}

TEST_F(NdMessagesTest, SolicitationOfAKnownNeighbourIsUnicast) {
    expect(neighbor_solicitation(kMac, address(kSource), address(kTarget), kOtherMac, pools()),
           {2, 9, 9, 9, 9, 9}, kSource, kTarget, 135,
           joined(joined({0, 0, 0, 0}, kTarget), kSourceMacOption));
}

TEST_F(NdMessagesTest, DuplicateAddressDetectionClaimsNothing) {
    expect(duplicate_address_solicitation(kMac, address(kTarget), pools()),
           {0x33, 0x33, 0xff, 0xbb, 0xcc, 0xdd}, Bytes(16, 0), kSolicitedNode, 135,
           joined({0, 0, 0, 0}, kTarget));
}

TEST_F(NdMessagesTest, AdvertisementHasItsFlagsAndTheTargetsMac) {
    for (const int flags : {0x00, 0x80, 0x40, 0x20, 0xe0}) {
        const NeighborAdvertisementMessage message{.source_mac = kMac,
                                                   .source = address(kTarget),
                                                   .receiver = {address(kSource), kOtherMac},
                                                   .target = address(kTarget),
                                                   .target_mac = net::MacAddress(2, 7, 7, 7, 7, 7),
                                                   .router = (flags & 0x80) != 0,
                                                   .solicited = (flags & 0x40) != 0,
                                                   .override_cached = (flags & 0x20) != 0};
        expect(neighbor_advertisement(message, pools()), {2, 9, 9, 9, 9, 9}, kTarget, kSource, 136,
               joined(joined({static_cast<uint8_t>(flags), 0, 0, 0}, kTarget),
                      {2, 1, 2, 7, 7, 7, 7, 7}));
    }
}

TEST_F(NdMessagesTest, AdvertisementToAllIsNeverSolicited) {
    const NeighborAdvertisementMessage message{.source_mac = kMac,
                                               .source = address(kTarget),
                                               .receiver = multicast_receiver(net::kAllNodes),
                                               .target = address(kTarget),
                                               .target_mac = kMac,
                                               .router = true,
                                               .solicited = true,
                                               .override_cached = true};
    expect(neighbor_advertisement(message, pools()), {0x33, 0x33, 0, 0, 0, 1}, kTarget, kAllNodes,
           136, joined(joined({0xa0, 0, 0, 0}, kTarget), {2, 1, 2, 1, 2, 3, 4, 5}));
}

TEST_F(NdMessagesTest, RouterAdvertisementHasTheDefaultsOfRfc4861) {
    const RouterAdvertisement message{.source_mac = kMac, .source = address(kSource)};
    Bytes content = {64, 0, 1800 >> 8, 1800 & 0xff, 0, 0, 0, 0, 0, 0, 0, 0};
    expect(router_advertisement(message, multicast_receiver(net::kAllNodes), pools()),
           {0x33, 0x33, 0, 0, 0, 1}, kSource, kAllNodes, 134, joined(content, kSourceMacOption));
}

TEST_F(NdMessagesTest, RouterAdvertisementHasEveryField) {
    const std::array prefixes = {
        AdvertisedPrefix{.prefix = net::Ipv6Prefix::parse("2001:db8:1:2::1/64").value()},
        AdvertisedPrefix{.prefix = net::Ipv6Prefix::parse("fd00::/48").value(),
                         .on_link = false,
                         .autonomous = false,
                         .valid_lifetime = 0xffff'ffff,
                         .preferred_lifetime = 0x01020304},
        AdvertisedPrefix{.prefix = net::Ipv6Prefix::parse("fd01::/64").value(),
                         .autonomous = false}};
    const RouterAdvertisement message{.source_mac = kMac,
                                      .source = address(kSource),
                                      .hop_limit = 32,
                                      .managed = true,
                                      .other_config = true,
                                      .router_lifetime = 0x0102,
                                      .reachable_time = 0x03040506,
                                      .retransmit_timer = 0x0708090a,
                                      .mtu = 9000,
                                      .prefixes = prefixes};
    Bytes content = {32, 0xc0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    append(content, kSourceMacOption);
    append(content, {5, 1, 0, 0, 0, 0, 0x23, 0x28});
    append(content, {3, 4, 64, 0xc0, 0, 0x27, 0x8d, 0, 0, 9, 0x3a, 0x80, 0, 0, 0, 0});
    append(content, {0x20, 1, 0xd, 0xb8, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0});  // without host bits
    append(content, {3, 4, 48, 0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 0, 0, 0, 0});
    append(content, {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    append(content, {3, 4, 64, 0x80, 0, 0x27, 0x8d, 0, 0, 9, 0x3a, 0x80, 0, 0, 0, 0});
    append(content, {0xfd, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    expect(router_advertisement(message, {address(kTarget), kOtherMac}, pools()),
           {2, 9, 9, 9, 9, 9}, kSource, kTarget, 134, content);
}

TEST_F(NdMessagesTest, RouterAdvertisementStaysWithin1280Bytes) {
    const std::vector<AdvertisedPrefix> prefixes(50);
    const RouterAdvertisement message{
        .source_mac = kMac, .source = address(kSource), .mtu = 1500, .prefixes = prefixes};
    const FramePtr frame(
        router_advertisement(message, multicast_receiver(net::kAllNodes), pools()));
    EXPECT_EQ(frame->pkt_len, 14u + 40 + 16 + 8 + 8 + 37 * 32);
    EXPECT_LE(frame->pkt_len, 14u + 1280);
}

TEST_F(NdMessagesTest, WhatIsSentPassesTheChecksOfTheReceiver) {
    const FramePtr frame(
        neighbor_solicitation(kMac, address(kSource), address(kTarget), std::nullopt, pools()));
    const Bytes bytes = test::bytes_of(frame.get());
    const auto view = std::as_bytes(std::span(bytes));
    const auto parsed = net::parse_neighbor_solicitation(
        *reinterpret_cast<const net::Ipv6Header*>(view.data() + 14), view.subspan(54),
        net::NdChecksum::verify);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->source_mac, kMac);
}

TEST_F(NdMessagesTest, WithoutAFreeBufferThereIsNoMessage) {
    std::vector<FramePtr> hoard;
    while (rte_mbuf* buffer = rte_pktmbuf_alloc(pools().small()))
        hoard.emplace_back(buffer);
    EXPECT_EQ(duplicate_address_solicitation(kMac, address(kTarget), pools()), nullptr);
    EXPECT_EQ(neighbor_advertisement({}, pools()), nullptr);
    EXPECT_EQ(router_advertisement({}, multicast_receiver(net::kAllNodes), pools()), nullptr);
}

}  // namespace
}  // namespace heddle::service
