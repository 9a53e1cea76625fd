#include "model/plan.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>

#include "from_yaml.h"
#include "model/validate.h"

namespace heddle::model {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::StartsWith;

/// "UPDATE port web (mtu: 1 -> 2)"
std::vector<std::string> changes_of(const std::vector<v1::Change>& changes) {
    std::vector<std::string> lines;
    for (const v1::Change& change : changes) {
        std::string line =
            v1::Change::Action_Name(change.action()) + " " + change.kind() + " " + change.name();
        for (const std::string& detail : change.details())
            line += " (" + detail + ")";
        lines.push_back(line);
    }
    return lines;
}

const char* const kCurrent = R"(
settings: {workers: 2}
networks: [{name: blue}, {name: red, static_fdb: [{mac: 02:00:00:00:00:01, port: db}]}]
ports:
  - {name: web, tap: {}, network: blue, mtu: 1500}
  - {name: db, tap: {}, network: red}
)";

TEST(PlanApply, SameFileTwiceChangesNothing) {
    const auto document = from_yaml(kCurrent);
    for (const bool replace : {false, true}) {
        const Plan first = plan_apply({}, document, replace);
        EXPECT_THAT(changes_of(first.changes), Each(StartsWith("CREATE ")));
        const Plan second = plan_apply(first.topology, document, replace);
        EXPECT_THAT(
            changes_of(second.changes),
            ElementsAre("UNCHANGED settings ", "UNCHANGED network blue", "UNCHANGED network red",
                        "UNCHANGED port web", "UNCHANGED port db"));
        EXPECT_TRUE(MessageDifferencer::Equals(second.topology, document));
    }
}

TEST(PlanApply, MergesByNameAndReplacesWholeObjects) {
    const Plan plan = plan_apply(from_yaml(kCurrent),
                                 from_yaml("networks: [{name: green}]\n"
                                           "ports: [{name: web, tap: {}, network: green}]"),
                                 false);
    EXPECT_THAT(changes_of(plan.changes),
                ElementsAre("CREATE network green",
                            "UPDATE port web (mtu: 1500 -> unset) (network: blue -> green)"));
    ASSERT_EQ(plan.topology.networks_size(), 3);
    ASSERT_EQ(plan.topology.ports_size(), 2);
    EXPECT_EQ(plan.topology.ports(0).network(), "green");
    EXPECT_FALSE(plan.topology.ports(0).has_mtu());
    EXPECT_EQ(plan.topology.settings().workers(), 2U) << "absent: untouched";
}

TEST(PlanApply, SettingsAreReplacedAsAWhole) {
    const Plan plan =
        plan_apply(from_yaml(kCurrent), from_yaml("settings: {polling: BUSY}"), false);
    EXPECT_THAT(changes_of(plan.changes),
                ElementsAre("UPDATE settings  (workers: 2 -> unset) (polling: ADAPTIVE -> BUSY)"));
}

TEST(PlanApply, ReplaceDeletesWhatIsAbsent) {
    const auto request = from_yaml(
        "ports: [{name: new, tap: {}}, {name: db, tap: {}, network: red}]\n"
        "networks: [{name: red}]");
    const Plan plan = plan_apply(from_yaml(kCurrent), request, true);
    EXPECT_THAT(
        changes_of(plan.changes),
        ElementsAre("DELETE settings ", "UPDATE network red (static_fdb: -02:00:00:00:00:01,db)",
                    "CREATE port new", "UNCHANGED port db", "DELETE network blue",
                    "DELETE port web"));
    EXPECT_TRUE(MessageDifferencer::Equals(plan.topology, request));
}

TEST(PlanApply, ProblemsHaveThePathOfTheRequestOrTheNameOfTheObject) {
    const Plan plan = plan_apply(from_yaml(kCurrent),
                                 from_yaml("ports:\n"
                                           "- {name: zoo, tap: {}, mtu: 1}\n"
                                           "- {name: db, tap: {}, network: blue}"),
                                 false);
    const auto result = validate(plan.topology, plan.paths);
    ASSERT_FALSE(result.has_value());
    EXPECT_THAT(
        to_strings(result.error()),
        testing::UnorderedElementsAre(
            "ports[0].mtu: must be 68 to 65521, is 1",
            "networks[\"red\"].static_fdb[0].port: port \"db\" does not carry network \"red\""));
}

TEST(PlanApply, NameGivenTwiceIsRefusedLater) {
    const Plan plan = plan_apply(
        from_yaml(kCurrent),
        from_yaml("networks: [{name: blue}, {name: blue}, {name: n}, {name: n}]"), false);
    const auto result = validate(plan.topology, plan.paths);
    ASSERT_FALSE(result.has_value());
    EXPECT_THAT(to_strings(result.error()),
                ElementsAre("networks[1].name: \"blue\" is also the name of networks[0]",
                            "networks[3].name: \"n\" is also the name of networks[2]"));
}

v1::DeleteRequest names(const std::vector<std::pair<std::string, std::string>>& objects) {
    v1::DeleteRequest request;
    for (const auto& [kind, name] : objects) {
        request.add_objects()->set_kind(kind);
        request.mutable_objects()->rbegin()->set_name(name);
    }
    return request;
}

TEST(PlanDelete, RemovesAndKeepsTheRest) {
    const auto plan = plan_delete(from_yaml(kCurrent),
                                  names({{"port", "web"}, {"network", "blue"}, {"port", "web"}}));
    ASSERT_TRUE(plan.has_value());
    EXPECT_THAT(changes_of(plan->changes), ElementsAre("DELETE port web", "DELETE network blue"));
    EXPECT_EQ(plan->topology.networks_size(), 1);
    EXPECT_EQ(plan->topology.ports_size(), 1);
    EXPECT_EQ(plan->topology.settings().workers(), 2U);
    EXPECT_TRUE(validate(plan->topology).has_value());
}

TEST(PlanDelete, RefusesWhatIsUsed) {
    const auto plan =
        plan_delete(from_yaml(kCurrent), names({{"network", "blue"}, {"port", "db"}}));
    ASSERT_FALSE(plan.has_value());
    EXPECT_THAT(
        to_strings(plan.error()),
        ElementsAre("objects[1]: port \"db\" is in use by network \"red\" (static_fdb[0].port)",
                    "objects[0]: network \"blue\" is in use by port \"web\" (network)"));
}

TEST(PlanDelete, RefusesUnknownKindsAndNames) {
    const auto plan = plan_delete(from_yaml(kCurrent),
                                  names({{"tunnel", "a"}, {"port", "nobody"}, {"port", "web"}}));
    ASSERT_FALSE(plan.has_value());
    EXPECT_THAT(
        to_strings(plan.error()),
        ElementsAre("objects[0].kind: unknown kind \"tunnel\"; known are network, port, router",
                    "objects[1]: no port is named \"nobody\""));
}

}  // namespace
}  // namespace heddle::model
