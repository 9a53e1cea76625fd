// What routers and ports must agree on: addresses, and no packet that goes round for ever.
#include <gmock/gmock.h>

#include <chrono>
#include <random>

#include "from_yaml.h"
#include "model/validate.h"

namespace heddle::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> problems(const std::string& yaml) {
    const auto result = validate(from_yaml(yaml));
    return result.has_value() ? std::vector<std::string>() : to_strings(result.error());
}

TEST(RouterSet, AddressesOfANetworkHaveOneOwner) {
    const std::string a = "{name: a, mac: 02:00:00:00:00:0a, interfaces: [{network: red, ";
    const std::string b = "{name: b, mac: 02:00:00:00:00:0b, interfaces: [{network: red, ";
    const std::string networks = "networks: [{name: red}, {name: blue}]\n";
    EXPECT_THAT(problems(networks + "routers: [" + a + "addresses: [10.0.1.1/24]}]}, " + b +
                         "addresses: [10.0.1.1/25]}]}]"),
                ElementsAre("routers[1].interfaces[0].addresses: 10.0.1.1 is also that of router a "
                            "in network red"));
    EXPECT_THAT(problems(networks + "routers: [" + a + "addresses: [10.0.1.1/24]}]}, " + b +
                         "addresses: [10.0.1.2/24]}]}]"),
                IsEmpty());
    EXPECT_THAT(problems(networks +
                         "routers: [{name: a, mac: 02:00:00:00:00:0a, interfaces: [{network: red, "
                         "addresses: [10.0.1.1/24]}]}, {name: b, mac: 02:00:00:00:00:0a, "
                         "interfaces: [{network: blue, addresses: [10.0.1.1/24]}]}]"),
                IsEmpty())
        << "in another network both are free";
    EXPECT_THAT(problems(networks + "routers: [" + a + "addresses: [10.0.1.1/24]}]}, " +
                         "{name: b, mac: 02:00:00:00:00:0a, interfaces: [{network: red, addresses: "
                         "[10.0.1.2/24]}]}]"),
                ElementsAre("routers[1].mac: 02:00:00:00:00:0a is also that of router a in network "
                            "red"));
}

TEST(RouterSet, PortsDoNotHaveWhatARouterHas) {
    const std::string router =
        "routers: [{name: a, mac: 02:00:00:00:00:0a, interfaces: [{network: red, addresses: "
        "[10.0.1.1/24]}]}]\n";
    EXPECT_THAT(problems("networks: [{name: red}]\n" + router +
                         "ports: [{name: p, tap: {}, network: red, mac: 02:00:00:00:00:0a, "
                         "addresses: [10.0.1.1]}]"),
                ElementsAre("ports[0].addresses: 10.0.1.1 is also that of router a in network red",
                            "ports[0].mac: 02:00:00:00:00:0a is also that of router a in network "
                            "red"));
    EXPECT_THAT(problems("networks: [{name: red}]\n" + router +
                         "ports: [{name: p, network: red, tap: {mac: 02:00:00:00:00:0b, addresses: "
                         "[10.0.1.1/24]}}]"),
                ElementsAre("ports[0].addresses: 10.0.1.1 is also that of router a in network red"))
        << "a tap's addresses are the port's";
    EXPECT_THAT(problems("networks: [{name: red}]\n" + router +
                         "ports: [{name: p, tap: {}, vlans: [{vlan: 7, network: red}], mac: "
                         "02:00:00:00:00:0a}]"),
                ElementsAre("ports[0].mac: 02:00:00:00:00:0a is also that of router a in network "
                            "red"))
        << "under a tag, too";
    EXPECT_THAT(
        problems("networks: [{name: red, static_fdb: [{mac: 02:00:00:00:00:0a, port: p}]}]\n" +
                 router + "ports: [{name: p, tap: {}, network: red}]"),
        ElementsAre("networks[0].static_fdb: 02:00:00:00:00:0a is also that of router a in "
                    "network red"));
}

TEST(RouterSet, HostOfAPort) {
    const auto of_port = [](const std::string& fields) {
        return problems("ports: [{name: p, tap: {}, " + fields + "}]");
    };
    EXPECT_THAT(of_port("addresses: [10.0.0.1]"),
                ElementsAre("ports[0].mac: must be given with addresses"));
    EXPECT_THAT(of_port("mac: 01:00:5e:00:00:01"),
                ElementsAre("ports[0].mac: 01:00:5e:00:00:01 is a multicast address; one station's "
                            "has an even first byte"));
    const std::string mac = "mac: 02:00:00:00:00:01, addresses: ";
    EXPECT_THAT(of_port(mac + "[10.0.0.1/24]"),
                ElementsAre("ports[0].addresses[0]: expected an IP address, got \"10.0.0.1/24\""));
    EXPECT_THAT(of_port(mac + "[10.0.0.1, 10.0.0.1]"),
                ElementsAre("ports[0].addresses[1]: 10.0.0.1 is given twice"));
    EXPECT_THAT(of_port(mac + "[255.255.255.255]"),
                ElementsAre("ports[0].addresses[0]: 255.255.255.255 is the broadcast address"));
    EXPECT_THAT(of_port(mac + "[10.0.0.1, \"fd00::1\", \"fe80::1\"]"), IsEmpty());
    std::string many;
    for (int i = 1; i <= 65; ++i)
        many += "10.0.0." + std::to_string(i) + ", ";
    EXPECT_THAT(of_port(mac + "[" + many + "]"),
                ElementsAre("ports[0].addresses: 65 addresses, at most 64"));
}

