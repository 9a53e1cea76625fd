#include "model/validate.h"

#include <gmock/gmock.h>

#include "from_yaml.h"

namespace heddle::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> problems(const v1::Topology& topology) {
    const auto result = validate(topology);
    return result.has_value() ? std::vector<std::string>() : to_strings(result.error());
}

std::vector<std::string> problems(const std::string& yaml) {
    return problems(from_yaml(yaml));
}

TEST(Validate, EmptyTopologyIsValid) {
    const auto result = validate({});
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->settings, Settings());
}

TEST(Validate, KeepsTheOrderAndFillsInDefaults) {
    const auto result = validate(
        from_yaml("settings: {workers: 3, polling: BUSY}\n"
                  "networks: [{name: b}, {name: a, fdb_limit: 0, group_forward_mask: 0x4008}]\n"
                  "ports: [{name: y, tap: {}, network: a}, {name: x, tap: {}, network: b}]"));
    ASSERT_TRUE(result.has_value()) << testing::PrintToString(to_strings(result.error()));
    EXPECT_EQ(result->settings.workers, 3);
    EXPECT_EQ(result->settings.polling, Polling::busy);
    EXPECT_EQ(result->networks[0].name, "b");
    EXPECT_EQ(result->networks[0].ageing_time, 300U);
    EXPECT_EQ(result->networks[0].fdb_limit, 16384U);
    EXPECT_EQ(result->networks[1].fdb_limit, 0U);
    EXPECT_EQ(result->networks[1].group_forward_mask, 0x4008);
    EXPECT_EQ(result->ports[0].name, "y");
}

TEST(Validate, AllProblemsAtOnce) {
    EXPECT_THAT(problems("settings: {workers: 65}\n"
                         "networks: [{name: '-', ageing_time: 9, fdb_limit: 1000001}]\n"
                         "ports: [{name: x, tap: {}, network: blue}]"),
                ElementsAre("ports[0].network: no network is named \"blue\"",
                            "settings.workers: must be 1 to 64, is 65",
                            "networks[0].name: must begin with a letter or digit",
                            "networks[0].ageing_time: must be 10 to 1000000, is 9",
                            "networks[0].fdb_limit: must be 0 to 131072, is 1000001"));
}

TEST(Validate, NamesAreUniquePerKind) {
    EXPECT_THAT(problems("networks: [{name: a}, {name: a}]\n"
                         "ports: [{name: a, tap: {}}, {name: a, tap: {interface: b}}]"),
                ElementsAre("networks[1].name: \"a\" is also the name of networks[0]",
                            "ports[1].name: \"a\" is also the name of ports[0]"));
}

TEST(Validate, ReferencesMustResolve) {
    EXPECT_THAT(
        problems("networks: [{name: blue, static_fdb: [{mac: 02:00:00:00:00:01, port: wbe}]}]\n"
                 "ports: [{name: web, tap: {}, network: bleu, vlans: [{vlan: 1, network: zzz}]}]"),
        ElementsAre(
            "networks[0].static_fdb[0].port: no port is named \"wbe\"; did you mean \"web\"?",
            "ports[0].network: no network is named \"bleu\"; did you mean \"blue\"?",
            "ports[0].vlans[0].network: no network is named \"zzz\""));
}

TEST(Validate, GroupForwardMask) {
    EXPECT_THAT(problems("networks: [{name: a, group_forward_mask: 1}]"),
                ElementsAre(HasSubstr("bits 0 (spanning tree)")));
    EXPECT_THAT(problems("networks: [{name: a, group_forward_mask: 0x10000}]"),
                ElementsAre(HasSubstr("at most 0xffff")));
    EXPECT_THAT(problems("networks: [{name: a, group_forward_mask: 0xfff8}]"), IsEmpty());
}

TEST(Validate, DeviceBelongsToOnePort) {
    EXPECT_THAT(problems("ports:\n"
                         "- {name: a, tap: {interface: eth0, namespace: c1}}\n"
                         "- {name: b, tap: {interface: eth0, namespace: /run/netns/c1}}\n"
                         "- {name: c, tap: {interface: eth0, namespace: c2}}\n"
                         "- {name: d, netdev: {interface: eth0}}\n"
                         "- {name: e, tap: {interface: eth0}}\n"
                         "- {name: f, ethdev: {devargs: 'net_null0,size=64'}}\n"
                         "- {name: g, ethdev: {devargs: net_null0}}\n"),
                ElementsAre("ports[1]: interface eth0 in /run/netns/c1 is also that of ports[0]",
                            "ports[4]: interface eth0 is also that of ports[3]",
                            "ports[6]: device net_null0 is also that of ports[5]"));
}

