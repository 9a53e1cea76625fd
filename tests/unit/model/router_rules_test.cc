#include "model/router_rules.h"

#include <gmock/gmock.h>

#include "from_yaml.h"
#include "model/validate.h"

namespace heddle::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> problems(const std::string& yaml) {
    const auto result = validate(from_yaml(yaml));
    return result.has_value() ? std::vector<std::string>() : to_strings(result.error());
}

/// A router r1 with these fields, among networks and ports to refer to.
std::string with_router(const std::string& fields) {
    return "networks: [{name: red}, {name: blue}, {name: thin, mtu: 1279}, {name: far}]\n"
           "ports:\n"
           "- {name: web, tap: {}, network: red, mac: 02:00:00:00:00:01, addresses: [10.0.1.9]}\n"
           "- {name: bare, tap: {}, network: red}\n"
           "- {name: away, tap: {}, network: far, mac: 02:00:00:00:00:02, addresses: [10.9.9.9]}\n"
           "routers: [{name: r1, " +
           fields + "}]";
}

const char* const kInterfaces =
    "interfaces: [{network: red, addresses: [10.0.1.1/24, \"fd00:1::1/64\"]}, "
    "{network: blue, addresses: [10.0.2.1/24]}]";

std::vector<std::string> of_router(const std::string& fields) {
    return problems(with_router(fields));
}
std::vector<std::string> of_interface(const std::string& fields) {
    return of_router("interfaces: [{network: red, " + fields + "}]");
}
std::vector<std::string> of_route(const std::string& fields) {
    return of_router(std::string(kInterfaces) + ", routes: [{" + fields + "}]");
}
/// What is wrong with one next hop of an IPv4 route.
std::vector<std::string> of_hop(const std::string& fields, const char* prefix = "0.0.0.0/0") {
    return of_route("prefix: \"" + std::string(prefix) + "\", next_hops: [{" + fields + "}]");
}

Router router(const std::string& fields) {
    const auto result = validate(from_yaml(with_router(fields)));
    if (result.has_value()) return result->routers.at(0);
    ADD_FAILURE() << testing::PrintToString(to_strings(result.error()));
    return {};
}

TEST(RouterRules, DefaultsAreFilledIn) {
    const Router r1 = router(
        "interfaces: [{network: red, addresses: [10.0.1.1/24], router_advertisement: {}}], "
        "routes: [{prefix: 0.0.0.0/0, next_hops: [{address: 10.0.1.254}]}]");
    const RouterInterface& red = r1.interfaces.at(0);
    EXPECT_EQ(red.reverse_path, ReversePath::off);
    ASSERT_TRUE(red.advertisement);
    EXPECT_EQ(*red.advertisement, (RouterAdvertisement{false, false, true, 200, 600}));
    const Route& route = r1.routes.at(0);
    EXPECT_EQ(route.distance, 1);
    const NextHop expected{"red", net::Ipv4Address(10, 0, 1, 254), 1};
    EXPECT_THAT(std::get<std::vector<NextHop>>(route.target), ElementsAre(expected));
    const auto all = validate(from_yaml(with_router(kInterfaces)));
    ASSERT_TRUE(all.has_value());
    EXPECT_EQ(all->networks[0].mtu, 1500);
    EXPECT_FALSE(all->networks[0].proxy_arp);
    EXPECT_FALSE(all->routers[0].interfaces[0].advertisement) << "none are sent unless asked for";
}

