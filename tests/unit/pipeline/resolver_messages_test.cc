// What routers believe of ARP and neighbour discovery, and what they answer.
#include <gmock/gmock.h>

#include "pipeline/resolver.h"
#include "router_rig.h"

namespace heddle::test {
namespace {

using packet::DropReason;
using pipeline::NeighborPhase;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Mac kEve = {2, 0, 0, 0, 0, 0xee};

/// Neighbour discovery of Anne's; the fields may be forged.
struct Nd {
    uint8_t type = 135;
    Mac source_mac = kAnne;
    Mac option_mac = kAnne;
    bool has_option = true;
    std::string source = "fd00:1::9";
    std::string destination = "ff02::1:ff00:1";
    Mac destination_mac = {0x33, 0x33, 0xff, 0, 0, 1};
    std::string target = "fd00:1::1";
    uint8_t flags = 0;
    uint8_t hop_limit = 255;
    uint8_t code = 0;

    IpModel model() const {
        IpModel result;
        result.v6 = true;
        result.ttl = hop_limit;
        result.source_mac = source_mac;
        result.destination_mac = destination_mac;
        result.source = ip(source);
        result.destination = ip(destination);
        Bytes rest = {flags, 0, 0, 0};
        if (type != 133) append(rest, ip(target));
        if (has_option) {
            append(rest, {static_cast<uint8_t>(type == 136 ? 2 : 1), 1});
            rest.insert(rest.end(), option_mac.begin(), option_mac.end());
        }
        return result.icmp(type, code, rest);
    }
    Bytes frame() const { return model().frame(); }
};

class NeighborMessages : public RoutedNetworks {
 protected:
    NeighborMessages() : RoutedNetworks(false), three(rig.add_port(3)) { rig.attach(3, 1); }

    void expect_nothing_learned(const Bytes& frame, const std::string& what) {
        const auto table = snapshot();
        rig.receive(1, frame);
        EXPECT_EQ(snapshot(), table) << what;
    }
    std::vector<std::string> snapshot() const {
        std::vector<std::string> result;
        rig.resolver.for_each(rig.context, [&](const pipeline::Resolver::View& view) {
            result.push_back(view.key.address().to_string() + " " + view.mac.to_string() + " " +
                             std::to_string(static_cast<int>(view.phase)));
        });
        std::sort(result.begin(), result.end());
        return result;
    }
    void make_known() {
        rig.receive(1, Arp{}.frame());
        rig.receive(1, Nd{}.frame());
        ASSERT_THAT(snapshot(), SizeIs(2));
        one.sent.clear();
        three.sent.clear();
    }

