#include <gmock/gmock.h>

#include "api/text.h"

namespace heddle::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// All problems of `text` as "line: path: message".
template <typename Message = v1::Topology>
std::vector<std::string> problems(std::string_view text) {
    const auto parsed = parse<Message>(text);
    std::vector<std::string> lines;
    if (parsed.has_value()) return lines;
    for (const v1::Problem& problem : parsed.error()) {
        lines.push_back(std::to_string(problem.line()) + ": " + problem.path() + ": " +
                        problem.message());
    }
    return lines;
}

v1::Topology topology(std::string_view text) {
    auto parsed = parse<v1::Topology>(text);
    EXPECT_TRUE(parsed.has_value()) << testing::PrintToString(problems(text));
    return parsed.value_or(v1::Topology());
}

v1::Port port(const std::string& fields) {
    const v1::Topology parsed = topology("ports: [{" + fields + "}]");
    return parsed.ports_size() == 1 ? parsed.ports(0) : v1::Port();
}

TEST(TextRead, EmptyDocumentIsTheEmptyMessage) {
    EXPECT_EQ(topology("").ByteSizeLong(), 0U);
    EXPECT_EQ(topology("# nothing yet\n").ByteSizeLong(), 0U);
    EXPECT_EQ(topology("{}").ByteSizeLong(), 0U);
}

TEST(TextRead, MissingListOrMessageIsEmpty) {
    EXPECT_EQ(topology("networks:\nports:\n").ByteSizeLong(), 0U);
    EXPECT_EQ(port("tap: ").device_case(), v1::Port::kTap) << "a tap with all its defaults";
}

TEST(TextRead, ValuesOfAllTypes) {
    const v1::Topology parsed = topology(R"(
settings: {workers: 2, polling: BUSY}
networks:
  - name: blue
    vlan_transparent: true
    group_forward_mask: 0x4008
    static_fdb: [{mac: 02:00:00:00:00:01, port: web}]
ports:
  - name: 'web'
    tap:
      addresses:
        - 10.0.0.1/24
        - fd00::1/64
)");
    EXPECT_EQ(parsed.settings().workers(), 2U);
    EXPECT_EQ(parsed.settings().polling(), v1::Settings::BUSY);
    EXPECT_TRUE(parsed.networks(0).vlan_transparent());
    EXPECT_EQ(parsed.networks(0).group_forward_mask(), 0x4008U);
    EXPECT_EQ(parsed.networks(0).static_fdb(0).mac(), "02:00:00:00:00:01");
    EXPECT_EQ(parsed.ports(0).tap().addresses(1), "fd00::1/64");
}

TEST(TextRead, StringMayLookLikeSomethingElse) {
    EXPECT_EQ(port("name: 123").name(), "123");
    EXPECT_EQ(port("name: true").name(), "true");
    EXPECT_EQ(port("name: 1.50").name(), "1.50");
    EXPECT_EQ(port("tap: {mac: 00:11:22:33:44:55}").tap().mac(), "00:11:22:33:44:55");
    EXPECT_EQ(port("tap: {mac: 10:20:30:40:50:10}").tap().mac(), "10:20:30:40:50:10")
        << "a number to base 60 in YAML 1.1";
}

TEST(TextRead, ExplicitDefaultIsPresent) {
    EXPECT_FALSE(port("name: a").has_storm_limit_pps());
    EXPECT_TRUE(port("storm_limit_pps: 0").has_storm_limit_pps());
}

TEST(TextRead, JsonIsReadAsIs) {
    const v1::Topology parsed = topology(
        "{\n\t\"networks\":[\n\t\t{\"name\":\"bl\\u0075e\",\"ageing_time\":10,\"vlan_transparent\":"
        "true}\r\n"
        "\t],\"ports\":[{\"name\":\"a\",\"ethdev\":{\"devargs\":\"a\\/b\\\"\\\\\\n\\t\"}},\n"
        "\t\t{\"name\":\"b\"}]}\n");
    EXPECT_EQ(parsed.networks(0).name(), "blue");
    EXPECT_EQ(parsed.networks(0).ageing_time(), 10U);
    EXPECT_EQ(parsed.ports(0).ethdev().devargs(), "a/b\"\\\n\t");
    EXPECT_EQ(parsed.ports(1).name(), "b");
}

/// The one thing of JSON that YAML has not. Such characters are legal in no value of ours; a text
/// may have them as they are.
TEST(TextRead, JsonSurrogateEscapeIsRefused) {
    EXPECT_THAT(problems("{\"name\": \"\\ud83d\\ude00\"}"),
                ElementsAre(HasSubstr("invalid unicode")));
    EXPECT_EQ(port("\"name\": \"\U0001f600\"").name(), "\U0001f600");
}

TEST(TextRead, AllProblemsAtOnceWithPathAndLine) {
    EXPECT_THAT(
        problems("ports:\n"
                 "  - name: a\n"
                 "    mtu: big\n"
                 "    netwrok: blue\n"
                 "  - name: b\n"
                 "    queues: -1\n"
                 "    tap: {mac: [1]}\n"
                 "bogus: 1\n"),
        ElementsAre("3: ports[0].mtu: expected a number, got \"big\"",
                    "4: ports[0]: unknown field \"netwrok\"; did you mean \"network\"?",
                    "6: ports[1].queues: must not be negative, got \"-1\"",
                    "7: ports[1].tap.mac: expected one value, got a list",
                    "8: : unknown field \"bogus\"; known are settings, networks, ports, routers"));
}