TEST(RouterRules, EverythingThatIsGivenIsKept) {
    const Router r1 = router(
        "mac: 02:00:00:00:00:77, interfaces: [{network: red, reverse_path: STRICT, "
        "addresses: [10.0.1.1/24, 10.0.1.2/24], router_advertisement: {managed: true, "
        "other_config: true, no_autonomous: true, interval: 4, lifetime: 0}}, "
        "{network: blue, addresses: [\"fd00::1/64\"], reverse_path: LOOSE}], "
        "routes: [{prefix: 10.9.0.0/16, distance: 255, blackhole: true}, "
        "{prefix: \"::/0\", reject: true}, {prefix: 0.0.0.0/0, next_hops: "
        "[{port: web, weight: 255}, {address: 10.0.1.8, network: red}]}, "
        "{prefix: \"2001:db8::/32\", next_hops: [{address: \"fe80::9\", network: blue}]}]");
    EXPECT_EQ(r1.mac, net::MacAddress(2, 0, 0, 0, 0, 0x77));
    EXPECT_EQ(r1.interfaces.at(0).reverse_path, ReversePath::strict);
    EXPECT_EQ(r1.interfaces.at(1).reverse_path, ReversePath::loose);
    EXPECT_EQ(*r1.interfaces[0].advertisement, (RouterAdvertisement{true, true, false, 4, 0}));
    EXPECT_EQ(r1.routes.at(0).distance, 255);
    EXPECT_TRUE(std::holds_alternative<Blackhole>(r1.routes[0].target));
    EXPECT_TRUE(std::holds_alternative<Reject>(r1.routes.at(1).target));
    EXPECT_THAT(std::get<std::vector<NextHop>>(r1.routes.at(2).target),
                ElementsAre(NextHop{"red", net::Ipv4Address(10, 0, 1, 9), 255},
                            NextHop{"red", net::Ipv4Address(10, 0, 1, 8), 1}));
    EXPECT_EQ(std::get<std::vector<NextHop>>(r1.routes.at(3).target).at(0).network, "blue");
}

TEST(RouterRules, MacIsMadeOfTheNameAloneAndIsOneStationsOwn) {
    std::set<net::MacAddress> seen;
    for (int i = 0; i < 2000; ++i) {
        const v1::Router given = from_yaml<v1::Router>("{name: r" + std::to_string(i) + "}");
        const auto mac_of = [&](const std::string& path) {
            api::ProblemList list;
            const auto nothing = [](const std::string&) { return nullptr; };
            return validate_router(given, {nothing, nothing}, path, list).mac;
        };
        const net::MacAddress mac = mac_of("a");
        EXPECT_EQ(mac, mac_of("b"));
        EXPECT_TRUE(mac.is_unicast());
        EXPECT_TRUE(mac.is_locally_administered());
        EXPECT_TRUE(seen.insert(mac).second) << mac.to_string();
    }
}

TEST(RouterRules, Router) {
    EXPECT_THAT(problems("routers: [{}, {name: '-', mac: 01:00:5e:00:00:01}, {name: a, mac: x}]"),
                ElementsAre("routers[0].name: must be given",
                            "routers[1].name: must begin with a letter or digit",
                            "routers[1].mac: 01:00:5e:00:00:01 is a multicast address; one "
                            "station's has an even first byte",
                            "routers[2].mac: expected a MAC address such as 02:00:00:12:34:56, got "
                            "\"x\""));
    EXPECT_THAT(problems("routers: [{name: a}, {name: a}]"),
                ElementsAre("routers[1].name: \"a\" is also the name of routers[0]"));
    EXPECT_THAT(of_router(""), IsEmpty()) << "a router with nothing is of no use, but not wrong";
}

TEST(RouterRules, Interface) {
    EXPECT_THAT(of_router("interfaces: [{}]"),
                ElementsAre("routers[0].interfaces[0].network: must be given",
                            "routers[0].interfaces[0].addresses: must be given"));
    EXPECT_THAT(of_router("interfaces: [{network: rod, addresses: [10.0.1.1/24]}]"),
                ElementsAre("routers[0].interfaces[0].network: no network is named \"rod\"; did "
                            "you mean \"red\"?"));
    EXPECT_THAT(of_router("interfaces: [{network: red, addresses: [10.0.1.1/24]}, "
                          "{network: red, addresses: [10.0.2.1/24]}]"),
                ElementsAre("routers[0].interfaces[1].network: the router has an interface on red "
                            "already; an interface can have several addresses"));
    v1::Topology unknown = from_yaml(with_router(kInterfaces));
    unknown.mutable_routers(0)->mutable_interfaces(1)->set_reverse_path(
        static_cast<v1::RouterInterface::ReversePath>(9));
    EXPECT_THAT(to_strings(validate(unknown).error()),
                ElementsAre("routers[0].interfaces[1].reverse_path: must be OFF, LOOSE or STRICT"));
}

