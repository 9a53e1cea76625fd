#include "api/suggest.h"

#include <gtest/gtest.h>

namespace heddle::api {
namespace {

const std::vector<std::string_view> kFields = {"name", "mtu", "network", "storm_limit_pps",
                                               "addresses"};

TEST(Nearest, FindsWhatWasMeant) {
    EXPECT_EQ(nearest("netwrok", kFields), "network");
    EXPECT_EQ(nearest("Name", kFields), "name");
    EXPECT_EQ(nearest("storm-limit-pps", kFields), "storm_limit_pps");
    EXPECT_EQ(nearest("storm_limit", kFields), "storm_limit_pps");
    EXPECT_EQ(nearest("adress", kFields), "addresses");
    EXPECT_EQ(nearest("mut", kFields), "mtu");
}

TEST(Nearest, FindsNothingForAnotherWord) {
    EXPECT_EQ(nearest("", kFields), "");
    EXPECT_EQ(nearest("bandwidth", kFields), "");
    EXPECT_EQ(nearest(std::string(100000, 'a'), kFields), "");
}

TEST(DidYouMean, IsAClauseOrNothing) {
    EXPECT_EQ(did_you_mean("netwrok", kFields), "; did you mean \"network\"?");
    EXPECT_EQ(did_you_mean("zzz", kFields), "");
}

}  // namespace
}  // namespace heddle::api
