#include "service/arp_messages.h"

#include <gtest/gtest.h>

#include "ip_model.h"
#include "support/eal.h"

namespace heddle::service {
namespace {

using test::Bytes;
using test::FramePtr;

const net::MacAddress kMac(2, 1, 2, 3, 4, 5);
const net::MacAddress kOtherMac(2, 9, 9, 9, 9, 9);
const net::Ipv4Address kIp(10, 0, 0, 1);
const net::Ipv4Address kOtherIp(10, 0, 0, 254);

class ArpMessagesTest : public test::PoolTest {
 protected:
    /// Takes over the frame.
    static void expect(rte_mbuf* frame, const Bytes& bytes) {
        const FramePtr owned(frame);
        ASSERT_NE(frame, nullptr);
        EXPECT_EQ(test::bytes_of(frame), bytes);
        EXPECT_TRUE(test::is_sane(frame));
        EXPECT_EQ(rte_pktmbuf_headroom(frame), packet::kHeadroom);
        const packet::Metadata& known = packet::metadata(frame);
        EXPECT_TRUE(known.parsed);
        EXPECT_EQ(known.ethertype, 0x0806);
        EXPECT_EQ(known.l3_offset, 14);
        EXPECT_EQ(known.l4_offset, 0);
        EXPECT_EQ(known.l4_checksum, packet::L4Checksum::unknown);
    }
};

TEST_F(ArpMessagesTest, RequestIsBroadcast) {
    expect(arp_request(kMac, kIp, kOtherIp, std::nullopt, pools()),
           {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  1, 2, 3,  4, 5, 8, 6,  //
            0,    1,    8,    0,    6,    4,    0,  1,                     // request
            2,    1,    2,    3,    4,    5,    10, 0, 0, 1,               // sender
            0,    0,    0,    0,    0,    0,    10, 0, 0, 254});           // target
}

TEST_F(ArpMessagesTest, RequestToAKnownNeighbourIsUnicast) {
    expect(arp_request(kMac, kIp, kOtherIp, kOtherMac, pools()),
           {2, 9, 9, 9, 9, 9, 2,  1, 2, 3,  4, 5, 8, 6,  //
            0, 1, 8, 0, 6, 4, 0,  1,                     //
            2, 1, 2, 3, 4, 5, 10, 0, 0, 1,               //
            0, 0, 0, 0, 0, 0, 10, 0, 0, 254});
}

TEST_F(ArpMessagesTest, ReplyNamesBothSides) {
    expect(arp_reply(kMac, kIp, kOtherMac, kOtherIp, pools()),
           {2, 9, 9, 9, 9, 9, 2,  1, 2, 3,  4, 5, 8, 6,  //
            0, 1, 8, 0, 6, 4, 0,  2,                     // reply
            2, 1, 2, 3, 4, 5, 10, 0, 0, 1,               //
            2, 9, 9, 9, 9, 9, 10, 0, 0, 254});
}

TEST_F(ArpMessagesTest, ProbeClaimsNoAddress) {
    expect(arp_probe(kMac, kOtherIp, pools()),
           {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  1, 2, 3,  4, 5, 8, 6,  //
            0,    1,    8,    0,    6,    4,    0,  1,                     //
            2,    1,    2,    3,    4,    5,    0,  0, 0, 0,               //
            0,    0,    0,    0,    0,    0,    10, 0, 0, 254});
}

TEST_F(ArpMessagesTest, AnnouncementHasTheSameAddressTwice) {
    expect(arp_announcement(kMac, kIp, ArpAnnouncement::request, pools()),
           {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  1, 2, 3, 4, 5, 8, 6,  //
            0,    1,    8,    0,    6,    4,    0,  1,                    //
            2,    1,    2,    3,    4,    5,    10, 0, 0, 1,              //
            0,    0,    0,    0,    0,    0,    10, 0, 0, 1});
    expect(arp_announcement(kMac, kIp, ArpAnnouncement::reply, pools()),
           {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  1, 2, 3, 4, 5, 8, 6,  //
            0,    1,    8,    0,    6,    4,    0,  2,                    //
            2,    1,    2,    3,    4,    5,    10, 0, 0, 1,              //
            2,    1,    2,    3,    4,    5,    10, 0, 0, 1});
}

TEST_F(ArpMessagesTest, WithoutAFreeBufferThereIsNoMessage) {
    std::vector<FramePtr> hoard;
    while (rte_mbuf* buffer = rte_pktmbuf_alloc(pools().small()))
        hoard.emplace_back(buffer);
    EXPECT_EQ(arp_request(kMac, kIp, kOtherIp, std::nullopt, pools()), nullptr);
    EXPECT_EQ(arp_reply(kMac, kIp, kOtherMac, kOtherIp, pools()), nullptr);
    EXPECT_EQ(arp_probe(kMac, kOtherIp, pools()), nullptr);
    EXPECT_EQ(arp_announcement(kMac, kIp, ArpAnnouncement::reply, pools()), nullptr);
}

}  // namespace
}  // namespace heddle::service