TEST(RouterRules, InterfaceAddresses) {
    const auto only = [](const std::string& addresses) {
        const auto found = of_interface("addresses: [" + addresses + "]");
        return found.size() == 1 ? found[0] : testing::PrintToString(found);
    };
    const std::string path = "routers[0].interfaces[0].addresses";
    EXPECT_EQ(only("10.0.0.1"), path + "[0]: 10.0.0.1 lacks its prefix length, such as /24");
    EXPECT_EQ(only("10.0.0.0/24"),
              path + "[0]: 10.0.0.0 is the address of the subnet 10.0.0.0/24 itself");
    EXPECT_EQ(only("10.0.0.255/24"),
              path + "[0]: 10.0.0.255 is the broadcast address of 10.0.0.0/24");
    EXPECT_EQ(only("\"fd00::/64\""),
              path + "[0]: fd00:: is the address of the subnet fd00::/64 itself");
    EXPECT_EQ(only("224.0.0.1/24"), path + "[0]: 224.0.0.1 is a multicast address");
    EXPECT_EQ(only("127.0.0.1/8"), path + "[0]: 127.0.0.1 is a loopback address");
    EXPECT_EQ(only("10.0.0.1/24, 10.0.0.1/24"), path + "[1]: 10.0.0.1 is given twice");
    EXPECT_EQ(only("\"fe80::1/64\""),
              path + ": fe80::1: the link-local address is made from the MAC address");
    EXPECT_EQ(only("10.0.0.1/24, 10.0.0.2/25"),
              path + ": subnet 10.0.0.0/25 overlaps 10.0.0.0/24 of the interface on red");
    for (const char* fine : {"10.0.0.1/24, 10.0.0.2/24", "10.0.0.0/31", "10.0.0.1/32",
                             "10.0.0.1/25, 10.0.0.129/25", "\"fd00::/127\""}) {
        EXPECT_EQ(only(fine), "{}") << fine;
    }
    std::string many;
    for (int i = 1; i <= 65; ++i)
        many += "10.0.0." + std::to_string(i) + "/24, ";
    EXPECT_EQ(only(many), path + ": 65 addresses, at most 64");
}

TEST(RouterRules, SubnetsOfInterfacesAreDisjoint) {
    const auto second = [](const std::string& addresses) {
        return of_router(
            "interfaces: [{network: red, addresses: [10.0.1.1/24]}, {network: blue, "
            "addresses: [" +
            addresses + "]}]");
    };
    const std::string path = "routers[0].interfaces[1].addresses: ";
    EXPECT_THAT(second("10.0.0.1/16"),
                ElementsAre(path + "subnet 10.0.0.0/16 overlaps 10.0.1.0/24 of the interface on "
                                   "red"));
    EXPECT_THAT(second("10.0.1.2/24"),
                ElementsAre(path + "subnet 10.0.1.0/24 overlaps 10.0.1.0/24 of the interface on "
                                   "red"));
    EXPECT_THAT(second("10.0.1.128/25"), testing::SizeIs(1)) << "the subnet's own address";
    EXPECT_THAT(second("10.0.2.1/24, \"fd00::1/64\""), IsEmpty());
}

TEST(RouterRules, MtuOfANetwork) {
    EXPECT_THAT(problems("networks: [{name: a, mtu: 67}]"),
                ElementsAre("networks[0].mtu: must be 68 to 65521, is 67"));
    EXPECT_THAT(problems("networks: [{name: a, mtu: 65522}]"),
                ElementsAre("networks[0].mtu: must be 68 to 65521, is 65522"));
    EXPECT_THAT(problems("networks: [{name: a, mtu: 68}, {name: b, mtu: 65521}]"), IsEmpty());
    const auto on_thin = [](const std::string& address) {
        return of_router("interfaces: [{network: thin, addresses: [" + address + "]}]");
    };
    EXPECT_THAT(on_thin("\"fd00::1/64\""),
                ElementsAre("routers[0].interfaces[0].addresses: IPv6 needs an mtu of at least "
                            "1280, that of network thin is 1279"));
    EXPECT_THAT(on_thin("10.0.0.1/24"), IsEmpty());
}

