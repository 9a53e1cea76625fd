#include "cli/human.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace heddle::cli {
namespace {

TEST(HumanCount, HasThreeDigitsAndAUnit) {
    EXPECT_EQ(human_count(0), "0");
    EXPECT_EQ(human_count(9999), "9999");
    EXPECT_EQ(human_count(10'000), "10.0k");
    EXPECT_EQ(human_count(12'345), "12.3k");
    EXPECT_EQ(human_count(999'499), "999k");
    EXPECT_EQ(human_count(999'500), "1.00M");
    EXPECT_EQ(human_count(4'560'000), "4.56M");
    EXPECT_EQ(human_count(9'994'999), "9.99M");
    EXPECT_EQ(human_count(9'995'001), "10.0M");
    EXPECT_EQ(human_count(UINT64_MAX), "18.4E");
}

TEST(HumanDuration, HasTwoUnits) {
    EXPECT_EQ(human_duration(0), "0s");
    EXPECT_EQ(human_duration(59), "59s");
    EXPECT_EQ(human_duration(725), "12m 5s");
    EXPECT_EQ(human_duration(12'000), "3h 20m");
    EXPECT_EQ(human_duration(446'400), "5d 4h");
}

TEST(HumanShare, IsPercent) {
    EXPECT_EQ(human_share(0.2564), "25.6%");
}

TEST(HumanTime, IsLocalWithMilliseconds) {
    setenv("TZ", "UTC", 1);  // NOLINT(concurrency-mt-unsafe): no other thread is there
    tzset();
    EXPECT_EQ(human_time(1'709'226'239'123'456'789), "2024-02-29 17:03:59.123");
}

}  // namespace
}  // namespace heddle::cli
