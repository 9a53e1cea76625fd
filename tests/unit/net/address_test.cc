#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "net/format.h"
#include "net/ip_address.h"
#include "net/ip_prefix.h"
#include "net/mac_address.h"

namespace heddle::net {
namespace {

Ipv6Address v6(std::string_view text) {
    return Ipv6Address::parse(text).value();
}

TEST(MacAddress, text_round_trips_in_lower_case) {
    const auto mac = MacAddress::parse("02:aB:cD:00:7f:FF");
    ASSERT_TRUE(mac);
    EXPECT_EQ(*mac, MacAddress(0x02, 0xab, 0xcd, 0x00, 0x7f, 0xff));
    EXPECT_EQ(mac->to_string(), "02:ab:cd:00:7f:ff");
    EXPECT_EQ(fmt::format("{:>19}", *mac), "  02:ab:cd:00:7f:ff");
}

TEST(MacAddress, anything_but_six_pairs_of_digits_is_refused) {
    for (const char* text :
         {"", "02:ab:cd:00:7f", "02:ab:cd:00:7f:ff:", "02:ab:cd:00:7f:ff:00", "02-ab-cd-00-7f-ff",
          "2:ab:cd:00:7f:ff", "02:ab:cd:00:7f:fg", "02:ab:cd:00:7f:-1", "02:ab:cd:00:7f: f",
          "02:ab:cd:00:7f:0x", "02abcd007fff", " 02:ab:cd:00:7f:f", "02:ab:cd:00:7f:f "}) {
        EXPECT_FALSE(MacAddress::parse(text)) << text;
    }
}

TEST(MacAddress, group_bit_broadcast_and_zero_are_told_apart) {
    EXPECT_TRUE(MacAddress().is_zero());
    EXPECT_TRUE(MacAddress().is_unicast());
    EXPECT_TRUE(MacAddress::broadcast().is_broadcast());
    EXPECT_TRUE(MacAddress::broadcast().is_multicast());
    EXPECT_FALSE(MacAddress(0x01, 0, 0x5e, 0, 0, 1).is_broadcast());
    EXPECT_TRUE(MacAddress(0x01, 0, 0x5e, 0, 0, 1).is_multicast());
    EXPECT_TRUE(MacAddress(0x02, 0, 0, 0, 0, 1).is_locally_administered());
}

TEST(MacAddress, only_the_sixteen_reserved_groups_are_local) {
    EXPECT_TRUE(MacAddress(0x01, 0x80, 0xc2, 0, 0, 0x00).is_local_group());
    EXPECT_TRUE(MacAddress(0x01, 0x80, 0xc2, 0, 0, 0x0f).is_local_group());
    EXPECT_FALSE(MacAddress(0x01, 0x80, 0xc2, 0, 0, 0x10).is_local_group());
    EXPECT_FALSE(MacAddress(0x01, 0x80, 0xc2, 0, 1, 0x00).is_local_group());
    EXPECT_FALSE(MacAddress(0x00, 0x80, 0xc2, 0, 0, 0x00).is_local_group());
}

TEST(MacAddress, every_bit_changes_the_integer_and_its_upper_sixteen_bits_stay_clear) {
    const uint64_t zero = MacAddress().to_u64();
    EXPECT_EQ(zero, 0u);
    uint64_t seen = 0;
    for (unsigned bit = 0; bit < 48; ++bit) {
        std::array<uint8_t, 6> bytes{};
        bytes[bit / 8] = static_cast<uint8_t>(1 << (bit % 8));
        const uint64_t value = MacAddress(bytes).to_u64();
        EXPECT_EQ(value & seen, 0u);
        seen |= value;
    }
    EXPECT_EQ(seen, 0xffff'ffff'ffffu);
}

TEST(MacAddress, integer_turns_back_into_the_address_whatever_the_upper_sixteen_bits_carry) {
    const MacAddress mac(0x02, 0xab, 0xcd, 0x00, 0x7f, 0xff);
    EXPECT_EQ(MacAddress::from_u64(mac.to_u64()), mac);
    EXPECT_EQ(MacAddress::from_u64(mac.to_u64() | 0xbeef'0000'0000'0000), mac);
}

TEST(Ipv4Address, text_round_trips) {
    for (const char* text : {"0.0.0.0", "255.255.255.255", "192.0.2.1", "10.0.0.1"}) {
        const auto address = Ipv4Address::parse(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->to_string(), text);
    }
    EXPECT_EQ(Ipv4Address(192, 0, 2, 1).value(), 0xc0000201u);
    EXPECT_EQ(fmt::format("{}", Ipv4Address(192, 0, 2, 1)), "192.0.2.1");
}

TEST(Ipv4Address, shortened_octal_and_decorated_texts_are_refused) {
    using namespace std::string_view_literals;
    for (const auto text :
         {""sv, "10.1"sv, "10.0.0"sv, "10.0.0.256"sv, "010.0.0.1"sv, "10.0.0.1 "sv, " 10.0.0.1"sv,
          "10.0.0.1\0"sv, "10.0.0.1/24"sv, "0x0a.0.0.1"sv, "::1"sv,
          "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17.18.19.20.21.22.23.24"sv}) {
        EXPECT_FALSE(Ipv4Address::parse(text)) << text;
    }
}

TEST(Ipv4Address, special_ranges_are_recognised_at_their_borders) {
    EXPECT_TRUE(Ipv4Address(127, 0, 0, 0).is_loopback());
    EXPECT_FALSE(Ipv4Address(128, 0, 0, 0).is_loopback());
    EXPECT_TRUE(Ipv4Address(169, 254, 255, 255).is_link_local());
    EXPECT_FALSE(Ipv4Address(169, 253, 255, 255).is_link_local());
    EXPECT_TRUE(Ipv4Address(224, 0, 0, 0).is_multicast());
    EXPECT_TRUE(Ipv4Address(239, 255, 255, 255).is_multicast());
    EXPECT_FALSE(Ipv4Address(223, 255, 255, 255).is_multicast());
    EXPECT_FALSE(Ipv4Address(240, 0, 0, 0).is_multicast());
    EXPECT_TRUE(Ipv4Address().is_unspecified());
    EXPECT_TRUE(Ipv4Address(255, 255, 255, 255).is_broadcast());
}

TEST(Ipv4Address, order_is_numeric) {
    EXPECT_LT(Ipv4Address(9, 255, 255, 255), Ipv4Address(10, 0, 0, 0));
    EXPECT_LT(Ipv4Address(10, 0, 0, 1), Ipv4Address(10, 0, 1, 0));
}

TEST(Ipv6Address, text_is_canonical_as_in_rfc_5952) {
    const std::pair<const char*, const char*> cases[] = {
        {"2001:0db8:0000:0000:0000:0000:0002:0001", "2001:db8::2:1"},  // 4.1, 4.2.1
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},              // 4.2.2
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},                       // 4.2.3: the longest run
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},                 // 4.2.3: the first of equals
        {"2001:DB8::ABCD", "2001:db8::abcd"},                          // 4.3
        {"::", "::"},
        {"::1", "::1"},
        {"fe80::", "fe80::"},
        {"::ffff:192.0.2.1", "::ffff:192.0.2.1"},  // 5
    };
    for (const auto& [text, canonical] : cases) {
        const auto address = Ipv6Address::parse(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->to_string(), canonical);
        EXPECT_EQ(Ipv6Address::parse(canonical), address);
    }
}

TEST(Ipv6Address, malformed_texts_are_refused) {
    for (const char* text : {"", ":", ":::", "1::2::3", "2001:db8", "1:2:3:4:5:6:7:8:9",
                             "12345::", "fe80::1%eth0", "::1 ", "::1/64", "10.0.0.1", "g::"}) {
        EXPECT_FALSE(Ipv6Address::parse(text)) << text;
    }
}

TEST(Ipv6Address, special_ranges_are_recognised_at_their_borders) {
    EXPECT_TRUE(v6("::").is_unspecified());
    EXPECT_TRUE(v6("::1").is_loopback());
    EXPECT_FALSE(v6("::2").is_loopback());
    EXPECT_TRUE(v6("fe80::1").is_link_local());
    EXPECT_TRUE(v6("febf::1").is_link_local());
    EXPECT_FALSE(v6("fec0::1").is_link_local());
    EXPECT_TRUE(v6("ff02::1").is_multicast());
    EXPECT_TRUE(v6("fd00::1").is_unique_local());
    EXPECT_FALSE(v6("fe00::1").is_unique_local());
}

TEST(IpAddress, either_family_round_trips_and_they_never_equal) {
    const auto four = IpAddress::parse("192.0.2.1");
    const auto six = IpAddress::parse("::ffff:192.0.2.1");
    ASSERT_TRUE(four && six);
    EXPECT_TRUE(four->is_v4());
    EXPECT_TRUE(six->is_v6());
    EXPECT_NE(*four, *six);
    EXPECT_EQ(four->v6(), nullptr);
    EXPECT_EQ(fmt::format("{} {}", *four, *six), "192.0.2.1 ::ffff:192.0.2.1");
    EXPECT_FALSE(IpAddress::parse("host.example"));
}

TEST(Prefix, text_round_trips_with_host_bits_kept) {
    const auto prefix = Ipv4Prefix::parse("192.0.2.7/24");
    ASSERT_TRUE(prefix);
    EXPECT_EQ(fmt::format("{}", *prefix), "192.0.2.7/24");
    EXPECT_TRUE(prefix->has_host_bits());
    EXPECT_EQ(fmt::format("{}", prefix->network()), "192.0.2.0/24");
    EXPECT_FALSE(prefix->network().has_host_bits());
}

TEST(Prefix, length_must_be_a_plain_number_within_the_family) {
    for (const char* text : {"10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8",
                             "10.0.0.0/08", "10.0.0.0/8 ", "10.0.0.0/ 8", "10.0.0.0/8/8", "/8",
                             "10.0.0.0/256", "10.0.0.0/264", "2001:db8::/129", "2001:db8::/0x20"}) {
        EXPECT_FALSE(IpPrefix::parse(text)) << text;
    }
    EXPECT_TRUE(IpPrefix::parse("10.0.0.0/32"));
    EXPECT_TRUE(IpPrefix::parse("2001:db8::/128"));
}

TEST(Prefix, mask_has_exactly_the_leading_bits_for_every_length) {
    for (unsigned length = 0; length <= 32; ++length) {
        EXPECT_EQ(std::popcount(Ipv4Address::mask(length).value()), static_cast<int>(length));
        EXPECT_EQ(std::countl_one(Ipv4Address::mask(length).value()), static_cast<int>(length));
    }
    EXPECT_EQ(Ipv6Address::mask(0), Ipv6Address());
    EXPECT_EQ(Ipv6Address::mask(10), v6("ffc0::"));
    EXPECT_EQ(Ipv6Address::mask(64), v6("ffff:ffff:ffff:ffff::"));
    EXPECT_EQ(Ipv6Address::mask(127), v6("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"));
}

TEST(Prefix, contains_its_first_and_last_address_and_neither_neighbour) {
    const auto prefix = Ipv4Prefix::parse("10.1.2.64/26").value();
    EXPECT_FALSE(prefix.contains(Ipv4Address(10, 1, 2, 63)));
    EXPECT_TRUE(prefix.contains(Ipv4Address(10, 1, 2, 64)));
    EXPECT_TRUE(prefix.contains(Ipv4Address(10, 1, 2, 127)));
    EXPECT_FALSE(prefix.contains(Ipv4Address(10, 1, 2, 128)));
    EXPECT_TRUE(Ipv6Prefix::parse("2001:db8::/33")->contains(v6("2001:db8:7fff::1")));
    EXPECT_FALSE(Ipv6Prefix::parse("2001:db8::/33")->contains(v6("2001:db8:8000::1")));
}

TEST(Prefix, default_route_contains_everything_and_longer_prefixes_only_themselves) {
    EXPECT_TRUE(Ipv4Prefix().contains(Ipv4Address(255, 255, 255, 255)));
    const auto wide = Ipv4Prefix::parse("10.0.0.0/8").value();
    const auto narrow = Ipv4Prefix::parse("10.1.0.0/16").value();
    EXPECT_TRUE(wide.contains(narrow));
    EXPECT_FALSE(narrow.contains(wide));
    EXPECT_TRUE(narrow.contains(narrow));
}

TEST(IpPrefix, an_address_of_the_other_family_is_not_contained) {
    EXPECT_FALSE(IpPrefix::parse("0.0.0.0/0")->contains(*IpAddress::parse("::1")));
    EXPECT_FALSE(IpPrefix::parse("::/0")->contains(*IpAddress::parse("10.0.0.1")));
    EXPECT_TRUE(IpPrefix::parse("::/0")->contains(*IpAddress::parse("2001:db8::1")));
    EXPECT_EQ(IpPrefix::parse("2001:db8::5/64")->network().to_string(), "2001:db8::/64");
}

}  // namespace
}  // namespace heddle::net