TEST(RouterRules, Advertisement) {
    const auto of = [](const std::string& fields) {
        return of_interface("addresses: [\"fd00::1/64\"], router_advertisement: {" + fields + "}");
    };
    const std::string path = "routers[0].interfaces[0].router_advertisement.";
    EXPECT_THAT(of("interval: 3"), ElementsAre(path + "interval: must be 4 to 1800, is 3"));
    EXPECT_THAT(of("interval: 1801"), ElementsAre(path + "interval: must be 4 to 1800, is 1801"));
    EXPECT_THAT(of("lifetime: 199"),
                ElementsAre(path + "lifetime: must be 0 or 200 (the interval) to 9000, is 199"));
    EXPECT_THAT(of("lifetime: 9001"),
                ElementsAre(path + "lifetime: must be 0 or 200 (the interval) to 9000, is 9001"));
    for (const char* fine : {"interval: 4", "interval: 1800", "lifetime: 0", "lifetime: 200",
                             "lifetime: 9000", "interval: 4, lifetime: 4"}) {
        EXPECT_THAT(of(fine), IsEmpty()) << fine;
    }
}

TEST(RouterRules, Prefix) {
    const auto only = [](const std::string& prefix) {
        const auto found = of_route("blackhole: true, prefix: \"" + prefix + "\"");
        return found.size() == 1 ? found[0] : testing::PrintToString(found);
    };
    const std::string path = "routers[0].routes[0].prefix: ";
    EXPECT_EQ(only(""), path + "must be given");
    EXPECT_EQ(only("10.0.0.0"),
              path + "expected a prefix such as 10.0.0.0/8 or 2001:db8::/32, got \"10.0.0.0\"");
    EXPECT_EQ(only("10.0.0.1/24"),
              path + "10.0.0.1/24 has bits behind its prefix length; did you mean 10.0.0.0/24?");
    EXPECT_EQ(only("224.0.0.0/4"), path + "224.0.0.0/4 is not routed: multicast addresses");
    EXPECT_EQ(only("ff00::/8"), path + "ff00::/8 is not routed: multicast addresses");
    EXPECT_EQ(only("127.0.0.0/8"), path + "127.0.0.0/8 is not routed: loopback addresses");
    EXPECT_EQ(only("::1/128"), path + "::1/128 is not routed: loopback addresses");
    EXPECT_EQ(only("fe80::/64"), path + "fe80::/64 is not routed: link-local addresses");
    for (const char* fine : {"0.0.0.0/0", "::/0", "10.0.0.1/32", "fd00::1/128", "10.0.1.0/24"})
        EXPECT_EQ(only(fine), "{}") << fine;
}

TEST(RouterRules, Route) {
    const std::string path = "routers[0].routes[0]";
    const std::string one = ": a route has exactly one of next_hops, blackhole, reject, router";
    EXPECT_THAT(of_route("prefix: 0.0.0.0/0"), ElementsAre(path + one));
    EXPECT_THAT(of_route("prefix: 0.0.0.0/0, blackhole: true, reject: true"),
                ElementsAre(path + one));
    EXPECT_THAT(of_route("prefix: 0.0.0.0/0, blackhole: true, distance: 0"),
                ElementsAre(path + ".distance: must be 1 to 255, is 0"));
    EXPECT_THAT(of_route("prefix: 0.0.0.0/0, blackhole: true, distance: 256"),
                ElementsAre(path + ".distance: must be 1 to 255, is 256"));
    EXPECT_THAT(of_route("prefix: 0.0.0.0/0, router: r1"),
                ElementsAre(path + ".router: is the router itself"));
    EXPECT_THAT(of_route("prefix: 0.0.0.0/0, router: r9"),
                ElementsAre(HasSubstr(path + ".router: no router is named \"r9\"")));
    EXPECT_THAT(
        of_route("prefix: 0.0.0.0/0, reject: true}, {prefix: 0.0.0.0/0, blackhole: true"),
        ElementsAre("routers[0].routes[1].prefix: a second route to 0.0.0.0/0 with distance 1"));
    EXPECT_THAT(
        of_route("prefix: 0.0.0.0/0, reject: true}, {prefix: 0.0.0.0/0, reject: true, distance: 2"),
        IsEmpty());
}