TEST(RouterSet, MoreThanTheTablesHold) {
    v1::Topology topology;
    for (int i = 0; i < 16384; ++i)
        topology.add_routers();
    EXPECT_THAT(to_strings(validate(topology).error()),
                ElementsAre("routers: 16384 routers, at most 16383"));
    topology.Clear();
    topology.add_routers()->set_name("a");
    for (int i = 0; i < 65536; ++i)
        topology.mutable_routers(0)->add_interfaces();
    for (int i = 0; i < 100'001; ++i)
        topology.mutable_routers(0)->add_routes();
    EXPECT_THAT(to_strings(validate(topology).error()),
                ElementsAre("routers: 65536 interfaces, at most 65535",
                            "routers: 100001 routes, at most 100000"));
}

TEST(RouterSet, TwoHostsOfANetworkDoNotHaveOneAddressEvenWithoutARouter) {
    const auto two_ports = [](const std::string& second) {
        return problems(
            "networks: [{name: red}, {name: blue}]\n"
            "ports: [{name: p, tap: {}, network: red, mac: 02:00:00:00:00:01, "
            "addresses: [10.0.1.9]}, {name: q, tap: {}, " +
            second + "}]");
    };
    EXPECT_THAT(two_ports("network: red, mac: 02:00:00:00:00:02, addresses: [10.0.1.9]"),
                ElementsAre("ports[1].addresses: 10.0.1.9 is also that of port p in network red"));
    EXPECT_THAT(two_ports("network: red, mac: 02:00:00:00:00:01"),
                ElementsAre("ports[1].mac: 02:00:00:00:00:01 is also that of port p in network "
                            "red"));
    EXPECT_THAT(two_ports("network: blue, mac: 02:00:00:00:00:01, addresses: [10.0.1.9]"),
                IsEmpty());
}

// ---- Leaks

TEST(LeakLoops, LeaksBothWaysWithDisjointPrefixesAreFine) {
    EXPECT_THAT(problems("routers: [{name: a, routes: [{prefix: 10.2.0.0/16, router: b}]},\n"
                         "{name: b, routes: [{prefix: 10.1.0.0/16, router: a}]}]"),
                IsEmpty());
    EXPECT_THAT(problems("routers: [{name: a, routes: [{prefix: 10.0.0.0/8, router: b}, "
                         "{prefix: 10.1.0.0/16, blackhole: true}]},\n"
                         "{name: b, routes: [{prefix: 10.1.0.0/16, router: a}]}]"),
                IsEmpty())
        << "what b leaks back ends at a";
    EXPECT_THAT(problems("networks: [{name: n}]\n"
                         "routers: [{name: a, routes: [{prefix: 10.0.0.0/8, router: b}], "
                         "interfaces: [{network: n, addresses: [10.1.0.1/16]}]},\n"
                         "{name: b, routes: [{prefix: 10.1.0.0/16, router: a}]}]"),
                IsEmpty())
        << "what b leaks back is attached to a";
}

TEST(LeakLoops, TwoAndThreeRoutersAreRefused) {
    EXPECT_THAT(problems("routers: [{name: a, routes: [{prefix: 10.0.0.0/8, router: b}]},\n"
                         "{name: b, routes: [{prefix: 10.1.0.0/16, router: a}]}]"),
                ElementsAre("routers[1].routes[0]: a packet to 10.1.0.0 would go round: b -> a -> "
                            "b"));
    EXPECT_THAT(problems("routers: [{name: a, routes: [{prefix: \"::/0\", router: b}]},\n"
                         "{name: b, routes: [{prefix: \"::/0\", router: c}]},\n"
                         "{name: c, routes: [{prefix: \"fd00::/8\", router: a}]}]"),
                SizeIs(1));
}

TEST(LeakLoops, LocalPrefixThatShadowsALoopOnlyInPartDoesNotEndIt) {
    const std::string b = "{name: b, routes: [{prefix: 10.1.0.0/16, router: a}]}]";
    EXPECT_THAT(problems("routers: [{name: a, routes: [{prefix: 10.0.0.0/8, router: b}, "
                         "{prefix: 10.1.0.0/17, blackhole: true}]},\n" +
                         b),
                ElementsAre("routers[1].routes[0]: a packet to 10.1.128.0 would go round: b -> a "
                            "-> b"));
    EXPECT_THAT(problems("routers: [{name: a, routes: [{prefix: 10.0.0.0/8, router: b}, "
                         "{prefix: 10.1.0.0/17, blackhole: true}, {prefix: 10.1.128.0/17, "
                         "reject: true}]},\n" +
                         b),
                IsEmpty());
}

TEST(LeakLoops, OnlyTheRouteOfLeastDistanceCounts) {
    const std::string b = "{name: b, routes: [{prefix: 10.0.0.0/8, router: a}]}]";
    EXPECT_THAT(problems("routers: [{name: a, routes: [{prefix: 10.0.0.0/8, distance: 9, router: "
                         "b}, {prefix: 10.0.0.0/8, reject: true}]},\n" +
                         b),
                IsEmpty());
    EXPECT_THAT(problems("routers: [{name: a, routes: [{prefix: 10.0.0.0/8, router: b}, {prefix: "
                         "10.0.0.0/8, distance: 9, reject: true}]},\n" +
                         b),
                SizeIs(1));
}

TEST(LeakLoops, HubAndTwoHundredSpokesTakeNoTime) {
    std::string yaml = "routers:\n";
    std::string hub = "- {name: hub, routes: [";
    for (int i = 0; i < 200; ++i) {
        const std::string prefix = "10." + std::to_string(i) + ".0.0/16";
        const std::string name = "s" + std::to_string(i);
        yaml += "- {name: " + name +
                ", routes: [{prefix: 0.0.0.0/0, router: hub}, {prefix: " + prefix +
                ", blackhole: true}]}\n";
        hub += "{prefix: " + prefix + ", router: " + name + "}, ";
    }
    yaml += hub + "]}\n";
    const v1::Topology topology = from_yaml(yaml);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(validate(topology).has_value());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

// ---- Against a model that follows every address

constexpr uint32_t kBase = 0xc0000200;  // 192.0.2.0/28

struct ModelRoute {
    uint32_t first;
    unsigned length;
    unsigned distance;
    int to;  ///< a router, or -1: ends here
};

/// Whether any of the sixteen addresses goes round, from any router.
bool goes_round(const std::vector<std::vector<ModelRoute>>& routers) {
    for (uint32_t address = kBase; address < kBase + 16; ++address) {
        for (size_t start = 0; start < routers.size(); ++start) {
            int at = static_cast<int>(start);
            for (size_t hops = 0; at >= 0; ++hops) {
                if (hops > routers.size()) return true;
                const ModelRoute* best = nullptr;
                for (const ModelRoute& route : routers[static_cast<size_t>(at)]) {
                    const uint32_t size = 1u << (32 - route.length);
                    if (address < route.first || address - route.first >= size) continue;
                    if (best == nullptr || route.length > best->length ||
                        (route.length == best->length && route.distance < best->distance)) {
                        best = &route;
                    }
                }
                at = best == nullptr ? -1 : best->to;
            }
        }
    }
    return false;
}

TEST(LeakLoops, AgreeWithAModelThatFollowsEveryAddress) {
    std::mt19937 random(1);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    unsigned loops = 0;
    for (int round = 0; round < 4000; ++round) {
        std::vector<std::vector<ModelRoute>> model(2 + below(5));
        v1::Topology topology;
        for (size_t i = 0; i < model.size(); ++i) {
            v1::Router& router = *topology.add_routers();
            router.set_name("r" + std::to_string(i));
            std::set<std::tuple<uint32_t, unsigned, unsigned>> used;
            for (uint32_t k = below(5); k > 0; --k) {
                ModelRoute route{};
                route.length = 28 + below(5);
                route.first =
                    kBase + below(1u << (route.length - 28)) * (1u << (32 - route.length));
                route.distance = 1 + below(2);
                if (!used.emplace(route.first, route.length, route.distance).second) continue;
                route.to = static_cast<int>(below(static_cast<uint32_t>(model.size())));
                if (route.to == static_cast<int>(i) || below(3) == 0) route.to = -1;
                v1::Route& given = *router.add_routes();
                given.set_prefix("192.0.2." + std::to_string(route.first & 0xff) + "/" +
                                 std::to_string(route.length));
                given.set_distance(route.distance);
                if (route.to < 0) given.set_blackhole(true);
                if (route.to >= 0) given.set_router("r" + std::to_string(route.to));
                model[i].push_back(route);
            }
        }
        const bool refused = !validate(topology).has_value();
        loops += refused ? 1 : 0;
        ASSERT_EQ(refused, goes_round(model)) << topology.DebugString();
    }
    EXPECT_GT(loops, 400u);
    EXPECT_LT(loops, 3600u);
}

}  // namespace
}  // namespace heddle::model
