// Which way packets go and what their senders are told: routes, ICMP errors, MTU, reverse path.
#include <gmock/gmock.h>

#include <set>

#include "net/flow_hash.h"
#include "packet/frame.h"
#include "router_rig.h"

namespace heddle::test {
namespace {

using forwarding::NextHop;
using forwarding::ReversePath;
using packet::DropReason;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr NextHop kBlackhole{NextHop::Kind::blackhole, 0, 0};
constexpr NextHop kReject{NextHop::Kind::reject, 0, 0};

NextHop into(forwarding::RouterId router) {
    return {NextHop::Kind::router, 0, router};
}

class RoutingPaths : public RoutedNetworks {
 protected:
    /// What Anne hears after she sent a packet that is not delivered.
    std::optional<SeenIcmp> answer(const Bytes& frame, DropReason reason) {
        const uint64_t before = rig.drops(1, reason);
        one.sent.clear();
        two.sent.clear();
        rig.receive(1, frame);
        EXPECT_EQ(rig.drops(1, reason), before + 1) << packet::name(reason);
        EXPECT_THAT(two.sent, IsEmpty());
        EXPECT_LE(one.sent.size(), 1u);
        if (one.sent.empty()) return std::nullopt;
        return seen_icmp(one.sent[0].bytes);
    }
    void expect_answer(const IpModel& model, DropReason reason, uint8_t type, uint8_t code,
                       uint32_t rest = 0) {
        const auto seen = answer(model.frame(), reason);
        ASSERT_TRUE(seen) << packet::name(reason);
        EXPECT_EQ(seen->type, type);
        EXPECT_EQ(seen->code, code);
        EXPECT_EQ(seen->rest, rest);
        EXPECT_EQ(seen->source, ip(model.v6 ? "fd00:1::1" : "10.0.1.1"));
        EXPECT_EQ(seen->destination, model.from());
        EXPECT_EQ(seen->destination_mac, kAnne);
        EXPECT_EQ(seen->data, slice(model.packet(), 0, seen->data.size())) << "as it was sent";
        EXPECT_GE(seen->data.size(), std::min<size_t>(28, model.packet().size()));
    }
    /// Both interfaces and both known hosts again, for a router that leaks.
    void add_second_router() {
        rig.add_port(3);
        rig.add_bridge(3);
        rig.attach(3, 3);
        rig.add_router(2);
        rig.add_router_interface(3, 2, 3, {2, 0, 0, 0, 0, 0xbb}, {"10.0.3.1/24", "fd00:3::1/64"});
        rig.know(3, "10.0.3.9", {2, 0, 0, 0, 0, 3});
        rig.know(3, "fd00:3::9", {2, 0, 0, 0, 0, 3});
    }
};

// RFC 792, RFC 1812 section 5.2.7.1 and 5.3.1; RFC 4443 sections 3.1 and 3.3.
TEST_F(RoutingPaths, SendersAreToldWhy) {
    IpModel model = to("192.0.2.1");
    expect_answer(model, DropReason::no_route, 3, 0);
    expect_answer(to("2001:db8::1"), DropReason::no_route, 1, 0);
    rig.route(1, "192.0.2.0/24", kReject);
    rig.route(1, "2001:db8::/32", kReject);
    expect_answer(to("192.0.2.1"), DropReason::rejected, 3, 13);
    expect_answer(to("2001:db8::1"), DropReason::rejected, 1, 1);
    for (const uint8_t ttl : {0, 1}) {
        model = to_bert();
        model.ttl = ttl;
        expect_answer(model, DropReason::ttl_exceeded, 11, 0);
        model = to_bert(true);
        model.ttl = ttl;
        expect_answer(model, DropReason::ttl_exceeded, 3, 0);
    }
    rig.route(1, "192.0.2.0/24", kBlackhole);
    EXPECT_FALSE(answer(to("192.0.2.1").frame(), DropReason::blackhole)) << "and here nothing";
}

TEST_F(RoutingPaths, RouterAnswersWhatIsSentToItselfWhateverTheTtl) {
    for (const bool v6 : {false, true}) {
        for (const char* own : {v6 ? "fd00:1::1" : "10.0.1.1", v6 ? "fd00:2::1" : "10.0.2.1"}) {
            IpModel echo = to(own);
            echo.ttl = 1;
            echo.icmp(v6 ? 128 : 8, 0, {0x12, 0x34, 0, 7, 'h', 'i', '!'});
            one.sent.clear();
            rig.receive(1, echo.frame());
            ASSERT_THAT(one.sent, SizeIs(1));
            const auto seen = seen_icmp(one.sent[0].bytes);
            ASSERT_TRUE(seen);
            EXPECT_EQ(seen->type, v6 ? 129 : 0);
            EXPECT_EQ(seen->rest, 0x12340007u);
            EXPECT_EQ(seen->data, (Bytes{'h', 'i', '!'}));
            EXPECT_EQ(seen->source, ip(own));
            EXPECT_EQ(seen->destination, echo.from());
        }
    }
    // RFC 1122, section 3.2.2.1; RFC 4443, section 3.1.
    expect_answer(to("10.0.1.1"), DropReason::no_such_service, 3, 3);
    expect_answer(to("fd00:1::1"), DropReason::no_such_service, 1, 4);
    IpModel strange = to("10.0.1.1");
    strange.protocol = 253;
    expect_answer(strange, DropReason::no_such_service, 3, 2);
}

TEST_F(RoutingPaths, ErrorComesFromTheAddressInTheSendersSubnet) {
    rig.interface(1).addresses4.push_back(net::Ipv4Prefix::parse("10.0.7.1/24").value());
    rig.route(1, "10.0.7.0/24", {NextHop::Kind::attached, 1, 0});
    rig.know(1, "10.0.7.9", kAnne);
    auto seen = answer(to("192.0.2.1", "10.0.7.9").frame(), DropReason::no_route);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->source, ip("10.0.7.1"));
    // From beyond: the interface's first address (RFC 1812, section 4.3.2.4).
    rig.route(1, "172.16.0.0/12", rig.via(1, "10.0.1.9"));
    seen = answer(to("192.0.2.1", "172.16.0.1").frame(), DropReason::no_route);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->source, ip("10.0.1.1"));
    EXPECT_EQ(seen->destination, ip("172.16.0.1"));
}

