#include "model/references.h"

#include <gmock/gmock.h>

#include "from_yaml.h"

namespace heddle::model {
namespace {

std::vector<std::string> references(const google::protobuf::Message& object) {
    std::vector<std::string> found;
    for_each_reference(object, [&](const Reference& reference) {
        found.push_back(reference.path + " = " + reference.kind.name + " " + reference.name);
    });
    return found;
}

TEST(Kinds, AreTheListsOfTheTopology) {
    ASSERT_EQ(kinds().size(), 3U);
    EXPECT_EQ(kinds()[0].name, "network");
    EXPECT_EQ(kinds()[1].name, "port");
    EXPECT_EQ(kinds()[2].name, "router");
    EXPECT_EQ(find_kind("port"), &kinds()[1]);
    EXPECT_EQ(find_kind("ports"), nullptr);
}

TEST(References, AreTheFieldsCalledLikeAKind) {
    EXPECT_THAT(references(from_yaml<v1::Port>(
                    "{name: a, network: blue, vlans: [{vlan: 5, network: red}], tap: {}}")),
                testing::ElementsAre("network = network blue", "vlans[0].network = network red"));
    EXPECT_THAT(references(from_yaml<v1::Network>("{name: a, static_fdb: [{port: x}, {mac: y}]}")),
                testing::ElementsAre("static_fdb[0].port = port x"));
}

}  // namespace
}  // namespace heddle::model
