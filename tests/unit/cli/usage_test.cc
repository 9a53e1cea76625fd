#include "cli_fixture.h"

namespace heddle::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Usage : public CliTest {};

TEST_F(Usage, HelpAndVersionAreNoMistakes) {
    EXPECT_EQ(run({"--help"}).status, 0);
    EXPECT_EQ(run({"apply", "--help"}).status, 0);
    EXPECT_THAT(run({"--version"}).out, HasSubstr("heddle 0."));
    EXPECT_THAT(run({"--help"}).out, Not(HasSubstr("__complete")));
}

TEST_F(Usage, MistakesAreStatusTwo) {
    EXPECT_EQ(run({}).status, 2);
    EXPECT_EQ(run({"frobnicate"}).status, 2);
    EXPECT_EQ(run({"apply"}).status, 2);
    EXPECT_EQ(run({"status", "--bogus"}).status, 2);
    EXPECT_EQ(run({"completion", "csh"}).status, 2);
}

TEST_F(Usage, SocketMayStandBehindTheCommand) {
    EXPECT_EQ(run({"status", "--socket", directory_ / "other"}).status, 2);
    EXPECT_EQ(run({"status"}).status, 0);
}

TEST_F(Usage, NoDaemonIsExplainedWithoutJargon) {
    server_.reset();
    for (const auto& command : std::vector<std::vector<std::string>>{
             {"status"}, {"get", "ports"}, {"drops"}, {"watch"}, {"delete", "port", "x"}}) {
        const Outcome outcome = run(command);
        EXPECT_EQ(outcome.status, 2);
        EXPECT_THAT(outcome.err, HasSubstr("systemctl start heddled"));
        EXPECT_THAT(outcome.err, HasSubstr(socket_));
        EXPECT_THAT(outcome.err, Not(HasSubstr("UNAVAILABLE")));
    }
}

TEST_F(Usage, OutputThatCannotBeWrittenIsAFailure) {
    std::istringstream in;
    std::ostringstream err;
    std::ofstream full("/dev/full");
    Environment environment{in, full, err, false, {}};
    EXPECT_EQ(cli::run({"completion", "bash"}, environment), 2);
    EXPECT_THAT(err.str(), HasSubstr("could not be written"));
}

TEST_F(Usage, BashScriptAsksTheProgram) {
    EXPECT_THAT(run({"completion", "bash"}).out, HasSubstr("__complete"));
}

}  // namespace
}  // namespace heddle::cli
