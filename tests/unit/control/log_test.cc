#include "control/log.h"

#include <gtest/gtest.h>

#include "control/log_limit.h"

namespace heddle::control {
namespace {

using std::chrono::seconds;

TEST(Log, LineIsLogfmt) {
    EXPECT_EQ(format_log(LogLevel::info, "ready",
                         {{"socket", "/run/x"}, {"mtu", 1500}, {"ok", true}}, false),
              "level=info event=ready socket=/run/x mtu=1500 ok=true");
}

TEST(Log, ValuesThatCouldBeMistakenAreQuoted) {
    EXPECT_EQ(format_log(LogLevel::error, "start",
                         {{"a", "x y"}, {"b", ""}, {"c", "k=v"}, {"d", "1\n2"}}, false),
              R"(level=error event=start a="x y" b="" c="k=v" d="1\n2")");
}

TEST(Log, JournaldGetsThePriority) {
    EXPECT_EQ(format_log(LogLevel::error, "x", {}, true), "<3>level=error event=x");
    EXPECT_EQ(format_log(LogLevel::warning, "x", {}, true), "<4>level=warning event=x");
    EXPECT_EQ(format_log(LogLevel::info, "x", {}, true), "<6>level=info event=x");
    EXPECT_EQ(format_log(LogLevel::debug, "x", {}, true), "<7>level=debug event=x");
}

TEST(Log, WritesOneLineToStandardError) {
    testing::internal::CaptureStderr();
    log_debug("hidden");
    log_warning("seen", {{"n", 1}});
    const std::string written = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(written.ends_with("level=warning event=seen n=1\n")) << written;
    EXPECT_EQ(written.find("hidden"), written.npos);
}

TEST(LogLimit, OneLinePerKeyAndIntervalWithCountOfTheOthers) {
    LogLimit limit(seconds(10));
    const LogLimit::Clock::time_point start{};
    EXPECT_EQ(limit.admit("a", start), 0U);
    EXPECT_EQ(limit.admit("a", start + seconds(1)), std::nullopt);
    EXPECT_EQ(limit.admit("b", start + seconds(1)), 0U);
    EXPECT_EQ(limit.admit("a", start + seconds(9)), std::nullopt);
    EXPECT_EQ(limit.admit("a", start + seconds(10)), 2U);
    EXPECT_EQ(limit.admit("a", start + seconds(20)), 0U);
}

TEST(LogLimit, KeysAreBounded) {
    LogLimit limit(seconds(10));
    const LogLimit::Clock::time_point start{};
    size_t admitted = 0;
    for (int i = 0; i < 5000; ++i)
        admitted += limit.admit(std::to_string(i), start) ? 1 : 0;
    EXPECT_EQ(admitted, 1024U);
    EXPECT_EQ(limit.admit("new", start + seconds(10)), 0U) << "old keys make room";
}

}  // namespace
}  // namespace heddle::control