// RFC 1812, section 4.3.2.7; RFC 4443, section 2.4 (e).
TEST_F(RoutingPaths, NoErrorsAboutErrorsFragmentsOrBroadcast) {
    const auto silent = [&](const Bytes& frame, const std::string& what) {
        EXPECT_FALSE(answer(frame, DropReason::no_route)) << what;
    };
    for (const bool v6 : {false, true}) {
        const char* nowhere = v6 ? "2001:db8::1" : "192.0.2.1";
        silent(to(nowhere).icmp(v6 ? 1 : 3, 1, Bytes(40)).frame(), "an error");
        silent(to(nowhere).icmp(v6 ? 3 : 11, 0, Bytes(40)).frame(), "time exceeded");
        EXPECT_TRUE(
            answer(to(nowhere).icmp(v6 ? 128 : 8, 0, Bytes(40)).frame(), DropReason::no_route));
    }
    IpModel later = to("192.0.2.1");
    later.flags_fragment = 5;
    silent(later.frame(), "a later fragment");
    later.flags_fragment = 0x2000;
    EXPECT_TRUE(answer(later.frame(), DropReason::no_route)) << "the first fragment";
    IpModel fragment = to("2001:db8::1");
    fragment.extensions = {{44, {0, 0, 8, 0, 0, 0, 1}}};
    silent(fragment.frame(), "a later IPv6 fragment");
}

TEST_F(RoutingPaths, ErrorsAreLimitedPerPort) {
    rig.tables.icmp_limit(1).configure(rte_get_tsc_hz() / 1000, 10);
    for (int i = 0; i < 30; ++i)
        rig.receive(1, to("192.0.2.1").frame());
    EXPECT_THAT(one.sent, SizeIs(10));
    EXPECT_EQ(rig.drops(1, DropReason::no_route), 30u);
    rig.advance(2);
    for (int i = 0; i < 30; ++i)
        rig.receive(1, to("192.0.2.1").frame());
    EXPECT_THAT(one.sent, SizeIs(12));
}