TEST(RouterRules, NextHop) {
    const std::string path = "routers[0].routes[0].next_hops[0]";
    EXPECT_THAT(of_hop(""), ElementsAre(path + ": a next hop is an address or a port"));
    EXPECT_THAT(of_hop("address: 10.0.1.9, port: web"),
                ElementsAre(path + ": a next hop is an address or a port"));
    EXPECT_THAT(of_hop("address: 10.0.1"),
                ElementsAre(path + ".address: expected an IP address, got \"10.0.1\""));
    EXPECT_THAT(of_hop("address: 224.0.0.1"),
                ElementsAre(path + ".address: 224.0.0.1 is a multicast address"));
    EXPECT_THAT(of_hop("address: \"fd00:1::2\""),
                ElementsAre(path + ".address: fd00:1::2 is no next hop of an IPv4 prefix"));
    EXPECT_THAT(of_hop("address: 10.0.1.2", "::/0"),
                ElementsAre(path + ".address: 10.0.1.2 is no next hop of an IPv6 prefix"));
    EXPECT_THAT(of_hop("address: 10.0.2.1"),
                ElementsAre(path + ".address: 10.0.2.1 is the router's own address"));
    EXPECT_THAT(
        of_hop("address: 10.0.3.1"),
        ElementsAre(path + ".address: 10.0.3.1 is in no subnet of the router's interfaces"));
    EXPECT_THAT(of_hop("address: 10.0.1.255"),
                ElementsAre(path + ".address: 10.0.1.255 is the broadcast address of 10.0.1.0/24"));
    EXPECT_THAT(of_hop("address: 10.0.1.2, network: blue"),
                ElementsAre(path + ".network: 10.0.1.2 is in network red"));
    EXPECT_THAT(of_hop("address: 10.0.1.2, weight: 0"),
                ElementsAre(path + ".weight: must be 1 to 255, is 0"));
    EXPECT_THAT(of_hop("address: 10.0.1.2, weight: 256"),
                ElementsAre(path + ".weight: must be 1 to 255, is 256"));
    EXPECT_THAT(of_hop("address: \"fe80::1\"", "::/0"),
                ElementsAre(path + ".network: must be given for a link-local address"));
    EXPECT_THAT(of_hop("address: \"fe80::1\", network: far", "::/0"),
                ElementsAre(path + ".network: the router has no interface on \"far\""));
    EXPECT_THAT(of_hop("port: web, network: red"),
                ElementsAre(path + ".network: a port has its own"));
    EXPECT_THAT(of_hop("port: away"),
                ElementsAre(path + ".port: the router has no interface on the network of port "
                                   "\"away\""));
    EXPECT_THAT(of_hop("port: bare"),
                ElementsAre(path + ".port: port \"bare\" states no mac and IPv4 address of its "
                                   "host"));
    EXPECT_THAT(of_hop("port: web", "::/0"),
                ElementsAre(path + ".port: port \"web\" states no mac and IPv6 address of its "
                                   "host"));
    EXPECT_THAT(of_hop("port: wbe"), ElementsAre(HasSubstr(path + ".port: no port is named")));
    EXPECT_THAT(of_hop("address: 10.0.1.2, weight: 255"), IsEmpty());
    EXPECT_THAT(of_hop("address: \"fe80::1\", network: blue", "::/0"), IsEmpty());
    EXPECT_THAT(of_hop("port: web}, {address: 10.0.1.9"),
                ElementsAre("routers[0].routes[0].next_hops[1]: 10.0.1.9 is given twice"));
}

TEST(RouterRules, NextHopsAtMost) {
    std::string hops;
    for (int i = 2; i < 66; ++i)
        hops += "{address: 10.0.1." + std::to_string(i) + "}, ";
    EXPECT_THAT(of_route("prefix: 0.0.0.0/0, next_hops: [" + hops + "]"), IsEmpty());
    EXPECT_THAT(of_route("prefix: 0.0.0.0/0, next_hops: [" + hops + "{address: 10.0.1.77}]"),
                ElementsAre("routers[0].routes[0].next_hops: 65 next hops, at most 64"));
}

}  // namespace
}  // namespace heddle::model
