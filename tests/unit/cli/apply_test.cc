#include "cli_fixture.h"

namespace heddle::cli {
namespace {

using ::testing::HasSubstr;

class Apply : public CliTest {};

const char* const kDocument =
    "networks:\n"
    "  - name: blue\n"
    "ports:\n"
    "  - name: web\n"
    "    tap: {}\n"
    "    network: blue\n";

TEST_F(Apply, SaysWhatItDidOneLinePerChange) {
    const std::string file = write_file("a.yaml", kDocument);
    Outcome outcome = run({"apply", "-f", file});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "network blue created\nport web created\n");
    EXPECT_EQ(outcome.err, "");

    outcome = run({"apply", "-f", file});
    EXPECT_EQ(outcome.out, "network blue unchanged\nport web unchanged\n");

    outcome = run({"apply", "-f", "-"}, "ports: [{name: web, tap: {}, mtu: 9000}]");
    EXPECT_EQ(outcome.out, "port web updated: mtu: unset -> 9000; network: blue -> unset\n");
}

TEST_F(Apply, JsonIsADocument) {
    EXPECT_EQ(run({"apply", "-f", "-"}, R"({"networks": [{"name": "blue"}]})").out,
              "network blue created\n");
}

TEST_F(Apply, DryRunShowsTheDifferenceAndChangesNothing) {
    desire("networks: [{name: old}]\nports: [{name: web, tap: {}, mtu: 1400}]");
    const Outcome outcome =
        run({"apply", "--dry-run", "--replace", "-f", write_file("a.yaml", kDocument)});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.out,
              "+ network blue\n"
              "~ port web\n"
              "    mtu: 1400 -> unset\n"
              "    network: unset -> blue\n"
              "- network old\n"
              "Nothing was changed: this was a dry run.\n");
    EXPECT_EQ(controller_.desired.networks(0).name(), "old");
}

TEST_F(Apply, ReplaceDeletesWhatIsAbsent) {
    desire("networks: [{name: old}]");
    EXPECT_THAT(run({"apply", "--replace", "-f", write_file("a.yaml", kDocument)}).out,
                HasSubstr("network old deleted\n"));
    EXPECT_EQ(controller_.desired.networks_size(), 1);
}

TEST_F(Apply, ProblemsOfTheTextHaveFileAndLine) {
    const std::string file = write_file("a.yaml", "ports:\n  - nmae: web\n    mtu: big\n");
    const Outcome outcome = run({"apply", "-f", file});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, file + ":2: ports[0]: unknown field \"nmae\"; did you mean \"name\"?\n" +
                               file + ":3: ports[0].mtu: expected a number, got \"big\"\n");
}

TEST_F(Apply, ProblemsTheDaemonFindsHaveFileAndLine) {
    desire(
        "networks: [{name: red, static_fdb: [{mac: 02:00:00:00:00:01, port: db}]}]\n"
        "ports: [{name: db, tap: {}, network: red}]");
    const std::string file = write_file("a.yaml",
                                        "ports:\n"
                                        "  - name: web\n"
                                        "    tap: {}\n"
                                        "    mtu: 1\n"
                                        "  - name: db\n"
                                        "    tap: {}\n");
    const Outcome outcome = run({"apply", "-f", file});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(
        outcome.err,
        file + ":4: ports[0].mtu: must be 68 to 65521, is 1\n" + file +
            ": networks[\"red\"].static_fdb[0].port: port \"db\" does not carry network \"red\"\n"
            "heddle: nothing was changed\n");
}

TEST_F(Apply, ProblemsOfTextAndMeaningComeTogether) {
    const std::string file = write_file("a.yaml",
                                        "ports:\n"
                                        "  - name: web\n"
                                        "    tapp: {}\n"
                                        "  - name: db\n"
                                        "    tap: {}\n"
                                        "    network: nowhere\n");
    const Outcome outcome = run({"apply", "-f", file});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.err, file + ":3: ports[0]: unknown field \"tapp\"; did you mean \"tap\"?\n" +
                               file + ":6: ports[1].network: no network is named \"nowhere\"\n")
        << "but not that the first port lacks a device";
}

TEST_F(Apply, WarningsAreShownAndAreNoFailure) {
    v1::Problem& warning = controller_.warnings.emplace_back();
    warning.set_path("ports[0]");
    warning.set_message("no interface is named \"veth1\" yet");
    const std::string file = write_file("a.yaml", kDocument);
    const Outcome outcome = run({"apply", "-f", file});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.err,
              "warning: " + file + ":4: ports[0]: no interface is named \"veth1\" yet\n");
}

TEST_F(Apply, FileThatCannotBeRead) {
    Outcome outcome = run({"apply", "-f", directory_ / "absent.yaml"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr("absent.yaml: No such file or directory"));
    outcome = run({"apply", "-f", directory_ / "."});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr("is a directory"));
}

TEST_F(Apply, TooLargeARequestIsExplained) {
    const std::string text = "networks: [{name: " + std::string(9U << 20U, 'n') + "}]";
    const Outcome outcome = run({"apply", "-f", "-"}, text);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, HasSubstr("larger than heddled takes"));
}

}  // namespace
}  // namespace heddle::cli