// ---- Routes

TEST_F(RoutingPaths, FlowsAreSharedByTheirHash) {
    const std::vector<Mac> macs = {{2, 0, 0, 0, 9, 1}, {2, 0, 0, 0, 9, 2}, {2, 0, 0, 0, 9, 3}};
    forwarding::NextHopGroup group;
    std::vector<forwarding::NextHopId> ids;
    for (size_t i = 0; i < macs.size(); ++i) {
        const std::string address = "10.0.2.10" + std::to_string(i);
        rig.know(2, address, macs[i]);
        ids.push_back(rig.add_next_hop(rig.via(2, address)));
    }
    for (size_t i = 0; i < group.buckets.size(); ++i)
        group.buckets[i] = ids[i % 3];
    rig.tables.publish_group(1, &group);
    rig.route(1, "0.0.0.0/0", {NextHop::Kind::group, 0, 1});
    std::map<size_t, unsigned> per_member;
    for (uint16_t flow = 0; flow < 600; ++flow) {
        IpModel model = to("192.0.2.1");
        model.payload = udp(10, flow);
        two.sent.clear();
        for (int i = 0; i < 2; ++i)
            rig.receive(1, model.frame());
        ASSERT_THAT(two.sent, SizeIs(2));
        ASSERT_EQ(two.sent[0].bytes, two.sent[1].bytes) << "a flow stays where it is";
        size_t member = 0;
        while (routed(model, macs.at(member)) != two.sent[0].bytes)
            ASSERT_LT(++member, macs.size());
        ++per_member[member];
    }
    for (const auto& [member, flows] : per_member) {
        EXPECT_GT(flows, 140u);
        EXPECT_LT(flows, 260u);
    }
    EXPECT_THAT(per_member, SizeIs(3));
    rig.tables.publish_group(1, nullptr);
}

TEST_F(RoutingPaths, RouteIntoAnotherRouter) {
    add_second_router();
    auto& three = *static_cast<FakePort*>(rig.entry(3).device);
    rig.route(1, "10.0.3.0/24", into(2));
    rig.route(1, "fd00:3::/64", into(2));
    rig.route(2, "10.0.1.0/24", into(1));
    for (const char* there : {"10.0.3.9", "fd00:3::9"}) {
        const IpModel model = to(there);
        three.sent.clear();
        rig.receive(1, model.frame());
        EXPECT_THAT(bytes_of_sent(three),
                    ElementsAre(routed(model, {2, 0, 0, 0, 0, 3}, {2, 0, 0, 0, 0, 0xbb})));
    }
    IpModel echo = to("10.0.3.1");
    echo.icmp(8, 0, {1, 2, 3, 4});
    one.sent.clear();
    rig.receive(1, echo.frame());
    ASSERT_THAT(one.sent, SizeIs(1)) << "the other router's own address answers";
    EXPECT_EQ(seen_icmp(one.sent[0].bytes)->source, ip("10.0.3.1"));
    IpModel last = to("10.0.3.9");
    last.ttl = 1;
    expect_answer(last, DropReason::ttl_exceeded, 11, 0);
}

TEST_F(RoutingPaths, RoutersThatPassAPacketAroundGiveUp) {
    add_second_router();
    rig.route(1, "192.0.2.0/24", into(2));
    rig.route(2, "192.0.2.0/24", into(1));
    rig.receive(1, to("192.0.2.1").frame());
    EXPECT_EQ(rig.drops(1, DropReason::router_loop), 1u);
    // Seven routers between are enough for anybody.
    for (forwarding::RouterId id = 11; id <= 17; ++id)
        rig.add_router(id);
    for (forwarding::RouterId id = 11; id < 17; ++id)
        rig.route(id, "198.51.100.0/24", into(static_cast<forwarding::RouterId>(id + 1)));
    rig.route(1, "198.51.100.0/24", into(11));
    rig.route(17, "198.51.100.0/24", rig.via(2, "10.0.2.9"));
    rig.receive(1, to("198.51.100.1").frame());
    EXPECT_THAT(two.sent, SizeIs(1));
}

