#include "model/names.h"

#include <gtest/gtest.h>

namespace heddle::model {
namespace {

TEST(ObjectName, AllowedAndNot) {
    for (const char* name : {"a", "web-1", "Web.1_x", "0", "123"}) {
        EXPECT_FALSE(object_name_problem(name)) << name;
    }
    EXPECT_FALSE(object_name_problem(std::string(63, 'a')));
    for (const char* name : {"", "-a", ".", "_a", "a b", "a/b", "\u00e9", "a\n"}) {
        EXPECT_TRUE(object_name_problem(name)) << name;
    }
    EXPECT_TRUE(object_name_problem(std::string(64, 'a')));
}

TEST(InterfaceName, FollowsTheKernel) {
    for (const char* name : {"eth0", "a", "veth-1.100", "123456789012345", "@home"}) {
        EXPECT_FALSE(interface_name_problem(name)) << name;
    }
    for (const char* name :
         {"", ".", "..", "a/b", "a b", "a:1", "tap%d", "1234567890123456", "\u00e9"}) {
        EXPECT_TRUE(interface_name_problem(name)) << name;
    }
}

TEST(Netns, AllowedAndNot) {
    for (const char* name : {"c1", "cni-1234", "/run/netns/c1", "/proc/17/ns/net"}) {
        EXPECT_FALSE(netns_problem(name)) << name;
    }
    EXPECT_TRUE(netns_problem("a/b"));
    EXPECT_TRUE(netns_problem(".."));
    EXPECT_TRUE(netns_problem("a b"));
    EXPECT_TRUE(netns_problem(std::string(256, 'a')));
    EXPECT_TRUE(netns_problem('/' + std::string(4095, 'a')));
}

TEST(Netns, AllWaysToWriteOneAreTheSamePath) {
    EXPECT_EQ(netns_path(""), "");
    for (const char* text : {"c1", "/run/netns/c1", "/var/run/netns/c1", "/run//netns/./c1",
                             "/run/netns/../netns/c1"}) {
        EXPECT_EQ(netns_path(text), "/run/netns/c1") << text;
    }
    EXPECT_EQ(netns_path("/proc/17/ns/net"), "/proc/17/ns/net");
}

}  // namespace
}  // namespace heddle::model
