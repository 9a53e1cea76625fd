#include "pipeline/routing.h"

#include <gmock/gmock.h>

#include "router_rig.h"

namespace heddle::test {
namespace {

using forwarding::NextHop;
using packet::DropReason;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Routing : public RoutedNetworks {
 protected:
    uint64_t drops_of_anne() const {
        uint64_t sum = 0;
        for (size_t reason = 0; reason < packet::kDropReasonCount; ++reason)
            sum += rig.drops(1, static_cast<DropReason>(reason));
        return sum;
    }
    /// What is counted when Anne sends a packet of which the router must say this reason.
    void expect_drop(const Bytes& frame, DropReason reason, const std::string& what) {
        const uint64_t before = rig.drops(1, reason);
        const uint64_t all = drops_of_anne();
        two.sent.clear();
        rig.receive(1, frame);
        EXPECT_EQ(rig.drops(1, reason), before + 1) << what;
        EXPECT_EQ(drops_of_anne(), all + 1) << what;
        EXPECT_THAT(two.sent, IsEmpty()) << what;
    }
    void expect_routed(const IpModel& model, const std::string& what) {
        const uint64_t all = rig.all_drops();
        two.sent.clear();
        rig.receive(1, model.frame());
        EXPECT_EQ(rig.all_drops(), all) << what;
        ASSERT_EQ(two.sent.size(), 1u) << what;
        EXPECT_EQ(two.sent[0].bytes, routed(model)) << what;
    }
};

TEST_F(Routing, PacketLeavesWithOtherMacAddressesAndOneLessToLive) {
    for (const bool v6 : {false, true}) {
        for (const uint8_t ttl : {2, 64, 255}) {
            for (const size_t size : {0, 1, 18, 19, 1400}) {
                IpModel model = to_bert(v6);
                model.ttl = ttl;
                model.tos = 0xb8;
                model.payload = udp(size);
                expect_routed(model, std::to_string(v6) + " " + std::to_string(size));
            }
        }
    }
    EXPECT_THAT(one.sent, IsEmpty());
}

/// RFC 1141's pitfalls: the sum wraps at some values.
TEST_F(Routing, HeaderChecksumIsRightWhateverItWas) {
    for (uint32_t id = 0; id < 65536; id += 7) {
        IpModel model = to_bert();
        model.id = static_cast<uint16_t>(id);
        model.payload = udp(1);
        two.sent.clear();
        rig.receive(1, model.frame());
        ASSERT_EQ(two.sent.size(), 1u);
        ASSERT_EQ(naive_sum(slice(two.sent[0].bytes, 14, 34)), 0xffff) << id;
    }
}

TEST_F(Routing, EthernetPaddingIsCutOff) {
    for (const bool v6 : {false, true}) {
        IpModel model = to_bert(v6);
        model.payload = udp(0);
        Bytes padded = model.frame();
        padded.resize(80, 0x55);
        two.sent.clear();
        rig.receive(1, padded);
        EXPECT_THAT(bytes_of_sent(two), ElementsAre(routed(model)));
    }
}

TEST_F(Routing, FramesInSegmentsAreRoutedAllTheSame) {
    std::mt19937 random(6);
    for (int round = 0; round < 200; ++round) {
        IpModel model = to_bert(round % 2 == 0);
        model.payload = udp(1300);
        std::vector<FramePtr> frames;
        frames.push_back(make_frame(pools(), model.frame(), random_split(random, 14, 1300)));
        two.sent.clear();
        rig.receive(1, std::move(frames));
        ASSERT_THAT(bytes_of_sent(two), ElementsAre(routed(model)));
        ASSERT_TRUE(two.sane);
    }
}

TEST_F(Routing, SuperframeStaysOne) {
    two.set_up(true);
    rig.add_port(3, {.l4_checksum = true, .tso4 = true, .tso6 = true});
    for (const bool v6 : {false, true}) {
        PacketModel model;
        model.v6 = v6;
        model.payload.resize(20000, 7);
        Bytes bytes = model.bytes(ChecksumField::partial);
        std::copy(kRouter.begin(), kRouter.end(), bytes.begin());
        rig.route(1, v6 ? "2001:db8::/32" : "10.0.255.0/24",
                  rig.via(2, v6 ? "fd00:2::9" : "10.0.2.9"));
        rig.entry(2).device = rig.entry(3).device;
        FramePtr frame = make_frame(pools(), bytes, arena_split());
        packet::metadata(frame.get()) = model.metadata(packet::L4Checksum::partial, 1400);
        std::vector<FramePtr> frames;
        frames.push_back(std::move(frame));
        auto& device = *static_cast<FakePort*>(rig.entry(3).device);
        device.sent.clear();
        rig.receive(1, std::move(frames));
        ASSERT_EQ(device.sent.size(), 1u);
        EXPECT_EQ(device.sent[0].metadata.gso, model.gso());
        EXPECT_EQ(device.sent[0].metadata.gso_size, 1400);
        Bytes expected = bytes;
        std::copy(kBert.begin(), kBert.end(), expected.begin());
        std::copy(kRouter.begin(), kRouter.end(), expected.begin() + 6);
        if (v6) {
            --expected[14 + 7];
        } else {
            --expected[14 + 8];
            store16(expected, 24, 0);
            store16(expected, 24, static_cast<uint16_t>(~naive_sum(slice(expected, 14, 34))));
        }
        EXPECT_EQ(device.sent[0].bytes, expected);
    }
}

TEST_F(Routing, WholeBurstOfBothFamiliesIsRoutedEachInOrder) {
    std::vector<FramePtr> burst;
    std::vector<Bytes> expected4;
    std::vector<Bytes> expected6;
    for (uint16_t i = 0; i < port::kBurst; ++i) {
        IpModel model = to_bert(i % 3 == 0);
        model.payload = udp(i);
        (i % 3 == 0 ? expected6 : expected4).push_back(routed(model));
        burst.push_back(make_frame(pools(), model.frame()));
    }
    rig.receive(1, std::move(burst));
    std::vector<Bytes> sent4;
    std::vector<Bytes> sent6;
    for (const Bytes& bytes : bytes_of_sent(two))
        (bytes[12] == 0x86 ? sent6 : sent4).push_back(bytes);
    EXPECT_EQ(sent4, expected4);
    EXPECT_EQ(sent6, expected6);
}

TEST_F(Routing, FrameIsTaggedAsTheBridgePortWantsIt) {
    FakePort& trunk = rig.add_port(5);
    const forwarding::BridgePortId at = rig.attach(5, 2, 77);
    rig.know(2, "10.0.2.5", {2, 0, 0, 0, 0, 5}, at);
    IpModel model = to("10.0.2.5");
    rig.receive(1, model.frame());
    Bytes expected = routed(model, {2, 0, 0, 0, 0, 5});
    const Bytes tag = {0x81, 0, 0, 77};
    expected.insert(expected.begin() + 12, tag.begin(), tag.end());
    EXPECT_THAT(bytes_of_sent(trunk), ElementsAre(expected));
    EXPECT_THAT(two.sent, IsEmpty());
}

// ---- Checks

/// With the header checksum made right again.
Bytes changed(IpModel model, const std::function<void(Bytes&)>& change) {
    Bytes frame = model.frame();
    change(frame);
    if (!model.v6) {
        const size_t length = std::min<size_t>((frame[14] & 0xfu) * 4, frame.size() - 14);
        store16(frame, 24, 0);
        Bytes header = slice(frame, 14, 14 + length);
        store16(frame, 24, static_cast<uint16_t>(~naive_sum(header)));
    }
    return frame;
}

TEST_F(Routing, HeaderThatLies) {
    const auto bad = [&](bool v6, const std::string& what, const std::function<void(Bytes&)>& f) {
        expect_drop(changed(to_bert(v6), f), DropReason::bad_ip_header, what);
    };
    bad(false, "version 6", [](Bytes& f) { f[14] = 0x65; });
    bad(false, "version 0", [](Bytes& f) { f[14] = 0x05; });
    bad(false, "header of 16 bytes", [](Bytes& f) { f[14] = 0x44; });
    bad(false, "total length 19", [](Bytes& f) { store16(f, 16, 19); });
    bad(false, "one byte more than there is", [](Bytes& f) { store16(f, 16, f.size() - 14 + 1); });
    bad(false, "options beyond the packet", [](Bytes& f) {
        f[14] = 0x4f;
        store16(f, 16, 59);
    });
    bad(true, "version 4", [](Bytes& f) { f[14] = 0x40; });
    bad(true, "one byte more than there is", [](Bytes& f) { store16(f, 18, f.size() - 54 + 1); });
    bad(true, "a jumbogram", [](Bytes& f) {
        store16(f, 18, 0);
        f[20] = 0;
    });
    IpModel bare = to_bert();
    bare.payload.clear();
    expect_routed(bare, "total length 20 is enough");
    bare = to_bert(true);
    bare.payload.clear();
    bare.protocol = 59;
    expect_routed(bare, "no next header");
}

TEST_F(Routing, HeaderChecksumIsVerified) {
    for (size_t byte = 15; byte < 34; ++byte) {
        if (byte == 16 || byte == 17) continue;  // the length
        Bytes frame = to_bert().frame();
        frame[byte] ^= 0x10;
        expect_drop(frame, DropReason::bad_ip_checksum, std::to_string(byte));
    }
    IpModel options = to_bert();
    options.options = {1, 1, 1, 0};
    Bytes frame = options.frame();
    frame[35] = 0;
    expect_drop(frame, DropReason::bad_ip_checksum, "in the options");
}

TEST_F(Routing, SourcesAndDestinationsThatMustNotBeRouted) {
    for (const char* source : {"0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "239.255.255.255",
                               "240.0.0.1", "255.255.255.255", "10.0.1.255", "10.0.1.1"}) {
        expect_drop(to("10.0.2.9", source).frame(), DropReason::martian, source);
    }
    for (const char* destination : {"0.0.0.0", "127.0.0.1", "224.0.0.1", "240.0.0.1",
                                    "255.255.255.255", "10.0.2.255", "10.0.1.255"}) {
        expect_drop(to(destination).frame(), DropReason::martian, destination);
    }
    for (const char* source :
         {"::", "::1", "ff02::1", "::10.0.0.1", "::ffff:10.0.0.1", "fd00:1::1"}) {
        expect_drop(to("fd00:2::9", source).frame(), DropReason::martian, source);
    }
    for (const char* destination : {"::", "::1", "ff0e::1", "::ffff:10.0.2.9"})
        expect_drop(to(destination).frame(), DropReason::martian, destination);
    EXPECT_THAT(one.sent, IsEmpty()) << "nobody is told";
    for (const char* source : {"1.0.0.0", "126.255.255.255", "128.0.0.0", "223.255.255.255",
                               "10.0.1.254", "10.0.3.255"}) {
        expect_routed(to("10.0.2.9", source), source);
    }
    for (const char* source : {"::1:0:0:1", "::1:ffff:10.0.0.1", "fd00:1::"})
        expect_routed(to("fd00:2::9", source), source);
}

TEST_F(Routing, SourceThatIsTheDestination) {
    expect_drop(to("10.0.2.9", "10.0.2.9").frame(), DropReason::land, "IPv4");
    expect_drop(to("fd00:2::9", "fd00:2::9").frame(), DropReason::land, "IPv6");
}

TEST_F(Routing, LinkLocalAddressesStayOnTheirLink) {
    expect_drop(to("10.0.2.9", "169.254.1.1").frame(), DropReason::beyond_scope, "source");
    expect_drop(to("169.254.1.1").frame(), DropReason::beyond_scope, "destination");
    expect_drop(to("fe80::9").frame(), DropReason::beyond_scope, "destination");
    one.sent.clear();
    rig.know(1, "fe80::9", kAnne);
    expect_drop(to("fd00:2::9", "fe80::9").frame(), DropReason::beyond_scope, "source");
    ASSERT_EQ(one.sent.size(), 1u);
    const auto error = seen_icmp(one.sent[0].bytes);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->type, 1) << "RFC 4443, section 3.1";
    EXPECT_EQ(error->code, 2);
    EXPECT_EQ(error->destination, ip("fe80::9"));
    expect_routed(to("10.0.2.9", "169.253.255.255"), "not link-local");
    expect_routed(to("10.0.2.9", "169.255.0.0"), "not link-local");
    expect_routed(to("fd00:2::9", "fec0::1"), "not link-local");
}

TEST_F(Routing, Ipv4OptionsAreWalked) {
    const auto with = [&](const Bytes& options) {
        IpModel model = to_bert();
        model.options = options;
        return model;
    };
    const DropReason bad = DropReason::bad_ip_header;
    const DropReason source_route = DropReason::source_route;
    expect_drop(with({131, 3, 4, 0}).frame(), source_route, "LSRR");
    expect_drop(with({137, 7, 4, 10, 0, 0, 1, 0}).frame(), source_route, "SSRR");
    expect_drop(with({1, 1, 1, 131}).frame(), source_route, "LSRR behind NOPs");
    expect_drop(with({7, 3, 4, 131, 3, 4, 0, 0}).frame(), source_route, "LSRR behind another");
    expect_drop(with({7, 0, 0, 0}).frame(), bad, "length 0");
    expect_drop(with({7, 1, 0, 0}).frame(), bad, "length 1");
    expect_drop(with({7, 5, 4, 0}).frame(), bad, "one byte beyond the header");
    expect_drop(with({1, 1, 1, 7}).frame(), bad, "no length at all");
    expect_routed(with({7, 4, 4, 0}), "up to the end of the header");
    expect_routed(with({1, 1, 7, 2}), "length 2");
    expect_routed(with({0, 131, 3, 4}), "what follows the end of options is no option");
    expect_routed(with({7, 4, 131, 137}), "the content of an option is none");
    expect_routed(with(Bytes(40, 1)), "forty NOPs");
}

TEST_F(Routing, Ipv6RoutingHeadersWithSegmentsLeft) {
    const auto with = [&](uint8_t type, const Bytes& content) {
        IpModel model = to_bert(true);
        model.extensions = {{type, content}};
        return model;
    };
    Bytes routing(23);  // length in units of 8 bytes, type 0, segments left
    routing[0] = 2;
    routing[2] = 1;
    expect_drop(with(43, routing).frame(), DropReason::source_route, "RFC 5095");
    routing[2] = 0;
    expect_routed(with(43, routing), "no segment left");
    expect_routed(with(0, {0, 1, 4, 0, 0, 0, 0}), "hop-by-hop options with padding");
    expect_drop(with(60, {200, 1, 4, 0, 0, 0, 0}).frame(), DropReason::bad_ip_header,
                "an extension header beyond the packet");
}

TEST_F(Routing, OtherProtocolsThanIpAreNotRoutable) {
    Bytes frame = to_bert().frame();
    store16(frame, 12, 0x88cc);
    expect_drop(frame, DropReason::not_routable, "LLDP to the router");
}

TEST_F(Routing, SenderWithTheRoutersMacAddressIsNotHeard) {
    IpModel model = to_bert();
    model.source_mac = kRouter;
    expect_drop(model.frame(), DropReason::router_mac, "from the router itself");
}

TEST_F(Routing, InterfaceOrRouterThatIsGone) {
    rig.tables.publish_interface(2, nullptr);
    expect_drop(to_bert().frame(), DropReason::interface_gone, "egress");
    rig.tables.publish_interface(1, nullptr);
    expect_drop(to_bert().frame(), DropReason::interface_gone, "ingress");
    rig.tables.publish_interface(1, &rig.interface(1));
    rig.tables.publish_vrf(1, nullptr);
    expect_drop(to_bert().frame(), DropReason::interface_gone, "router");
}

}  // namespace
}  // namespace heddle::test
