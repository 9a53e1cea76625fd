// What routers say unasked: their addresses when they are new, and router advertisements.
#include "pipeline/announcer.h"

#include <gmock/gmock.h>

#include "pipeline/resolver.h"
#include "router_rig.h"

namespace heddle::test {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Mac kAllNodes = {0x33, 0x33, 0, 0, 0, 1};
const char* const kLinkLocal = "fe80::ff:fe00:aa";  // RFC 4291, appendix A, of kRouter

class Announcing : public RoutedNetworks {
 protected:
    Announcing() : RoutedNetworks(false) {}

    /// Frames sent into network 1 whose ICMPv6 type this is.
    std::vector<Bytes> of_type(uint8_t type) {
        std::vector<Bytes> result;
        for (const Bytes& frame : bytes_of_sent(one)) {
            if (load16(frame, 12) == 0x86dd && frame.at(20) == 58 && frame.at(54) == type)
                result.push_back(frame);
        }
        return result;
    }
    size_t arp_count() {
        size_t count = 0;
        for (const Bytes& frame : bytes_of_sent(one))
            count += load16(frame, 12) == 0x0806 ? 1 : 0;
        return count;
    }
    void advertise(uint16_t interval = 200) {
        rig.interface(1).advertises = true;
        rig.interface(1).advertisement.interval = interval;
        rig.interface(1).advertisement.lifetime = static_cast<uint16_t>(3 * interval);
    }
    void solicit(const std::string& source = "fd00:1::9") {
        IpModel model;
        model.v6 = true;
        model.ttl = 255;
        model.source_mac = kAnne;
        model.destination_mac = {0x33, 0x33, 0, 0, 0, 2};
        model.source = ip(source);
        model.destination = ip("ff02::2");
        Bytes rest(4);
        if (source != "::") append(rest, {1, 1, 2, 0, 0, 0, 0, 1});
        rig.receive(1, model.icmp(133, 0, rest).frame());
    }
};

TEST_F(Announcing, NewInterfaceAnnouncesItsAddressesThreeTimesASecondApart) {
    rig.resolver.announce(rig.context, 1);
    rig.advance(0);
    IpModel model;
    model.v6 = true;
    model.ttl = 255;
    model.source_mac = kRouter;
    model.destination_mac = kAllNodes;
    model.destination = ip("ff02::1");
    for (const char* own : {"fd00:1::1", kLinkLocal}) {
        model.source = ip(own);
        // RFC 4861, section 7.2.6: router and override, not solicited.
        Bytes rest = joined({0xa0, 0, 0, 0}, ip(own));
        append(rest, {2, 1});
        rest.insert(rest.end(), kRouter.begin(), kRouter.end());
        EXPECT_THAT(bytes_of_sent(one), Contains(model.icmp(136, 0, rest).frame())) << own;
    }
    const size_t at_once = one.sent.size();
    const size_t arp = arp_count();
    EXPECT_GE(arp, 1u);
    rig.advance(900);
    EXPECT_THAT(one.sent, SizeIs(at_once));
    rig.advance(200);
    EXPECT_THAT(one.sent, SizeIs(2 * at_once));
    rig.advance(1000);
    EXPECT_THAT(one.sent, SizeIs(3 * at_once));
    for (int i = 0; i < 60; ++i)
        rig.advance(1000);
    EXPECT_THAT(one.sent, SizeIs(3 * at_once));
    EXPECT_EQ(arp_count(), 3 * arp);
    EXPECT_THAT(of_type(134), IsEmpty()) << "no router advertisements unless asked for";
    EXPECT_THAT(two.sent, IsEmpty());
}

TEST_F(Announcing, AdvertisementSaysWhatRfc4861Wants) {
    advertise();
    rig.interface(1).mtu = 1400;
    rig.interface(1).advertisement.managed = true;
    rig.interface(1).addresses6.push_back(net::Ipv6Prefix::parse("fd00:7::1/96").value());
    rig.resolver.announce(rig.context, 1);
    rig.advance(0);
    const auto sent = of_type(134);
    ASSERT_THAT(sent, SizeIs(1));
    const Bytes& frame = sent[0];
    const auto seen = seen_icmp(frame);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->source, ip(kLinkLocal));
    EXPECT_EQ(seen->destination, ip("ff02::1"));
    EXPECT_EQ(seen->destination_mac, kAllNodes);
    EXPECT_EQ(frame.at(21), 255) << "hop limit";
    EXPECT_EQ(seen->code, 0);
    EXPECT_EQ(seen->rest & 0x00c0'0000, 0x0080'0000u) << "managed, not other";
    EXPECT_EQ(seen->rest & 0xffff, 600u) << "lifetime";
    std::vector<Bytes> options;
    for (size_t at = 8; at < seen->data.size();) {
        const size_t length = size_t{seen->data.at(at + 1)} * 8;
        ASSERT_GT(length, 0u);
        options.push_back(slice(seen->data, at, at + length));
        at += length;
    }
    EXPECT_THAT(options, SizeIs(4));
    EXPECT_THAT(options, Contains(Bytes{1, 1, 2, 0, 0, 0, 0, 0xaa}));
    EXPECT_THAT(options, Contains(Bytes{5, 1, 0, 0, 0, 0, 0x05, 0x78}));
    size_t prefixes = 0;
    for (const Bytes& option : options) {
        if (option[0] != 3) continue;
        ++prefixes;
        ASSERT_THAT(option, SizeIs(32));
        const bool is_64 = option[2] == 64;
        EXPECT_EQ(option[3] & 0xc0, is_64 ? 0xc0 : 0x80) << "RFC 4862: only /64 is autonomous";
        EXPECT_EQ(slice(option, 16), ip(is_64 ? "fd00:1::" : "fd00:7::"));
    }
    EXPECT_EQ(prefixes, 2u);
}

