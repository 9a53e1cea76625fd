#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>

#include <set>

#include "api/text.h"
#include "random_message.h"

namespace heddle::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::util::MessageDifferencer;

const char* const kYaml =
    R"(settings:
  workers: 2
  polling: BUSY
networks:
  - name: blue
    fdb_limit: 0
  - name: "2001-12-14"
ports:
  - name: web
    tap:
      mac: "00:11:22:33:44:55"
      addresses: [10.0.0.1/24, "fd00::1/64"]
    vlans:
      - vlan: 100
        network: blue
  - name: db
    netdev: {}
)";

TEST(TextWrite, YamlStandsInTheOrderOfTheSchema) {
    const auto parsed = parse<v1::Topology>(kYaml);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(to_yaml(*parsed), kYaml);
}

TEST(TextWrite, Json) {
    const auto parsed =
        parse<v1::Topology>("ports: [{name: web, tap: {addresses: [10.0.0.1/24]}}, {netdev: }]");
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(to_json(*parsed), R"({
  "ports": [
    {
      "name": "web",
      "tap": {
        "addresses": [
          "10.0.0.1/24"
        ]
      }
    },
    {
      "netdev": {}
    }
  ]
}
)");
}

TEST(TextWrite, NothingIsStillADocument) {
    EXPECT_EQ(to_yaml(v1::Topology()), "{}\n");
    EXPECT_EQ(to_json(v1::Topology()), "{}\n");
    EXPECT_EQ(to_yaml(std::span<const google::protobuf::Message* const>()), "[]\n");
    EXPECT_EQ(to_json(std::span<const google::protobuf::Message* const>()), "[]\n");
}

TEST(TextWrite, ListOfMessages) {
    v1::FdbEntry a;
    a.set_mac("02:00:00:00:00:01");
    v1::FdbEntry b;
    b.set_is_static(true);
    const google::protobuf::Message* const both[] = {&a, &b};
    EXPECT_EQ(to_yaml(both), "- mac: \"02:00:00:00:00:01\"\n- is_static: true\n");
    EXPECT_EQ(to_json(both),
              "[\n  {\n    \"mac\": \"02:00:00:00:00:01\"\n  },\n"
              "  {\n    \"is_static\": true\n  }\n]\n");
}

TEST(TextWrite, SixtyFourBitNumbersKeepAllDigits) {
    v1::PortCounters counters;
    counters.set_rx_bytes(UINT64_MAX);
    EXPECT_EQ(to_json(counters), "{\n  \"rx_bytes\": 18446744073709551615\n}\n");
}

template <typename Message>
class RoundTrip : public testing::Test {};
using Messages =
    testing::Types<v1::Topology, v1::PortState, v1::Status, v1::Object, v1::ApplyRequest,
                   v1::ApplyResponse, v1::GetRequest, v1::WorkerState>;
TYPED_TEST_SUITE(RoundTrip, Messages);

TYPED_TEST(RoundTrip, RandomMessageComesBackFromBothTexts) {
    std::mt19937_64 random(20240229);
    for (int i = 0; i < 400; ++i) {
        TypeParam message;
        randomize(message, random);
        for (const std::string& text : {to_yaml(message), to_json(message)}) {
            const auto back = parse<TypeParam>(text);
            ASSERT_TRUE(back.has_value()) << back.error()[0].ShortDebugString() << "\n" << text;
            ASSERT_TRUE(MessageDifferencer::Equals(message, *back)) << text;
        }
    }
}

/// Texts know no maps, bytes, groups and no sint or fixed type's own form: whoever adds one to the
/// schema meets this test.
TEST(Schema, HasOnlyTypesThatHaveATextAndIsNotRecursive) {
    const google::protobuf::FileDescriptor& schema = *v1::Topology::descriptor()->file();
    std::function<void(const Descriptor&, std::set<const Descriptor*>)> walk =
        [&](const Descriptor& type, std::set<const Descriptor*> above) {
            ASSERT_TRUE(above.insert(&type).second) << type.full_name() << " contains itself";
            for (int i = 0; i < type.field_count(); ++i) {
                const FieldDescriptor& field = *type.field(i);
                EXPECT_FALSE(field.is_map()) << field.full_name();
                EXPECT_NE(field.type(), FieldDescriptor::TYPE_BYTES) << field.full_name();
                EXPECT_NE(field.type(), FieldDescriptor::TYPE_GROUP) << field.full_name();
                if (field.message_type() != nullptr) walk(*field.message_type(), above);
            }
        };
    for (int i = 0; i < schema.message_type_count(); ++i)
        walk(*schema.message_type(i), {});
}

}  // namespace
}  // namespace heddle::api