TEST_F(RoutingPaths, RoutersOnOneNetworkThatPassAPacketAroundUseUpItsTtl) {
    add_second_router();
    const Mac other = {2, 0, 0, 0, 0, 0xbb};
    rig.add_router_interface(4, 2, 2, other, {"10.0.2.2/24"});
    rig.know(2, "10.0.2.1", kRouter, 1002);
    rig.know(2, "10.0.2.2", other, 1004);
    rig.route(1, "192.0.2.0/24", rig.via(2, "10.0.2.2"));
    rig.route(2, "192.0.2.0/24", rig.via(4, "10.0.2.1"));
    rig.route(2, "10.0.1.0/24", rig.via(4, "10.0.2.1"));
    IpModel model = to("192.0.2.1");
    for (const uint8_t ttl : {2, 3, 255}) {
        model.ttl = ttl;
        one.sent.clear();
        const uint64_t before = rig.drops(1, DropReason::ttl_exceeded);
        rig.receive(1, model.frame());
        EXPECT_EQ(rig.drops(1, DropReason::ttl_exceeded), before + 1);
        ASSERT_THAT(one.sent, SizeIs(1)) << "told by whoever had it last";
        const auto seen = seen_icmp(one.sent[0].bytes);
        ASSERT_TRUE(seen);
        EXPECT_EQ(seen->type, 11);
        EXPECT_EQ(seen->source, ip(ttl % 2 == 0 ? "10.0.2.2" : "10.0.2.1"));
    }
}

// ---- MTU

TEST_F(RoutingPaths, LeastMtuOfNetworkAndPortIsTold) {
    const auto sized = [](bool v6, size_t length) {
        IpModel model = to_bert(v6);
        model.payload = udp(length - (v6 ? 48 : 28));
        return model;
    };
    const forwarding::BridgePortId at_two = rig.tables.bridge_port(2).port == 2 ? 2 : 0;
    ASSERT_NE(at_two, forwarding::kNoBridgePort);
    for (const auto& [network, port, least] :
         {std::tuple{1400, 1500, 1400}, {1500, 1300, 1300}, {1500, 1500, 1500}}) {
        rig.interface(2).mtu = static_cast<uint16_t>(network);
        rig.entry(2).mtu = static_cast<uint16_t>(port);
        rig.know(2, "10.0.2.9", kBert, at_two);
        rig.know(2, "fd00:2::9", kBert, at_two);
        const auto mtu = static_cast<uint32_t>(least);
        for (const bool v6 : {false, true}) {
            expect_answer(sized(v6, mtu + 1), DropReason::packet_too_big, v6 ? 2 : 3, v6 ? 0 : 4,
                          mtu);
            const IpModel fits = sized(v6, mtu);
            two.sent.clear();
            rig.receive(1, fits.frame());
            EXPECT_THAT(bytes_of_sent(two), ElementsAre(routed(fits)));
        }
    }
}

TEST_F(RoutingPaths, SuperframeIsMeasuredByItsSegments) {
    rig.add_port(3, {.l4_checksum = true, .tso4 = true, .tso6 = true});
    auto& device = *static_cast<FakePort*>(rig.entry(3).device);
    rig.entry(2).device = &device;
    for (const bool v6 : {false, true}) {
        rig.route(1, v6 ? "2001:db8::ff02/128" : "10.0.255.0/24",
                  rig.via(2, v6 ? "fd00:2::9" : "10.0.2.9"));
        PacketModel model;
        model.v6 = v6;
        model.payload.resize(9000, 7);
        Bytes bytes = model.bytes(ChecksumField::partial);
        std::copy(kRouter.begin(), kRouter.end(), bytes.begin());
        const uint16_t largest = v6 ? 1440 : 1460;
        for (const uint16_t size : {largest, static_cast<uint16_t>(largest + 1)}) {
            device.sent.clear();
            std::vector<FramePtr> frames;
            frames.push_back(make_frame(pools(), bytes, arena_split()));
            packet::metadata(frames[0].get()) = model.metadata(packet::L4Checksum::partial, size);
            const uint64_t before = rig.drops(1, DropReason::packet_too_big);
            rig.receive(1, std::move(frames));
            EXPECT_EQ(device.sent.size(), size == largest ? 1u : 0u);
            EXPECT_EQ(rig.drops(1, DropReason::packet_too_big), before + (size == largest ? 0 : 1));
        }
    }
}