TEST_F(Announcing, AdvertisesOftenAtFirstThenOncePerInterval) {
    advertise();
    rig.resolver.announce(rig.context, 1);
    std::vector<int> seconds;
    for (int second = 0; second < 1000; ++second) {
        rig.advance(second == 0 ? 0 : 1000);
        if (!of_type(134).empty()) seconds.push_back(second);
        one.sent.clear();
    }
    ASSERT_GE(seconds.size(), 6u);
    for (size_t i = 1; i < seconds.size(); ++i) {
        // RFC 4861, section 6.2.4: 16 s between the first three; then MaxRtrAdvInterval at most.
        EXPECT_LE(seconds[i] - seconds[i - 1], i < 3 ? 17 : 201) << i;
        EXPECT_GE(seconds[i] - seconds[i - 1], 3) << "MIN_DELAY_BETWEEN_RAS";
    }
    EXPECT_GT(seconds.back() - seconds[seconds.size() - 2], 60) << "and not for ever";
}

TEST_F(Announcing, SolicitationIsAnsweredButNotToEverybodyAllTheTime) {
    advertise(1800);
    rig.resolver.announce(rig.context, 1);
    for (int i = 0; i < 100; ++i)
        rig.advance(1000);
    one.sent.clear();
    solicit();
    rig.advance(600);
    EXPECT_THAT(of_type(134), SizeIs(1));
    one.sent.clear();
    size_t to_all = 0;
    for (int i = 0; i < 20; ++i) {
        solicit(i % 2 == 0 ? "fd00:1::9" : "::");
        rig.advance(100);
    }
    for (const Bytes& frame : of_type(134))
        to_all += frame[0] == 0x33 ? 1 : 0;
    EXPECT_LE(to_all, 1u) << "RFC 4861, section 6.2.6: MIN_DELAY_BETWEEN_RAS is 3 s";
}

TEST_F(Announcing, NobodyIsAnsweredWhereNothingIsAdvertised) {
    rig.resolver.announce(rig.context, 1);
    rig.advance(0);
    solicit();
    rig.advance(4000);
    EXPECT_THAT(of_type(134), IsEmpty());
}

}  // namespace
}  // namespace heddle::test
