// Neighbours in time: waiting, asking, ageing, giving up.
#include "pipeline/resolver.h"

#include <gmock/gmock.h>

#include "router_rig.h"

namespace heddle::test {
namespace {

using packet::DropReason;
using pipeline::NeighborPhase;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Mac kCarl = {2, 0, 0, 0, 0, 3};  ///< in network 2, not of the port table

/// A neighbour solicitation of the router's for an address (RFC 4861, section 4.3).
Bytes solicitation(const std::string& target, const Mac& router = kRouter) {
    const Bytes address = ip(target);
    IpModel model;
    model.v6 = true;
    model.ttl = 255;
    model.source_mac = router;
    model.destination_mac = {0x33, 0x33, 0xff, address[13], address[14], address[15]};
    model.source = ip("fd00:2::1");
    model.destination = joined(ip("ff02::1:ff00:0"), {});
    std::copy(address.begin() + 13, address.end(), model.destination.begin() + 13);
    Bytes rest = joined(Bytes(4), address);
    append(rest, {1, 1});
    rest.insert(rest.end(), router.begin(), router.end());
    return model.icmp(135, 0, rest).frame();
}

/// An advertisement of Carl's.
IpModel advertisement(const std::string& target, uint8_t flags = 0x60, const Mac& mac = kCarl) {
    IpModel model;
    model.v6 = true;
    model.ttl = 255;
    model.source_mac = mac;
    model.destination_mac = kRouter;
    model.source = ip(target);
    model.destination = ip("fd00:2::1");
    Bytes rest = joined({flags, 0, 0, 0}, ip(target));
    append(rest, {2, 1});
    rest.insert(rest.end(), mac.begin(), mac.end());
    return model.icmp(136, 0, rest);
}

class Neighbors : public RoutedNetworks {
 protected:
    /// ARP of the router's for an address in network 2.
    static Bytes request(const std::string& target, const Mac& to = kBroadcastMac) {
        return Arp{1, kRouter, ip("10.0.2.1"), kNobody, ip(target), to}.frame();
    }
    static Bytes reply(const std::string& address, const Mac& mac = kCarl) {
        return Arp{2, mac, ip(address), kRouter, ip("10.0.2.1"), kRouter}.frame();
    }
    NeighborPhase phase(const std::string& address) const {
        const auto view = rig.neighbor(2, address);
        return view ? view->phase : NeighborPhase::unknown;
    }
    static IpModel numbered(const std::string& destination, uint16_t number) {
        IpModel model = to(destination);
        model.payload = udp(20, number);
        return model;
    }
};

TEST_F(Neighbors, PacketsWaitForTheAnswerAndLeaveInOrder) {
    for (const char* there : {"10.0.2.7", "fd00:2::7"}) {
        const bool v6 = std::string(there).find(':') != std::string::npos;
        two.sent.clear();
        std::vector<Bytes> expected;
        for (uint16_t i = 0; i < 64; ++i) {
            rig.receive(1, numbered(there, i).frame());
            expected.push_back(routed(numbered(there, i), kCarl));
        }
        EXPECT_THAT(bytes_of_sent(two), ElementsAre(v6 ? solicitation(there) : request(there)))
            << "one request, however many wait";
        EXPECT_EQ(rig.neighbor(2, there)->waiting, 64);
        EXPECT_EQ(phase(there), NeighborPhase::incomplete);
        const uint64_t before = rig.drops(1, DropReason::neighbor_queue_full);
        rig.receive(1, numbered(there, 64).frame());
        EXPECT_EQ(rig.drops(1, DropReason::neighbor_queue_full), before + 1);
        two.sent.clear();
        rig.receive(2, v6 ? advertisement(there).frame() : reply(there));
        EXPECT_EQ(bytes_of_sent(two), expected);
        EXPECT_EQ(phase(there), NeighborPhase::reachable);
        EXPECT_EQ(rig.neighbor(2, there)->mac, to_mac(kCarl));
        two.sent.clear();
        rig.receive(1, numbered(there, 65).frame());
        EXPECT_THAT(bytes_of_sent(two), ElementsAre(routed(numbered(there, 65), kCarl)));
    }
}

TEST_F(Neighbors, NobodyAnswersThreeRequestsASecondApart) {
    for (const char* there : {"10.0.2.7", "fd00:2::7"}) {
        const bool v6 = std::string(there).find(':') != std::string::npos;
        const Bytes asked = v6 ? solicitation(there) : request(there);
        one.sent.clear();
        two.sent.clear();
        rig.receive(1, numbered(there, 1).frame());
        rig.receive(1, numbered(there, 2).frame());
        rig.advance(900);
        EXPECT_THAT(bytes_of_sent(two), ElementsAre(asked));
        rig.advance(200);
        EXPECT_THAT(bytes_of_sent(two), ElementsAre(asked, asked));
        rig.advance(1000);
        EXPECT_THAT(bytes_of_sent(two), ElementsAre(asked, asked, asked));
        EXPECT_THAT(one.sent, IsEmpty());
        const uint64_t before = rig.drops(1, DropReason::neighbor_unreachable);
        rig.advance(1000);
        EXPECT_THAT(two.sent, SizeIs(3)) << "RFC 4861: MAX_MULTICAST_SOLICIT";
        EXPECT_EQ(rig.drops(1, DropReason::neighbor_unreachable), before + 2);
        ASSERT_THAT(one.sent, SizeIs(2));
        for (uint16_t i = 0; i < 2; ++i) {
            const auto seen = seen_icmp(one.sent[i].bytes);
            ASSERT_TRUE(seen);
            EXPECT_EQ(seen->type, v6 ? 1 : 3);
            EXPECT_EQ(seen->code, v6 ? 3 : 1);
            EXPECT_EQ(seen->source, ip(v6 ? "fd00:1::1" : "10.0.1.1"));
            const Bytes original = numbered(there, static_cast<uint16_t>(i + 1)).packet();
            EXPECT_EQ(seen->data, slice(original, 0, seen->data.size())) << "as it was sent";
        }
        one.sent.clear();
        rig.receive(1, numbered(there, 3).frame());
        EXPECT_THAT(one.sent, SizeIs(1)) << "answered at once";
        EXPECT_THAT(two.sent, SizeIs(3)) << "and not asked for";
        rig.advance(3000);
        rig.receive(1, numbered(there, 4).frame());
        EXPECT_THAT(two.sent, SizeIs(4)) << "after a while asked for again";
        rig.receive(2, v6 ? advertisement(there).frame() : reply(there));
        EXPECT_THAT(two.sent, SizeIs(5));
    }
}

TEST_F(Neighbors, UnreachableIsSaidOnlyAsOftenAsThePortMay) {
    rig.tables.icmp_limit(1).configure(rte_get_tsc_hz(), 5);
    for (uint16_t i = 0; i < 20; ++i)
        rig.receive(1, numbered("10.0.2.7", i).frame());
    for (int i = 0; i < 4; ++i)
        rig.advance(1000);
    EXPECT_EQ(rig.drops(1, DropReason::neighbor_unreachable), 20u);
    EXPECT_THAT(one.sent, SizeIs(5));
}

TEST_F(Neighbors, UnknownNeighborsAreLimitedPerPort) {
    rig.tables.resolver_limit(1).configure(rte_get_tsc_hz() / 100, 10);
    for (uint16_t i = 0; i < 30; ++i)
        rig.receive(1, numbered("10.0.2." + std::to_string(20 + i), i).frame());
    EXPECT_EQ(rig.drops(1, DropReason::neighbor_limit), 20u);
    EXPECT_THAT(two.sent, SizeIs(10)) << "requests";
}

TEST_F(Neighbors, PacketsWaitingInAllAreLimited) {
    for (uint16_t i = 0; i < 33; ++i) {
        for (uint16_t k = 0; k < 64; ++k)
            rig.receive(1, numbered("10.0.2." + std::to_string(20 + i), k).frame());
    }
    EXPECT_EQ(rig.drops(1, DropReason::neighbor_queue_full), 64u) << "2048 of 2112 wait";
}

TEST_F(Neighbors, InUseConfirmedEveryThirtySecondsByAUnicastRequest) {
    for (const char* there : {"10.0.2.7", "fd00:2::7"}) {
        const bool v6 = std::string(there).find(':') != std::string::npos;
        rig.receive(1, numbered(there, 1).frame());
        rig.receive(2, v6 ? advertisement(there).frame() : reply(there));
        for (int second = 0; second < 29; ++second) {
            two.sent.clear();
            rig.receive(1, numbered(there, 2).frame());
            rig.advance(1000);
            ASSERT_THAT(two.sent, SizeIs(1)) << "no request after " << second;
        }
        two.sent.clear();
        for (int i = 0; i < 3; ++i)
            rig.advance(1000);
        EXPECT_EQ(phase(there), NeighborPhase::probe);
        ASSERT_GE(two.sent.size(), 1u);
        EXPECT_TRUE(std::equal(kCarl.begin(), kCarl.end(), two.sent[0].bytes.begin()))
            << "to it alone";
        EXPECT_EQ(two.sent[0].bytes[v6 ? 54 : 21], v6 ? 135 : 1) << "a request";
        two.sent.clear();
        rig.receive(1, numbered(there, 3).frame());
        EXPECT_THAT(bytes_of_sent(two), ElementsAre(routed(numbered(there, 3), kCarl)))
            << "packets go on meanwhile";
        rig.receive(2, v6 ? advertisement(there).frame() : reply(there));
        EXPECT_EQ(phase(there), NeighborPhase::reachable);
    }
}

TEST_F(Neighbors, NotInUseBecomesStaleWithoutARequestAndIsProbedOnceUsed) {
    rig.receive(1, numbered("10.0.2.7", 1).frame());
    rig.receive(2, reply("10.0.2.7"));
    for (int second = 0; second < 90; ++second) {
        rig.advance(1000);
        // It was used when it was resolved, and may be confirmed once for that.
        if (phase("10.0.2.7") == NeighborPhase::probe) rig.receive(2, reply("10.0.2.7"));
    }
    EXPECT_EQ(phase("10.0.2.7"), NeighborPhase::stale);
    const size_t confirmations = two.sent.size();
    for (int second = 0; second < 200; ++second)
        rig.advance(1000);
    EXPECT_EQ(two.sent.size(), confirmations) << "nobody uses it, so nobody asks";
    two.sent.clear();
    rig.receive(1, numbered("10.0.2.7", 2).frame());
    EXPECT_THAT(bytes_of_sent(two), ElementsAre(routed(numbered("10.0.2.7", 2), kCarl)));
    rig.advance(1000);
    rig.advance(1000);
    EXPECT_EQ(phase("10.0.2.7"), NeighborPhase::probe);
}

TEST_F(Neighbors, NoLongerThereIsAskedForAloneThenByBroadcastThenGivenUp) {
    rig.receive(1, numbered("10.0.2.7", 1).frame());
    rig.receive(2, reply("10.0.2.7"));
    for (int second = 0; second < 29; ++second) {
        rig.receive(1, numbered("10.0.2.7", 1).frame());
        rig.advance(1000);
    }
    two.sent.clear();
    std::vector<NeighborPhase> phases;
    for (int step = 0; step < 120; ++step) {
        rig.advance(100);
        if (phases.empty() || phases.back() != phase("10.0.2.7"))
            phases.push_back(phase("10.0.2.7"));
    }
    ASSERT_GE(phases.size(), 4u);
    EXPECT_EQ(phases[0], NeighborPhase::reachable);
    EXPECT_EQ(phases[1], NeighborPhase::probe);
    EXPECT_EQ(phases[2], NeighborPhase::incomplete);
    EXPECT_EQ(phases[3], NeighborPhase::failed);
    const Bytes alone = request("10.0.2.7", kCarl);
    const auto sent = bytes_of_sent(two);
    ASSERT_THAT(sent, SizeIs(6));
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(slice(sent[i], 0, 6), Bytes(kCarl.begin(), kCarl.end()));
        EXPECT_EQ(slice(sent[i], 6, 32), slice(alone, 6, 32));
    }
    for (size_t i = 3; i < 6; ++i)
        EXPECT_EQ(sent[i], request("10.0.2.7"));
    EXPECT_FALSE(rig.neighbor(2, "10.0.2.7")) << "and forgotten, as nothing refers to it";
}

TEST_F(Neighbors, PortTableIsAskedForNothingAndChangedByNobody) {
    for (int second = 0; second < 100; ++second) {
        rig.receive(1, to_bert().frame());
        rig.receive(1, to_bert(true).frame());
        rig.advance(1000);
    }
    EXPECT_THAT(two.sent, SizeIs(200));
    rig.receive(2, reply("10.0.2.9"));
    rig.receive(2, advertisement("fd00:2::9").frame());
    rig.receive(2, Arp{1, kCarl, ip("10.0.2.9"), kNobody, ip("10.0.2.1")}.frame());
    EXPECT_EQ(rig.neighbor(2, "10.0.2.9")->mac, to_mac(kBert));
    EXPECT_EQ(rig.neighbor(2, "fd00:2::9")->mac, to_mac(kBert));
    EXPECT_TRUE(rig.neighbor(2, "10.0.2.9")->permanent);
    rig.resolver.clear_permanent(rig.context, RouterRig::key(2, "10.0.2.9"));
    two.sent.clear();
    rig.receive(1, to_bert().frame());
    EXPECT_THAT(bytes_of_sent(two), ElementsAre(request("10.0.2.9"))) << "as any other now";
}

TEST_F(Neighbors, HostThatBecomesKnownGetsWhatWaits) {
    rig.receive(1, numbered("10.0.2.7", 1).frame());
    two.sent.clear();
    rig.know(2, "10.0.2.7", kCarl);
    rig.context.egress.flush();
    EXPECT_THAT(bytes_of_sent(two), ElementsAre(routed(numbered("10.0.2.7", 1), kCarl)));
}

TEST_F(Neighbors, WhatCameByAPortThatIsRemovedNoLongerWaits) {
    rig.add_port(4);
    rig.attach(4, 1);
    for (uint16_t i = 0; i < 10; ++i)
        rig.receive(i % 2 == 0 ? 1 : 4, numbered("10.0.2.7", i).frame());
    rig.resolver.forget_port(rig.context, 4);
    EXPECT_EQ(rig.drops(4, DropReason::port_gone), 5u);
    two.sent.clear();
    rig.receive(2, reply("10.0.2.7"));
    ASSERT_THAT(two.sent, SizeIs(5));
    for (uint16_t i = 0; i < 5; ++i)
        EXPECT_EQ(two.sent[i].bytes, routed(numbered("10.0.2.7", 2 * i), kCarl)) << "in order";
}

TEST_F(Neighbors, ForgottenWithTheirBridge) {
    rig.receive(1, numbered("10.0.2.7", 1).frame());
    rig.resolver.forget_bridge(rig.context, 2);
    rig.context.egress.flush();
    EXPECT_EQ(rig.drops(1, DropReason::neighbor_unreachable), 1u);
    EXPECT_FALSE(rig.neighbor(2, "10.0.2.7"));
    EXPECT_FALSE(rig.neighbor(2, "10.0.2.9")) << "the port table, too";
    EXPECT_TRUE(rig.neighbor(1, "10.0.1.9"));
}

TEST_F(Neighbors, IdsAreFreeOnlyWhenControlSaysSo) {
    EXPECT_FALSE(rig.resolver.has_retired());
    const forwarding::AdjacencyId id = rig.resolver.pin(rig.context, RouterRig::key(2, "10.0.2.7"));
    EXPECT_EQ(rig.resolver.pin(rig.context, RouterRig::key(2, "10.0.2.7")), id);
    rig.resolver.unpin(id);
    for (int i = 0; i < 5; ++i)
        rig.advance(1000);
    EXPECT_TRUE(rig.neighbor(2, "10.0.2.7")) << "pinned once more";
    rig.resolver.unpin(id);
    for (int i = 0; i < 5; ++i)
        rig.advance(1000);
    EXPECT_FALSE(rig.neighbor(2, "10.0.2.7"));
    ASSERT_TRUE(rig.resolver.has_retired());
    const auto taken = rig.resolver.take_retired();
    EXPECT_THAT(taken, ElementsAre(id));
    EXPECT_FALSE(rig.resolver.has_retired());
    EXPECT_NE(rig.resolver.pin(rig.context, RouterRig::key(2, "10.0.2.8")), id);
    rig.resolver.release(rig.context, taken);
    EXPECT_EQ(rig.resolver.pin(rig.context, RouterRig::key(2, "10.0.2.6")), id);
}

}  // namespace
}  // namespace heddle::test