TEST_F(RoutingPaths, FragmentsMakeUpTheOriginal) {
    for (const uint16_t mtu : {68, 576, 1006, 1399}) {
        for (const uint16_t flags : {0, 0x2000 | 8}) {
            rig.interface(2).mtu = mtu;
            IpModel model = to_bert();
            model.flags_fragment = flags;
            model.payload = udp(1372);
            two.sent.clear();
            rig.receive(1, model.frame());
            ASSERT_GT(two.sent.size(), 1u) << mtu;
            Bytes payload;
            for (size_t i = 0; i < two.sent.size(); ++i) {
                const Bytes& frame = two.sent[i].bytes;
                ASSERT_LE(frame.size(), 14u + mtu);
                ASSERT_EQ(naive_sum(slice(frame, 14, 34)), 0xffff);
                ASSERT_EQ(load16(frame, 16), frame.size() - 14);
                const bool last = i + 1 == two.sent.size();
                const size_t offset = payload.size() / 8 + (flags & 0x1fffu);
                ASSERT_EQ(load16(frame, 20), offset | (last ? flags & 0x2000u : 0x2000u));
                IpModel expected = model;
                expected.flags_fragment = load16(frame, 20);
                expected.payload = slice(frame, 34);
                ASSERT_EQ(frame, routed(expected));
                append(payload, slice(frame, 34));
            }
            EXPECT_EQ(payload, model.payload);
        }
    }
}

// ---- Reverse path, RFC 3704

TEST_F(RoutingPaths, ReversePath) {
    const auto passes = [&](ReversePath mode, const std::string& source) {
        rig.interface(1).reverse_path = mode;
        const bool v6 = source.find(':') != source.npos;
        const uint64_t before = rig.drops(1, DropReason::reverse_path);
        two.sent.clear();
        rig.receive(1, to(v6 ? "fd00:2::9" : "10.0.2.9", source).frame());
        EXPECT_EQ(rig.drops(1, DropReason::reverse_path) - before, two.sent.empty() ? 1u : 0u);
        return !two.sent.empty();
    };
    rig.route(1, "172.16.0.0/12", rig.via(1, "10.0.1.9"));
    rig.route(1, "172.17.0.0/16", rig.via(2, "10.0.2.9"));
    rig.route(1, "172.18.0.0/16", kBlackhole);
    rig.route(1, "172.19.0.0/16", kReject);
    forwarding::NextHopGroup group;
    group.buckets.fill(rig.add_next_hop(rig.via(2, "10.0.2.9")));
    group.buckets[200] = rig.add_next_hop(rig.via(1, "10.0.1.9"));
    rig.tables.publish_group(1, &group);
    rig.route(1, "172.20.0.0/16", {NextHop::Kind::group, 0, 1});
    struct Case {
        const char* source;
        bool loose;
        bool strict;
    };
    for (const Case& each : {Case{"10.0.1.77", true, true},
                             {"fd00:1::77", true, true},
                             {"172.16.0.1", true, true},
                             {"172.17.0.1", true, false},
                             {"fd00:2::77", true, false},
                             {"172.18.0.1", false, false},
                             {"172.19.0.1", false, false},
                             {"172.20.0.1", true, true},
                             {"192.0.2.1", false, false},
                             {"2001:db8::1", false, false}}) {
        EXPECT_TRUE(passes(ReversePath::off, each.source)) << each.source;
        EXPECT_EQ(passes(ReversePath::loose, each.source), each.loose) << each.source;
        EXPECT_EQ(passes(ReversePath::strict, each.source), each.strict) << each.source;
    }
    rig.route(1, "0.0.0.0/0", rig.via(1, "10.0.1.9"));
    EXPECT_FALSE(passes(ReversePath::loose, "192.0.2.1")) << "a default route says nothing";
    EXPECT_TRUE(passes(ReversePath::strict, "192.0.2.1")) << "packets to it leave there";
    rig.tables.publish_group(1, nullptr);
}

}  // namespace
}  // namespace heddle::test
