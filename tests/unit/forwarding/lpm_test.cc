#include "forwarding/lpm.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace heddle::forwarding {
namespace {

using net::Ipv4Address;
using net::Ipv4Prefix;
using net::Ipv6Address;
using net::Ipv6Prefix;

Ipv4Prefix v4(const char* text) {
    return Ipv4Prefix::parse(text).value();
}
Ipv6Prefix v6(const char* text) {
    return Ipv6Prefix::parse(text).value();
}

// Symptom (a router in the field, after a route was withdrawn): hosts behind 10.60.7.0/25 are gone.
TEST(Lpm, WithdrawnCoveringRouteLeavesTheHalvesOfASubnetAlone) {
    LpmArena arena;
    Lpm<Ipv4Address> table(arena);
    table.set(v4("10.60.7.0/25"), 1);
    table.set(v4("10.60.0.0/23"), 2);
    table.set(v4("10.60.7.128/25"), 3);
    table.set(v4("10.60.0.0/20"), 4);
    EXPECT_EQ(table.lookup(Ipv4Address(10, 60, 8, 1)), 4u);
    EXPECT_EQ(table.erase(v4("10.60.0.0/20")), 4u);
    EXPECT_EQ(table.lookup(Ipv4Address(10, 60, 7, 1)), 1u);
    EXPECT_EQ(table.lookup(Ipv4Address(10, 60, 7, 129)), 3u);
    EXPECT_EQ(table.lookup(Ipv4Address(10, 60, 1, 1)), 2u);
    EXPECT_EQ(table.lookup(Ipv4Address(10, 60, 8, 1)), kNoNextHop);
}

TEST(Lpm, DefaultRouteErasedLastAnswersUntilThen) {
    LpmArena arena;
    Lpm<Ipv4Address> table(arena);
    table.set(v4("0.0.0.0/0"), 1);
    table.set(v4("10.0.0.0/24"), 2);
    EXPECT_EQ(table.erase(v4("10.0.0.0/24")), 2u);
    EXPECT_EQ(table.lookup(Ipv4Address(10, 0, 0, 1)), 1u);
    EXPECT_EQ(table.erase(v4("0.0.0.0/0")), 1u);
    EXPECT_EQ(table.lookup(Ipv4Address(10, 0, 0, 1)), kNoNextHop);
}

TEST(Lpm, DefaultRouteErasedFirstLeavesTheOthers) {
    LpmArena arena;
    Lpm<Ipv6Address> table(arena);
    table.set(v6("::/0"), 1);
    table.set(v6("2001:db8::/32"), 2);
    table.set(v6("2001:db8::1/128"), 3);
    EXPECT_EQ(table.erase(v6("::/0")), 1u);
    EXPECT_EQ(table.lookup(*Ipv6Address::parse("2001:db8::1")), 3u);
    EXPECT_EQ(table.lookup(*Ipv6Address::parse("2001:db8::2")), 2u);
    EXPECT_EQ(table.lookup(*Ipv6Address::parse("2001:db9::1")), kNoNextHop);
}

TEST(Lpm, ShortPrefixErasedGivesItsAddressesToTheNextLongerOne) {
    LpmArena arena;
    Lpm<Ipv4Address> table(arena);
    table.set(v4("0.0.0.0/0"), 1);
    table.set(v4("8.0.0.0/5"), 3);
    table.set(v4("0.0.0.0/3"), 2);
    EXPECT_EQ(table.lookup(Ipv4Address(9, 0, 0, 0)), 3u);
    EXPECT_EQ(table.lookup(Ipv4Address(16, 0, 0, 0)), 2u);
    table.erase(v4("8.0.0.0/5"));
    EXPECT_EQ(table.lookup(Ipv4Address(9, 0, 0, 0)), 2u);
    table.erase(v4("0.0.0.0/3"));
    EXPECT_EQ(table.lookup(Ipv4Address(9, 0, 0, 0)), 1u);
}

TEST(Lpm, TablesOfOneArenaKeepOutOfEachOther) {
    LpmArena arena;
    Lpm<Ipv4Address> red(arena);
    Lpm<Ipv4Address> blue(arena);
    red.set(v4("10.0.0.0/24"), 1);
    blue.set(v4("10.0.0.0/24"), 2);
    EXPECT_EQ(red.lookup(Ipv4Address(10, 0, 0, 1)), 1u);
    red.erase(v4("10.0.0.0/24"));
    arena.reclaim();
    EXPECT_EQ(red.lookup(Ipv4Address(10, 0, 0, 1)), kNoNextHop);
    EXPECT_EQ(blue.lookup(Ipv4Address(10, 0, 0, 1)), 2u);
}

// ---- Memory

template <typename Address>
double bytes_per_prefix(const std::vector<net::Prefix<Address>>& prefixes) {
    LpmArena arena;
    Lpm<Address> table(arena);
    for (const auto& prefix : prefixes) {
        table.set(prefix, 1);
        if (arena.retired_bytes() > 1'000'000) arena.reclaim();
    }
    arena.reclaim();
    return static_cast<double>(arena.bytes_in_use()) / static_cast<double>(table.size());
}

TEST(LpmMemory, RandomIpv4SubnetsTakeLessThanFortyBytesEach) {
    std::mt19937_64 random(1);
    std::vector<Ipv4Prefix> prefixes;
    for (size_t i = 0; i < 200'000; ++i) {
        const unsigned length = random() % 10 < 6 ? 24 : 16 + random() % 8;
        const net::be32_t address(static_cast<uint32_t>(random()) % 0xe0000000);
        prefixes.push_back(Ipv4Prefix(Ipv4Address(address), length).network());
    }
    EXPECT_LT(bytes_per_prefix(prefixes), 40.0);
}

TEST(LpmMemory, PagesOfALargeTableAreGivenBackWhenItIsEmptied) {
    LpmArena arena;
    Lpm<Ipv4Address> table(arena);
    std::mt19937_64 random(1);
    for (size_t i = 0; i < 100'000; ++i) {
        const net::be32_t address(static_cast<uint32_t>(random()));
        table.set(Ipv4Prefix(Ipv4Address(address), 24).network(), 1);
        if (arena.retired_bytes() > 1'000'000) arena.reclaim();
    }
    EXPECT_GT(arena.bytes_held(), 1'000'000u);
    std::vector<Ipv4Prefix> all;
    table.for_each([&](const Ipv4Prefix& prefix, NextHopId) { all.push_back(prefix); });
    for (const Ipv4Prefix& prefix : all)
        table.erase(prefix);
    arena.reclaim();
    EXPECT_EQ(arena.bytes_held(), 0u);
    EXPECT_EQ(arena.bytes_in_use(), 0u);
}

}  // namespace
}  // namespace heddle::forwarding