/// A network with one static entry, at a port that carries it untagged and as VLAN 7.
std::string with_static_entry(const std::string& entry) {
    return "networks: [{name: blue, static_fdb: [{" + entry +
           "}]}, {name: red}]\n"
           "ports:\n"
           "- {name: trunk, tap: {}, network: blue, vlans: [{vlan: 7, network: blue}, {vlan: 8, "
           "network: "
           "red}]}\n"
           "- {name: access, tap: {}, network: blue}\n"
           "- {name: other, tap: {}, network: red}\n";
}

TEST(StaticFdb, TagIsResolved) {
    const auto vlan_of = [](const std::string& entry) {
        const auto result = validate(from_yaml(with_static_entry(entry)));
        EXPECT_TRUE(result.has_value()) << testing::PrintToString(to_strings(result.error()));
        return result.has_value() ? result->networks[0].static_fdb.at(0).vlan : 9999;
    };
    EXPECT_EQ(vlan_of("mac: 02:00:00:00:00:01, port: access"), kUntagged);
    EXPECT_EQ(vlan_of("mac: 02:00:00:00:00:01, port: access, vlan: 0"), kUntagged);
    EXPECT_EQ(vlan_of("mac: 02:00:00:00:00:01, port: trunk, vlan: 0"), kUntagged);
    EXPECT_EQ(vlan_of("mac: 02:00:00:00:00:01, port: trunk, vlan: 7"), 7);
}

TEST(StaticFdb, Problems) {
    const auto only = [](const std::string& entry) {
        const auto found = problems(with_static_entry(entry));
        return found.size() == 1 ? found[0] : testing::PrintToString(found);
    };
    EXPECT_EQ(only("mac: 02:00:00:00:00:01, port: other"),
              "networks[0].static_fdb[0].port: port \"other\" does not carry network \"blue\"");
    EXPECT_EQ(only("mac: 02:00:00:00:00:01, port: trunk"),
              "networks[0].static_fdb[0].vlan: must be given: port \"trunk\" carries network "
              "\"blue\" more "
              "than once: untagged, VLAN 7");
    EXPECT_EQ(
        only("mac: 02:00:00:00:00:01, port: trunk, vlan: 8"),
        "networks[0].static_fdb[0].vlan: port \"trunk\" does not carry network \"blue\" under VLAN "
        "8, but: untagged, VLAN 7");
    EXPECT_THAT(only("mac: 03:00:00:00:00:01, port: access"), HasSubstr("multicast"));
    EXPECT_THAT(only("mac: 02:00:00:00:00:01"), HasSubstr("static_fdb[0].port: must be given"));
    EXPECT_THAT(only("port: access"), HasSubstr("static_fdb[0].mac: must be given"));
    EXPECT_THAT(
        only("mac: 02:00:00:00:00:01, port: access}, {mac: 02:00:00:00:00:01, port: access"),
        HasSubstr("static_fdb[1].mac: 02:00:00:00:00:01 is given twice"));
}

TEST(Validate, MoreObjectsThanTheTablesHold) {
    v1::Topology topology;
    for (int i = 0; i < 4096; ++i)
        topology.add_ports();
    EXPECT_THAT(problems(topology), ElementsAre("ports: 4096 ports, at most 4095"));
    topology = from_yaml("ports: [{name: a, tap: {}}]");
    for (int i = 0; i < 262144; ++i)
        topology.mutable_ports(0)->add_vlans();
    EXPECT_THAT(problems(topology), ElementsAre(HasSubstr("262144 attachments")));
}

TEST(Validate, UnknownEnumValueOfANewerClientIsRefused) {
    v1::Topology topology;
    topology.mutable_settings()->set_polling(static_cast<v1::Settings::Polling>(7));
    EXPECT_THAT(problems(topology), ElementsAre("settings.polling: must be ADAPTIVE or BUSY"));
}

}  // namespace
}  // namespace heddle::model
