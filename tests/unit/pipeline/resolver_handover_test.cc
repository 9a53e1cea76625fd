// Packets that another worker hands over to the resolver are on their way for a while. Meanwhile
// neighbours are resolved or forgotten, and their ids taken by others: the grace period of RCU
// knows nothing of frames in a ring.
#include <gmock/gmock.h>

#include "pipeline/resolver.h"
#include "router_rig.h"

namespace heddle::test {
namespace {

using packet::DropReason;
using pipeline::NeighborPhase;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Mac kCarl = {2, 0, 0, 0, 0, 3};  ///< 10.0.2.7
constexpr Mac kDave = {2, 0, 0, 0, 0, 4};  ///< 10.0.2.8

class HandedOver : public RoutedNetworks {
 protected:
    static Bytes reply(const std::string& address, const Mac& mac) {
        return Arp{2, mac, ip(address), kRouter, ip("10.0.2.1"), kRouter}.frame();
    }
    /// What a worker without the resolver makes of a packet.
    void receive_elsewhere(const Bytes& bytes) {
        rig.context.resolver = nullptr;
        rig.receive(1, bytes);
        rig.context.resolver = &rig.resolver;
    }
    void arrive() {
        const size_t count = std::exchange(rig.context.punted_count, 0);
        for (size_t i = 0; i < count; ++i)
            rig.resolver.handle(rig.context, rig.context.punted[i]);
        rig.context.egress.flush();
    }
    /// An entry for 10.0.2.7 that failed and still has its id.
    void fail_carl() {
        rig.receive(1, to("10.0.2.7").frame());
        for (int i = 0; i < 3; ++i)
            rig.advance(1000);
        ASSERT_TRUE(rig.neighbor(2, "10.0.2.7"));
        ASSERT_EQ(rig.neighbor(2, "10.0.2.7")->phase, NeighborPhase::failed);
    }
    void forget_carl() {
        for (int i = 0; i < 3; ++i)
            rig.advance(1000);
        ASSERT_FALSE(rig.neighbor(2, "10.0.2.7"));
    }
    void release_ids() { rig.resolver.release(rig.context, rig.resolver.take_retired()); }
};

TEST_F(HandedOver, PacketWaitsAsIfItHadComeToTheResolversWorker) {
    receive_elsewhere(to("10.0.2.7").frame());
    EXPECT_EQ(rig.context.punted_count, 1u);
    EXPECT_THAT(two.sent, SizeIs(0));
    arrive();
    EXPECT_THAT(two.sent, SizeIs(1)) << "the request";
    two.sent.clear();
    rig.receive(2, reply("10.0.2.7", kCarl));
    EXPECT_THAT(bytes_of_sent(two), ElementsAre(routed(to("10.0.2.7"), kCarl)));
}

TEST_F(HandedOver, NeighborThatIsResolvedMeanwhile) {
    rig.receive(1, to("10.0.2.7").frame());
    receive_elsewhere(to_bert().frame());
    receive_elsewhere(to("10.0.2.7").frame());
    rig.receive(2, reply("10.0.2.7", kCarl));
    two.sent.clear();
    arrive();
    EXPECT_THAT(bytes_of_sent(two), ElementsAre(routed(to("10.0.2.7"), kCarl)));
}

// Symptom: packet buffers are gone for ever, a few at a time.
TEST_F(HandedOver, NeighborThatIsForgottenMeanwhileDoesNotKeepThePacket) {
    fail_carl();
    receive_elsewhere(to("10.0.2.7").frame());
    ASSERT_EQ(rig.context.punted_count, 1u);
    forget_carl();
    arrive();
    for (int i = 0; i < 10; ++i)
        rig.advance(1000);
    rig.check_identity();
    // Its id is the next one's now.
    release_ids();
    for (int i = 2; i < 9; ++i)
        rig.receive(
            2,
            Arp{1, kDave, ip("10.0.2." + std::to_string(10 * i)), kNobody, ip("10.0.2.1")}.frame());
    rig.check_identity();
}

// Symptom: now and then somebody gets a packet that is for somebody else.
TEST_F(HandedOver, NeighborWhoseIdIsAnothersMeanwhileIsNotMistakenForIt) {
    fail_carl();
    receive_elsewhere(to("10.0.2.7").frame());
    ASSERT_EQ(rig.context.punted_count, 1u);
    forget_carl();
    release_ids();
    rig.receive(2, Arp{1, kDave, ip("10.0.2.8"), kNobody, ip("10.0.2.1")}.frame());
    ASSERT_TRUE(rig.neighbor(2, "10.0.2.8"));
    two.sent.clear();
    arrive();
    EXPECT_THAT(bytes_of_sent(two), Not(Contains(routed(to("10.0.2.7"), kDave))));
}

TEST_F(HandedOver, InterfaceThatIsRemovedMeanwhile) {
    receive_elsewhere(to("10.0.2.7").frame());
    rig.tables.publish_interface(2, nullptr);
    arrive();
    EXPECT_EQ(rig.drops(1, DropReason::interface_gone), 1u);
    rig.tables.publish_interface(2, &rig.interface(2));
}

/// Another tenant's interface gets the id of one that was removed while packets waited.
class InterfaceIdReused : public HandedOver {
 protected:
    InterfaceIdReused() : three(rig.add_port(3)) {
        rig.add_bridge(3);
        rig.attach(3, 3);
        rig.add_router(2);
        // Another router on network 2, which stays there and hears answers.
        rig.add_router_interface(4, 2, 2, {2, 0, 0, 0, 0, 0xbb}, {"10.0.2.2/24"});
        other.id = 2;
        other.router = 2;
        other.bridge = 3;
        other.mac = to_mac({2, 0, 0, 0, 0, 0xcc});
        other.addresses4 = {net::Ipv4Prefix::parse("10.0.2.1/24").value()};
    }
    ~InterfaceIdReused() override { rig.tables.publish_interface(2, &rig.interface(2)); }

