#include "cli/complete.h"

#include "cli_fixture.h"

namespace heddle::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

class Complete : public CliTest {
 protected:
    void SetUp() override {
        CliTest::SetUp();
        for (const char* name : {"web1", "web2", "db"}) {
            controller_.observed.emplace_back().mutable_port()->set_name(name);
        }
        controller_.observed.emplace_back().mutable_network()->set_name("blue");
    }

    std::vector<std::string> words(const std::vector<std::string>& words) const {
        return complete(words, socket_);
    }
};

TEST_F(Complete, Commands) {
    EXPECT_THAT(words({"d"}), ElementsAre("delete", "drops"));
    EXPECT_THAT(words({}), IsSupersetOf({"apply", "status"}));
    EXPECT_THAT(words({"--socket", "/x", "st"}), ElementsAre("status"));
}

TEST_F(Complete, Kinds) {
    EXPECT_THAT(words({"get", ""}),
                ElementsAre("fdb", "neighbors", "networks", "next-hops", "ports", "routers",
                            "routes", "topology", "workers"));
    EXPECT_THAT(words({"delete", ""}), ElementsAre("networks", "ports", "routers"));
}

TEST_F(Complete, NamesFromTheDaemon) {
    EXPECT_THAT(words({"get", "ports", "w"}), ElementsAre("web1", "web2"));
    EXPECT_THAT(words({"delete", "port", "web1", "d"}), ElementsAre("db"));
    EXPECT_THAT(words({"get", "-o", "json", "net", ""}), ElementsAre("blue"));
    EXPECT_THAT(words({"get", "fdb", ""}), ElementsAre("blue"));
    EXPECT_THAT(words({"drops", "w"}), ElementsAre("web1", "web2"));
    EXPECT_THAT(words({"get", "workers", ""}), IsEmpty());
}

TEST_F(Complete, OptionsAndTheirValues) {
    EXPECT_THAT(words({"apply", "--r"}), ElementsAre("--replace"));
    EXPECT_THAT(words({"get", "-o", ""}), ElementsAre("json", "table", "wide", "yaml"));
    EXPECT_THAT(words({"apply", "-f", ""}), IsEmpty()) << "the shell completes files";
    EXPECT_THAT(words({"--so"}), ElementsAre("--socket"));
}

TEST_F(Complete, SocketOfTheLineIsUsed) {
    EXPECT_THAT(complete({"--socket", socket_, "get", "ports", "w"}, "/nowhere"),
                ElementsAre("web1", "web2"));
    EXPECT_THAT(complete({"get", "ports", "w"}, "/nowhere"), IsEmpty());
}

}  // namespace
}  // namespace heddle::cli
