#include "cli_fixture.h"

namespace heddle::cli {
namespace {

using ::testing::HasSubstr;

class Delete : public CliTest {
 protected:
    void SetUp() override {
        CliTest::SetUp();
        desire(
            "networks: [{name: blue}, {name: red}]\n"
            "ports: [{name: web, tap: {}, network: blue}, {name: db, tap: {}}]");
    }
};

TEST_F(Delete, ByKindAndName) {
    const Outcome outcome = run({"delete", "port", "web", "db"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "port web deleted\nport db deleted\n");
    EXPECT_EQ(controller_.desired.ports_size(), 0);
}

TEST_F(Delete, ByFile) {
    const Outcome outcome =
        run({"delete", "-f", "-"}, "networks: [{name: blue}]\nports: [{name: web}]");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "port web deleted\nnetwork blue deleted\n");
}

TEST_F(Delete, DryRun) {
    EXPECT_THAT(run({"delete", "networks", "red", "--dry-run"}).out, HasSubstr("- network red\n"));
    EXPECT_EQ(controller_.desired.networks_size(), 2);
}

TEST_F(Delete, RefusalSaysWhy) {
    const Outcome outcome = run({"delete", "network", "blue", "green"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.err,
              "no network is named \"green\"\n"
              "network \"blue\" is in use by port \"web\" (network)\n"
              "heddle: nothing was changed\n");
}

TEST_F(Delete, WrongUsage) {
    EXPECT_EQ(run({"delete"}).status, 2);
    EXPECT_EQ(run({"delete", "port"}).status, 2);
    EXPECT_EQ(run({"delete", "port", "web", "-f", "x"}).status, 2);
    const Outcome outcome = run({"delete", "fdb", "x"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr("kinds: ports, networks"));
}

}  // namespace
}  // namespace heddle::cli