    forwarding::RouterInterface other;
    FakePort& three;
};

// Symptom: a packet of one tenant appears in the network of another.
TEST_F(InterfaceIdReused, WhatWaitsIsNotSentByTheOtherInterface) {
    rig.receive(1, to("10.0.2.7").frame());
    rig.tables.publish_interface(2, &other);
    rig.receive(
        2,
        Arp{2, kCarl, ip("10.0.2.7"), {2, 0, 0, 0, 0, 0xbb}, ip("10.0.2.2"), {2, 0, 0, 0, 0, 0xbb}}
            .frame());
    EXPECT_THAT(three.sent, SizeIs(0));
}

TEST_F(InterfaceIdReused, NobodyIsAskedForInTheOtherNetwork) {
    rig.receive(1, to("10.0.2.7").frame());
    rig.tables.publish_interface(2, &other);
    rig.advance(1000);
    EXPECT_THAT(three.sent, SizeIs(0));
}

TEST_F(InterfaceIdReused, WhatWaitsToLeaveByARemovedInterfaceIsDropped) {
    for (int i = 0; i < 3; ++i)
        rig.receive(1, to("10.0.2.7").frame());
    rig.tables.publish_interface(2, nullptr);
    rig.resolver.forget_interface(rig.context, 2);
    EXPECT_EQ(rig.drops(1, DropReason::interface_gone), 3u);
    rig.check_identity();
}

TEST_F(InterfaceIdReused, WhatCameByARemovedInterfaceIsSentButNotAnsweredByAnother) {
    rig.receive(1, to("10.0.2.7").frame());
    rig.receive(1, to("10.0.2.8").frame());
    rig.tables.publish_interface(1, nullptr);
    rig.resolver.forget_interface(rig.context, 1);
    // The same network and id, but another router's.
    other.id = 1;
    other.bridge = 1;
    other.addresses4 = {net::Ipv4Prefix::parse("10.0.1.3/24").value()};
    rig.tables.publish_interface(1, &other);
    two.sent.clear();
    rig.receive(2, reply("10.0.2.7", kCarl));
    EXPECT_THAT(bytes_of_sent(two), ElementsAre(routed(to("10.0.2.7"), kCarl)));
    for (int i = 0; i < 5; ++i)
        rig.advance(1000);
    EXPECT_EQ(rig.drops(1, DropReason::neighbor_unreachable), 1u);
    EXPECT_THAT(one.sent, SizeIs(0));
    rig.tables.publish_interface(1, &rig.interface(1));
}

// Symptom: some seconds after a router was removed, another one of the network loses packets.
TEST_F(HandedOver, NeighborsThatARemovedRouterAskedForAreConfirmedForTheOther) {
    const Mac other = {2, 0, 0, 0, 0, 0xbb};
    rig.add_router(2);
    rig.add_router_interface(3, 2, 1, other, {"10.0.1.2/24"});
    rig.add_router_interface(4, 2, 2, other, {"10.0.2.2/24"});
    rig.receive(1, to("10.0.2.7").frame());
    rig.receive(2, reply("10.0.2.7", kCarl));
    rig.tables.publish_interface(2, nullptr);
    std::erase(rig.bridge(2).routers, forwarding::InterfaceId{2});
    IpModel model = to("10.0.2.7");
    model.destination_mac = other;
    for (int second = 0; second < 100; ++second) {
        two.sent.clear();
        rig.receive(1, model.frame());
        ASSERT_THAT(bytes_of_sent(two), Contains(routed(model, kCarl, other))) << second;
        two.sent.clear();
        rig.advance(1000);
        for (const Bytes& sent : bytes_of_sent(two)) {
            if (load16(sent, 12) != 0x0806) continue;
            rig.receive(2,
                        Arp{2, kCarl, ip("10.0.2.7"), other, slice(sent, 28, 32), other}.frame());
            break;
        }
    }
    rig.tables.publish_interface(2, &rig.interface(2));
}

TEST_F(HandedOver, MessageForABridgeThatIsRemovedMeanwhile) {
    receive_elsewhere(Arp{}.frame());
    ASSERT_EQ(rig.context.punted_count, 1u);
    rig.tables.publish(forwarding::BridgeId{1}, static_cast<forwarding::Bridge*>(nullptr));
    arrive();
    EXPECT_EQ(rig.drops(1, DropReason::bad_arp), 1u);
    rig.tables.publish(forwarding::BridgeId{1}, &rig.bridge(1));
}

TEST_F(HandedOver, NoMoreThanThereIsRoomFor) {
    rig.context.resolver = nullptr;
    for (size_t i = 0; i < rig.context.punted.size() + 3; ++i)
        rig.receive(1, to("10.0.2.7").frame());
    rig.context.resolver = &rig.resolver;
    EXPECT_EQ(rig.drops(1, DropReason::neighbor_limit), 3u);
    arrive();
    EXPECT_EQ(rig.drops(1, DropReason::neighbor_queue_full), rig.context.punted.size() - 64);
}

}  // namespace
}  // namespace heddle::test
