#include "model/difference.h"

#include <gmock/gmock.h>

#include "from_yaml.h"

namespace heddle::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <typename Message = v1::Port>
std::vector<std::string> between(const char* before, const char* after) {
    return difference(from_yaml<Message>(before), from_yaml<Message>(after));
}

TEST(Difference, EqualMessagesHaveNone) {
    EXPECT_THAT(between("{name: a, tap: {}, mtu: 5}", "{mtu: 5, name: a, tap: {}}"), IsEmpty());
}

TEST(Difference, Scalars) {
    EXPECT_THAT(between("mtu: 1500", "mtu: 9000"), ElementsAre("mtu: 1500 -> 9000"));
    EXPECT_THAT(between("{}", "mtu: 9000"), ElementsAre("mtu: unset -> 9000"));
    EXPECT_THAT(between("storm_limit_pps: 0", "{}"), ElementsAre("storm_limit_pps: 0 -> unset"));
    EXPECT_THAT(between("isolated: true", "{}"), ElementsAre("isolated: true -> false"));
    EXPECT_THAT(between("network: blue", "{}"), ElementsAre("network: blue -> unset"));
    EXPECT_THAT(between<v1::Settings>("{}", "polling: BUSY"),
                ElementsAre("polling: ADAPTIVE -> BUSY"));
}

TEST(Difference, DeviceOfAnotherKind) {
    EXPECT_THAT(between("tap: {mac: x}", "netdev: {}"), ElementsAre("device: tap -> netdev"));
    EXPECT_THAT(between("{}", "netdev: {}"), ElementsAre("device: unset -> netdev"));
}

TEST(Difference, NestedFieldsHaveTheirPath) {
    EXPECT_THAT(between("tap: {mac: x, namespace: c1}", "tap: {mac: y, persistent: true}"),
                ElementsAre("tap.namespace: c1 -> unset", "tap.mac: x -> y",
                            "tap.persistent: false -> true"));
}

TEST(Difference, Lists) {
    EXPECT_THAT(between("vlans: [{vlan: 1, network: a}, {vlan: 200, network: blue}]",
                        "vlans: [{vlan: 100, network: red}, {vlan: 1, network: a}]"),
                ElementsAre("vlans: +100:red -200:blue"));
    EXPECT_THAT(between("tap: {addresses: [a, b]}", "tap: {addresses: [b, a]}"),
                ElementsAre("tap.addresses: reordered"));
    EXPECT_THAT(between("tap: {addresses: [a, a]}", "tap: {addresses: [a]}"),
                ElementsAre("tap.addresses: -a"));
    EXPECT_THAT(between<v1::Network>("{}", "static_fdb: [{mac: 02:00:00:00:00:01, port: web}]"),
                ElementsAre("static_fdb: +02:00:00:00:00:01,web"));
}

TEST(Difference, LongListsAreCut) {
    v1::Port port;
    for (int i = 0; i < 300; ++i)
        port.mutable_tap()->add_addresses(std::to_string(1000 + i));
    v1::Port empty;
    empty.mutable_tap();
    const auto details = difference(empty, port);
    ASSERT_EQ(details.size(), 1U);
    EXPECT_THAT(details[0], testing::EndsWith(" +1009 +(290 more)"));
}

}  // namespace
}  // namespace heddle::model