TEST(TextRead, WrongTypes) {
    const auto only = [](const std::string& fields) {
        const auto found = problems("ports: [{" + fields + "}]");
        return found.size() == 1 ? found[0] : testing::PrintToString(found);
    };
    EXPECT_EQ(
        only("mtu: \"1500\""),
        "1: ports[0].mtu: expected a number, got the string \"1500\"; write it without quotes");
    EXPECT_EQ(only("mtu: 1500.5"), "1: ports[0].mtu: expected a whole number, got \"1500.5\"");
    EXPECT_EQ(only("mtu: 1e3"), "1: ports[0].mtu: expected a whole number, got \"1e3\"");
    EXPECT_EQ(only("mtu: 4294967296"),
              "1: ports[0].mtu: must be at most 4294967295, got \"4294967296\"");
    EXPECT_THAT(only("mtu: 99999999999999999999999"), HasSubstr("must be at most 4294967295"));
    EXPECT_THAT(only("mtu: -99999999999999999999999"), HasSubstr("must not be negative"));
    EXPECT_THAT(only("mtu: 0x"), HasSubstr("expected a number"));
    EXPECT_THAT(only("mtu: 12monkeys"), HasSubstr("expected a number"));
    EXPECT_THAT(only("mtu: 010"), HasSubstr("without leading zeros"));
    EXPECT_THAT(only("mtu: "), HasSubstr("has no value"));
    EXPECT_THAT(only("name: ~"), HasSubstr("has no value"));
    EXPECT_THAT(only("isolated: yes"), HasSubstr("expected true or false, got \"yes\""));
    EXPECT_THAT(only("isolated: \"true\""), HasSubstr("expected true or false, got the string"));
    EXPECT_THAT(only("vlans: {vlan: 1}"), HasSubstr("expected a list, got a map"));
    EXPECT_THAT(only("tap: [a]"), HasSubstr("expected a map of fields, got a list"));
    EXPECT_THAT(only("tap: {addresses: [~]}"),
                HasSubstr("ports[0].tap.addresses[0]: has no value"));
    EXPECT_THAT(only("name: \"a\\0b\""), HasSubstr("NUL"));
    EXPECT_THAT(problems("settings: {polling: busy}"),
                ElementsAre("1: settings.polling: expected one of ADAPTIVE, BUSY, got \"busy\""));
    EXPECT_THAT(problems("[1]"), ElementsAre("1: : expected a map of fields, got a list"));
    EXPECT_THAT(problems("text"), ElementsAre("1: : expected a map of fields, got \"text\""));
}

TEST(TextRead, SignedNumbersAndTheirLimits) {
    EXPECT_EQ(parse<v1::Status>("pid: -2147483648")->pid(), INT32_MIN);
    EXPECT_THAT(problems<v1::Status>("pid: -2147483649"),
                ElementsAre(HasSubstr("at least -2147483648")));
    EXPECT_THAT(problems<v1::Status>("pid: 2147483648"),
                ElementsAre(HasSubstr("at most 2147483647")));
    EXPECT_EQ(parse<v1::Status>("uptime_seconds: 18446744073709551615")->uptime_seconds(),
              UINT64_MAX);
    EXPECT_THAT(problems<v1::Status>("uptime_seconds: 18446744073709551616"), testing::SizeIs(1));
    EXPECT_EQ(parse<v1::Status>("pid: -0")->pid(), 0);
}

TEST(TextRead, RealNumbers) {
    EXPECT_EQ(parse<v1::QueueState>("load: 1")->load(), 1.0);
    EXPECT_EQ(parse<v1::QueueState>("load: -2.5e-3")->load(), -2.5e-3);
    EXPECT_THAT(problems<v1::QueueState>("load: inf"), testing::SizeIs(1));
    EXPECT_THAT(problems<v1::QueueState>("load: 1e999"), testing::SizeIs(1));
    EXPECT_THAT(problems<v1::QueueState>("load: half"), testing::SizeIs(1));
}

TEST(TextRead, DuplicateKeyIsRefused) {
    EXPECT_THAT(problems("ports: []\nports: []\n"),
                ElementsAre("2: ports: given twice, first in line 1"));
    EXPECT_THAT(problems("{\"ports\":[{\"mtu\":1,\"mtu\":2}]}"),
                ElementsAre("1: ports[0].mtu: given twice, first in line 1"));
}

TEST(TextRead, TwoMembersOfAOneofAreRefused) {
    EXPECT_THAT(
        problems("ports:\n- tap: {}\n  netdev: {}\n"),
        ElementsAre("3: ports[0].netdev: excludes \"tap\", which is also given: a device is "
                    "one of them"));
}

TEST(TextRead, MergeKeysAreExplained) {
    EXPECT_THAT(problems("ports:\n- &base {mtu: 9000}\n- {<<: *base, name: b}\n"),
                ElementsAre(HasSubstr("merge keys")));
}

TEST(TextRead, ManyProblemsAreCounted) {
    std::string text = "ports:\n";
    for (int i = 0; i < 1000; ++i)
        text += "- bogus: 1\n";
    const auto found = problems(text);
    ASSERT_EQ(found.size(), ProblemList::kMax + 1);
    EXPECT_EQ(found.back(), "0: : and 800 more problems");
}

}  // namespace
}  // namespace heddle::api
