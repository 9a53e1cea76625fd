#include "model/port_rules.h"

#include <gmock/gmock.h>

#include "from_yaml.h"

namespace heddle::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> problems(const std::string& fields) {
    api::ProblemList list;
    validate_port(from_yaml<v1::Port>("{" + fields + "}"), "p", list);
    return to_strings(list.take());
}

/// Problems of a tap device.
std::vector<std::string> tap_problems(const std::string& fields) {
    return problems("name: web, tap: {" + fields + "}");
}

Port port(const std::string& fields) {
    api::ProblemList list;
    Port result = validate_port(from_yaml<v1::Port>("{" + fields + "}"), "p", list);
    EXPECT_THAT(to_strings(list.take()), IsEmpty());
    return result;
}

TEST(PortRules, DefaultsAreFilledIn) {
    const Port tap = port("name: web, tap: {}");
    EXPECT_EQ(std::get<Tap>(tap.device).interface, "web");
    EXPECT_EQ(tap.mtu, 1500);
    EXPECT_EQ(tap.queues, 1);
    EXPECT_EQ(tap.storm_limit_pps, 25000U);
    EXPECT_EQ(tap.network, "");
    EXPECT_EQ(port("name: a, netdev: {}").mtu, std::nullopt) << "what the interface has";
    EXPECT_EQ(port("name: a, ethdev: {devargs: net_null0}").mtu, 1500);
    EXPECT_EQ(port("name: a, tap: {}, storm_limit_pps: 0").storm_limit_pps, 0U);
}

TEST(PortRules, TapIsTyped) {
    const Tap tap =
        std::get<Tap>(port("name: a, tap: {interface: eth0, namespace: c1, mac: 02:00:00:00:00:07, "
                           "persistent: true, "
                           "addresses: [10.0.0.9/24, fd00::9/64], gateways: [10.0.0.1, fe80::1]}")
                          .device);
    EXPECT_EQ(tap.netns, "/run/netns/c1");
    EXPECT_EQ(tap.mac, net::MacAddress(2, 0, 0, 0, 0, 7));
    EXPECT_EQ(tap.addresses.at(0).to_string(), "10.0.0.9/24");
    EXPECT_EQ(tap.gateways.at(1).to_string(), "fe80::1");
    EXPECT_TRUE(tap.persistent);
}

TEST(PortRules, NeedsNameAndDevice) {
    EXPECT_THAT(problems(""), ElementsAre("p.name: must be given",
                                          "p: a port needs a device: one of tap, netdev, ethdev"));
}

TEST(PortRules, Ranges) {
    EXPECT_THAT(
        problems("name: a, tap: {}, mtu: 67, queues: 0"),
        ElementsAre("p.mtu: must be 68 to 65521, is 67", "p.queues: must be 1 to 64, is 0"));
    EXPECT_THAT(problems("name: a, tap: {}, mtu: 65522, queues: 65"), testing::SizeIs(2));
    EXPECT_THAT(problems("name: a, tap: {}, mtu: 65521, queues: 64"), IsEmpty());
    EXPECT_THAT(problems("name: a, tap: {}, mtu: 68"), IsEmpty());
}

TEST(PortRules, InterfaceNames) {
    EXPECT_THAT(
        problems("name: a-long-port-name, tap: {}"),
        ElementsAre("p.tap.interface: must be given, since the port's name is longer than 15 "
                    "characters, which Linux allows an interface"));
    EXPECT_THAT(problems("name: a-long-port-name, netdev: {interface: eth0}"), IsEmpty());
    EXPECT_THAT(problems("name: a, netdev: {interface: 1234567890123456}"),
                ElementsAre(HasSubstr("p.netdev.interface: longer than 15")));
    EXPECT_THAT(problems("name: a, netdev: {interface: a/b}"), testing::SizeIs(1));
    EXPECT_THAT(problems("name: a, tap: {interface: ..}"), testing::SizeIs(1));
}

TEST(PortRules, Vlans) {
    EXPECT_THAT(
        problems("name: a, tap: {}, vlans: [{vlan: 0, network: n}, {vlan: 4095, network: n}, "
                 "{network: n}, {vlan: 7, network: n}, {vlan: 7, network: m}, {vlan: 8}]"),
        ElementsAre("p.vlans[0].vlan: must be 1 to 4094, is 0",
                    "p.vlans[1].vlan: must be 1 to 4094, is 4095",
                    "p.vlans[2].vlan: must be 1 to 4094, is 0", "p.vlans[4].vlan: 7 is given twice",
                    "p.vlans[5].network: must be given"));
    EXPECT_THAT(problems("name: a, tap: {}, network: n, vlans: [{vlan: 1, network: n}, "
                         "{vlan: 4094, network: n}]"),
                IsEmpty())
        << "one network under several tags and native";
}

TEST(PortRules, Ethdev) {
    EXPECT_THAT(problems("name: a, ethdev: {}"), ElementsAre("p.ethdev.devargs: must be given"));
    EXPECT_THAT(problems("name: a, ethdev: {devargs: ',x=1'}"), testing::SizeIs(1));
    EXPECT_THAT(problems("name: a, ethdev: {devargs: \"a\\nb\"}"), testing::SizeIs(1));
    EXPECT_THAT(problems("name: a, ethdev: {devargs: " + std::string(64, 'x') + "}"),
                testing::SizeIs(1));
}