    FakePort& three;
};

TEST_F(NeighborMessages, RequestForTheRouterIsAnsweredAndMakesAnEntry) {
    rig.receive(1, Arp{}.frame());
    EXPECT_THAT(bytes_of_sent(one),
                ElementsAre(Arp{2, kRouter, ip("10.0.1.1"), kAnne, ip("10.0.1.9"), kAnne}.frame()));
    EXPECT_THAT(three.sent, IsEmpty()) << "nobody else need hear it";
    const auto view = rig.neighbor(1, "10.0.1.9");
    ASSERT_TRUE(view);
    EXPECT_EQ(view->mac, to_mac(kAnne));
    EXPECT_EQ(view->phase, NeighborPhase::stale) << "RFC 4861, section 7.2.3";
}

TEST_F(NeighborMessages, SolicitationForTheRouterIsAnsweredAndMakesAnEntry) {
    rig.receive(1, Nd{}.frame());
    ASSERT_THAT(one.sent, SizeIs(1));
    Nd answer{.type = 136, .source_mac = kRouter, .option_mac = kRouter, .source = "fd00:1::1"};
    answer.destination = "fd00:1::9";
    answer.destination_mac = kAnne;
    answer.flags = 0xe0;  // router, solicited, override
    EXPECT_EQ(one.sent[0].bytes, answer.frame());
    EXPECT_THAT(three.sent, IsEmpty());
    ASSERT_TRUE(rig.neighbor(1, "fd00:1::9"));
    EXPECT_EQ(rig.neighbor(1, "fd00:1::9")->phase, NeighborPhase::stale);
}

TEST_F(NeighborMessages, ProbeForTheRoutersAddressIsAnsweredAndMakesNoEntry) {
    rig.receive(1, Arp{1, kEve, ip("0.0.0.0"), kNobody, ip("10.0.1.1")}.frame());
    ASSERT_THAT(one.sent, SizeIs(1)) << "RFC 5227, section 2.1.1: the address is taken";
    Nd probe{.source_mac = kEve, .has_option = false, .source = "::"};
    one.sent.clear();
    rig.receive(1, probe.frame());
    ASSERT_THAT(one.sent, SizeIs(1));
    Nd answer{.type = 136, .source_mac = kRouter, .option_mac = kRouter, .source = "fd00:1::1"};
    answer.destination = "ff02::1";  // RFC 4861, section 7.2.4
    answer.destination_mac = {0x33, 0x33, 0, 0, 0, 1};
    answer.flags = 0xa0;  // router, override; not solicited
    EXPECT_EQ(one.sent[0].bytes, answer.frame());
    EXPECT_THAT(snapshot(), IsEmpty());
}

TEST_F(NeighborMessages, AnnouncementsMakeNoEntryButUpdateOne) {
    const Bytes arp_to_all = Arp{1, kAnne, ip("10.0.1.9"), kNobody, ip("10.0.1.9")}.frame();
    Nd nd{.type = 136, .destination = "ff02::1", .target = "fd00:1::9", .flags = 0x20};
    nd.destination_mac = {0x33, 0x33, 0, 0, 0, 1};
    expect_nothing_learned(arp_to_all, "gratuitous ARP");
    expect_nothing_learned(nd.frame(), "unsolicited advertisement");
    expect_nothing_learned(Arp{2, kAnne, ip("10.0.1.9"), kRouter, ip("10.0.1.1"), kRouter}.frame(),
                           "a reply to nothing");
    make_known();
    rig.receive(1, Arp{1, kEve, ip("10.0.1.9"), kNobody, ip("10.0.1.9")}.frame());
    nd.source_mac = nd.option_mac = kEve;
    rig.receive(1, nd.frame());
    EXPECT_EQ(rig.neighbor(1, "10.0.1.9")->mac, to_mac(kEve));
    EXPECT_EQ(rig.neighbor(1, "fd00:1::9")->mac, to_mac(kEve));
    EXPECT_EQ(rig.neighbor(1, "10.0.1.9")->phase, NeighborPhase::stale);
    EXPECT_EQ(rig.neighbor(1, "fd00:1::9")->phase, NeighborPhase::stale);
    EXPECT_THAT(three.sent, SizeIs(2)) << "the others hear announcements";
}

TEST_F(NeighborMessages, AdvertisementWithoutOverrideOnlyMakesTheEntryStale) {
    rig.receive(2, to("fd00:1::9", "fd00:2::9").frame());
    rig.receive(1, Nd{}.frame());
    Nd nd{.type = 136, .target = "fd00:1::9", .flags = 0x60};
    nd.destination = "fd00:1::1";
    nd.destination_mac = kRouter;
    rig.receive(1, nd.frame());
    EXPECT_EQ(rig.neighbor(1, "fd00:1::9")->phase, NeighborPhase::reachable);
    nd.source_mac = nd.option_mac = kEve;
    nd.flags = 0x40;
    rig.receive(1, nd.frame());
    EXPECT_EQ(rig.neighbor(1, "fd00:1::9")->mac, to_mac(kAnne)) << "RFC 4861, section 7.2.5";
    EXPECT_EQ(rig.neighbor(1, "fd00:1::9")->phase, NeighborPhase::stale);
    nd.source_mac = nd.option_mac = kAnne;
    nd.flags = 0;
    rig.receive(1, nd.frame());
    EXPECT_EQ(rig.neighbor(1, "fd00:1::9")->phase, NeighborPhase::stale)
        << "unsolicited: says nothing of reachability";
}

// RFC 4861, section 7.2.5: in state incomplete, one without the option is discarded.
TEST_F(NeighborMessages, FirstAdvertisementWithoutLinkLayerAddressIsDiscarded) {
    rig.know(2, "fd00:2::9", kBert);
    rig.receive(2, to("fd00:1::9", "fd00:2::9").frame());
    ASSERT_EQ(rig.neighbor(1, "fd00:1::9")->phase, NeighborPhase::incomplete);
    Nd nd{.type = 136, .has_option = false, .target = "fd00:1::9", .flags = 0x60};
    nd.destination = "fd00:1::1";
    nd.destination_mac = kRouter;
    rig.receive(1, nd.frame());
    EXPECT_EQ(rig.neighbor(1, "fd00:1::9")->phase, NeighborPhase::incomplete);
}

TEST_F(NeighborMessages, ForgedArpTeachesNothing) {
    make_known();
    const Bytes other = ip("10.0.1.8");
    const Bytes own = ip("10.0.1.1");
    const auto request = [&](const Bytes& sender, const Mac& mac = kEve) {
        return Arp{1, mac, sender, kNobody, own};
    };
    Arp arp = request(other);
    arp.source = kAnne;
    expect_nothing_learned(arp.frame(), "not the Ethernet source");
    expect_nothing_learned(request(ip("10.0.2.8")).frame(), "another subnet");
    expect_nothing_learned(request(ip("192.0.2.1")).frame(), "no subnet at all");
    expect_nothing_learned(request(ip("10.0.1.255")).frame(), "the broadcast address");
    expect_nothing_learned(request(ip("10.0.1.0")).frame(), "the subnet's address");
    expect_nothing_learned(request(ip("255.255.255.255")).frame(), "everybody");
    expect_nothing_learned(request(ip("224.0.0.1")).frame(), "a group");
    expect_nothing_learned(request(own).frame(), "the router's own address");
    expect_nothing_learned(Arp{2, kEve, own, kNobody, own}.frame(), "a reply for the router's");
    arp = request(ip("10.0.1.9"));
    arp.operation = 3;
    expect_nothing_learned(arp.frame(), "neither request nor reply");
    arp = request(ip("10.0.1.9"), kBroadcastMac);
    arp.source = kEve;
    expect_nothing_learned(arp.frame(), "a broadcast MAC address");
    arp = request(ip("10.0.1.9"), kNobody);
    arp.source = kEve;
    expect_nothing_learned(arp.frame(), "no MAC address");
    for (const size_t byte : {14, 15, 16, 17, 18, 19}) {
        Bytes frame = request(other).frame();
        frame[byte] ^= 1;
        expect_nothing_learned(frame, "type or length " + std::to_string(byte));
    }
}

TEST_F(NeighborMessages, ForgedNeighborDiscoveryTeachesNothing) {
    make_known();
    const Nd eve{.source_mac = kEve, .option_mac = kEve, .source = "fd00:1::8"};
    const auto forged = [&](const std::string& what, const std::function<void(Nd&)>& change) {
        Nd nd = eve;
        change(nd);
        expect_nothing_learned(nd.frame(), what);
    };
    forged("hop limit 254", [](Nd& nd) { nd.hop_limit = 254; });
    forged("code 1", [](Nd& nd) { nd.code = 1; });
    forged("not the Ethernet source", [](Nd& nd) { nd.option_mac = kAnne; });
    forged("another subnet", [](Nd& nd) { nd.source = "fd00:2::8"; });
    forged("the router's own address", [](Nd& nd) { nd.source = "fd00:1::1"; });
    forged("the router's link-local one", [](Nd& nd) { nd.source = "fe80::ff:fe00:aa"; });
    forged("the subnet-router anycast address", [](Nd& nd) { nd.source = "fd00:1::"; });
    forged("a group as source", [](Nd& nd) { nd.source = "ff02::1"; });
    forged("a group as target", [](Nd& nd) { nd.target = "ff02::1"; });
    forged("option of a probe", [](Nd& nd) { nd.source = "::"; });
    forged("a solicited advertisement to all", [](Nd& nd) {
        nd.type = 136;
        nd.target = "fd00:1::9";
        nd.destination = "ff02::1";
        nd.flags = 0x60;
    });
    Bytes frame = eve.frame();
    frame[56] ^= 1;
    expect_nothing_learned(frame, "checksum");
    frame = eve.frame();
    frame[79] = 0;  // the option's length
    store16(frame, 56, load16(frame, 56) + 1);
    expect_nothing_learned(frame, "an option of length 0");
    rig.receive(1, eve.frame());
    EXPECT_TRUE(rig.neighbor(1, "fd00:1::8")) << "and as it was, it is believed";
}

TEST_F(NeighborMessages, ConflictIsContradictedAtMostOnceASecond) {
    const auto& conflicts = rig.resolver.statistics().conflicts;
    const Bytes claim = Arp{1, kEve, ip("10.0.1.1"), kNobody, ip("10.0.1.1")}.frame();
    rig.advance(1);
    rig.receive(1, claim);
    EXPECT_EQ(conflicts, 1u);
    EXPECT_EQ(rig.drops(1, DropReason::bad_arp), 1u);
    const Bytes announcement = Arp{1, kRouter, ip("10.0.1.1"), kNobody, ip("10.0.1.1")}.frame();
    const auto announced = [&] {
        size_t count = 0;
        for (const Bytes& frame : bytes_of_sent(three)) {
            // The target's MAC address in an announcement is nobody's business (RFC 5227, 2.3).
            Bytes compared = frame;
            if (compared.size() >= 38) std::fill_n(compared.begin() + 32, 6, uint8_t{0});
            compared.resize(42);
            count += compared == announcement ? 1 : 0;
        }
        return count;
    };
    EXPECT_EQ(announced(), 1u) << "RFC 5227, section 2.4";
    EXPECT_THAT(bytes_of_sent(three), testing::Not(testing::Contains(claim)));
    for (int i = 0; i < 9; ++i) {
        rig.receive(1, claim);
        rig.advance(100);
    }
    EXPECT_EQ(announced(), 1u);
    rig.advance(200);
    rig.receive(1, claim);
    EXPECT_EQ(announced(), 2u);
    EXPECT_EQ(conflicts, 11u);
    Nd nd{.type = 136, .source_mac = kEve, .option_mac = kEve, .source = "fd00:1::1"};
    nd.destination = "ff02::1";
    nd.destination_mac = {0x33, 0x33, 0, 0, 0, 1};
    nd.flags = 0x20;
    rig.receive(1, nd.frame());
    EXPECT_EQ(conflicts, 12u);
    EXPECT_EQ(rig.drops(1, DropReason::bad_nd), 1u);
}

// A conflict in one network must not keep the router from defending itself in another.
TEST_F(NeighborMessages, ConflictsOfTwoNetworksAreContradictedInBoth) {
    rig.advance(1);
    rig.receive(1, Arp{1, kEve, ip("10.0.1.1"), kNobody, ip("10.0.1.1")}.frame());
    EXPECT_FALSE(one.sent.empty());
    rig.receive(2, Arp{1, kEve, ip("10.0.2.1"), kNobody, ip("10.0.2.1")}.frame());
    EXPECT_FALSE(two.sent.empty());
}

TEST_F(NeighborMessages, ArpIsLimitedPerPort) {
    rig.tables.resolver_limit(1).configure(rte_get_tsc_hz() / 100, 10);
    for (int i = 0; i < 30; ++i)
        rig.receive(1, Arp{}.frame());
    EXPECT_THAT(one.sent, SizeIs(10));
    EXPECT_EQ(rig.drops(1, DropReason::neighbor_limit), 20u);
}

TEST_F(NeighborMessages, ProxyAnswersForHostsOfThePortTableOnly) {
    rig.bridge(1).proxy_arp = true;
    rig.know(1, "10.0.1.7", kEve);
    rig.know(1, "fd00:1::7", kEve);
    rig.receive(1, Arp{1, kAnne, ip("10.0.1.9"), kNobody, ip("10.0.1.7")}.frame());
    EXPECT_THAT(bytes_of_sent(one),
                ElementsAre(Arp{2, kEve, ip("10.0.1.7"), kAnne, ip("10.0.1.9"), kAnne}.frame()));
    Nd nd{.destination = "ff02::1:ff00:7", .target = "fd00:1::7"};
    one.sent.clear();
    rig.receive(1, nd.frame());
    ASSERT_THAT(one.sent, SizeIs(1));
    EXPECT_EQ(one.sent[0].bytes[54], 136);
    EXPECT_EQ(one.sent[0].bytes[58] & 0x80, 0) << "a host is no router";
    EXPECT_THAT(three.sent, IsEmpty()) << "nothing was flooded";
    rig.receive(1, Arp{1, kAnne, ip("10.0.1.9"), kNobody, ip("10.0.1.6")}.frame());
    EXPECT_THAT(three.sent, SizeIs(1)) << "for a host nobody knows";
}

}  // namespace
}  // namespace heddle::test