TEST(TapRules, MacMustBeOneStations) {
    EXPECT_THAT(tap_problems("mac: 00:00:00:00:00:00"), ElementsAre(HasSubstr("p.tap.mac: ")));
    EXPECT_THAT(tap_problems("mac: ff:ff:ff:ff:ff:ff"), ElementsAre(HasSubstr("broadcast")));
    EXPECT_THAT(tap_problems("mac: 01:00:5e:00:00:01"), ElementsAre(HasSubstr("multicast")));
    EXPECT_THAT(tap_problems("mac: 2:0:0:0:0:1"), ElementsAre(HasSubstr("expected a MAC address")));
}

TEST(TapRules, Namespace) {
    EXPECT_THAT(tap_problems("namespace: a/b"), ElementsAre(HasSubstr("p.tap.namespace: must be")));
}

TEST(TapRules, AddressesThatNoHostCanHave) {
    const auto only = [](const std::string& address) {
        const auto found = tap_problems("addresses: [\"" + address + "\"]");
        return found.size() == 1 ? found[0] : testing::PrintToString(found);
    };
    EXPECT_EQ(only("10.0.0.1"),
              "p.tap.addresses[0]: 10.0.0.1 lacks its prefix length, such as /24");
    EXPECT_THAT(only("10.0.0.1/33"), HasSubstr("expected an address"));
    EXPECT_THAT(only("10.0.0/24"), HasSubstr("expected an address"));
    EXPECT_EQ(only("10.0.0.0/24"),
              "p.tap.addresses[0]: 10.0.0.0 is the address of the subnet 10.0.0.0/24 itself");
    EXPECT_EQ(only("10.0.0.255/24"),
              "p.tap.addresses[0]: 10.0.0.255 is the broadcast address of 10.0.0.0/24");
    EXPECT_THAT(only("fd00::/64"), HasSubstr("subnet"));
    EXPECT_THAT(only("224.0.0.1/24"), HasSubstr("multicast"));
    EXPECT_THAT(only("ff02::1/64"), HasSubstr("multicast"));
    EXPECT_THAT(only("0.0.0.0/24"), HasSubstr("no host"));
    EXPECT_THAT(only("255.255.255.255/32"), HasSubstr("broadcast"));
    EXPECT_THAT(only("::1/128"), HasSubstr("loopback"));
    EXPECT_THAT(only("10.0.0.1/0"), HasSubstr("prefix length 0"));
    for (const char* fine : {"10.0.0.0/31", "10.0.0.1/31", "10.0.0.0/32", "10.0.0.255/23",
                             "fd00::/127", "fd00::ffff:ffff:ffff:ffff/64", "fe80::1/64"}) {
        EXPECT_EQ(only(fine), "{}") << fine;
    }
}

TEST(TapRules, AddressGivenTwice) {
    EXPECT_THAT(tap_problems("addresses: [10.0.0.1/24, 10.0.0.1/16]"),
                ElementsAre("p.tap.addresses[1]: 10.0.0.1 is given twice"));
}

TEST(TapRules, Ipv6NeedsItsLeastMtu) {
    EXPECT_THAT(problems("name: a, mtu: 1279, tap: {addresses: [\"fd00::1/64\"]}"),
                ElementsAre(HasSubstr("at least 1280")));
    EXPECT_THAT(problems("name: a, mtu: 1280, tap: {addresses: [\"fd00::1/64\"]}"), IsEmpty());
}

TEST(TapRules, Gateways) {
    const auto only = [](const std::string& gateways) {
        const auto found =
            tap_problems("addresses: [10.0.0.9/24, \"fd00::9/64\"], gateways: [" + gateways + "]");
        return found.size() == 1 ? found[0] : testing::PrintToString(found);
    };
    EXPECT_EQ(only("10.0.0.1, \"fd00::1\""), "{}");
    EXPECT_EQ(only("10.0.1.1"),
              "p.tap.gateways[0]: 10.0.1.1 is in no subnet of the interface's addresses");
    EXPECT_EQ(only("10.0.0.1, 10.0.0.2"), "p.tap.gateways[1]: a second IPv4 gateway");
    EXPECT_EQ(only("\"fd00::1\", \"fe80::1\""), "p.tap.gateways[1]: a second IPv6 gateway");
    EXPECT_EQ(only("10.0.0.9"), "p.tap.gateways[0]: is the interface's own address");
    EXPECT_THAT(only("10.0.0.255"), HasSubstr("broadcast"));
    EXPECT_THAT(only("10.0.0.0"), HasSubstr("subnet"));
    EXPECT_THAT(only("10.0.0.1/24"), HasSubstr("expected an IP address"));
    EXPECT_THAT(only("224.0.0.1"), HasSubstr("multicast"));
    EXPECT_THAT(tap_problems("gateways: [10.0.0.1]"), ElementsAre(HasSubstr("in no subnet")));
    EXPECT_THAT(tap_problems("gateways: [\"fe80::1\"]"), IsEmpty());
}

TEST(DeviceIdentity, IsOneForAllWaysToWriteADevice) {
    const auto ethdev = [](const char* devargs) { return device_identity(Ethdev{devargs}); };
    EXPECT_EQ(ethdev("0000:3B:00.0"), ethdev("pci:3b:00.0,x=1"));
    EXPECT_EQ(ethdev("net_null0"), ethdev("net_null0,size=64"));
    EXPECT_NE(ethdev("net_null0"), ethdev("net_null1"));
    Tap tap;
    tap.interface = "eth0";
    EXPECT_EQ(device_identity(tap), device_identity(Netdev{"eth0"}));
    tap.netns = "/run/netns/c1";
    EXPECT_EQ(device_identity(tap), "interface eth0 in /run/netns/c1");
}

}  // namespace
}  // namespace heddle::model
