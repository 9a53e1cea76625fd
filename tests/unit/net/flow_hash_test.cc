#include "net/flow_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <vector>

#include "bytes.h"
#include "net/ethernet.h"
#include "net/hash_mix.h"
#include "net/packet_builder.h"

namespace heddle::net {
namespace {

const MacAddress kMac1(0x02, 0, 0, 0, 0, 1);
const MacAddress kMac2(0x02, 0, 0, 0, 0, 2);
const Ipv6Address kIp6a = Ipv6Address::parse("2001:db8::1").value();
const Ipv6Address kIp6b = Ipv6Address::parse("2001:db8::2").value();

PacketBuilder ethernet() {
    return PacketBuilder().ethernet(kMac1, kMac2);
}

uint32_t hash_of(const Bytes& frame, uint64_t seed = 0) {
    return flow_hash(frame, parse_frame(frame, frame.size()), seed);
}

/// The largest deviation from an even spread over 256 buckets, by the low or by the high bits, in
/// terms of the chi-square statistic (mean 255, standard deviation 22.6).
template <class Hash>
double worst_chi_square(const std::vector<Hash>& hashes) {
    double worst = 0;
    for (unsigned shift = 0; shift + 8 <= 8 * sizeof(Hash); shift += 8) {
        std::array<double, 256> buckets{};
        for (const Hash hash : hashes)
            buckets[(hash >> shift) & 0xff] += 1;
        const double expected = static_cast<double>(hashes.size()) / 256;
        double chi_square = 0;
        for (const double count : buckets) {
            chi_square += (count - expected) * (count - expected) / expected;
        }
        worst = std::max(worst, chi_square);
    }
    return worst;
}

/// Nine standard deviations above the mean: never exceeded by a good hash, always by a weak one.
constexpr double kAcceptable = 255 + 9 * 22.6;

TEST(FlowHash, spreads_sequential_source_ports_evenly_in_every_byte) {
    std::vector<uint32_t> hashes;
    for (unsigned port = 0; port < 20000; ++port) {
        hashes.push_back(hash_of(ethernet()
                                     .ipv4({10, 0, 0, 1}, {10, 0, 0, 2})
                                     .tcp(static_cast<uint16_t>(port), 80)
                                     .build()));
    }
    EXPECT_LT(worst_chi_square(hashes), kAcceptable);
    EXPECT_GT(std::set(hashes.begin(), hashes.end()).size(), hashes.size() - 5);
}

TEST(FlowHash, spreads_sequential_ipv4_addresses_evenly_in_every_byte) {
    std::vector<uint32_t> hashes;
    for (uint32_t i = 0; i < 20000; ++i) {
        const Ipv4Address source(be32_t(0x0a000000 + i));
        hashes.push_back(hash_of(ethernet().ipv4(source, {10, 0, 0, 2}).udp(4242, 53).build()));
    }
    EXPECT_LT(worst_chi_square(hashes), kAcceptable);
}

TEST(FlowHash, spreads_addresses_that_differ_in_both_ends_evenly_in_every_byte) {
    std::vector<uint32_t> hashes;
    for (uint32_t i = 0; i < 20000; ++i) {
        const Ipv4Address source(be32_t(0x0a000000 + i));
        const Ipv4Address destination(be32_t(0x0a010000 + i));
        hashes.push_back(hash_of(ethernet().ipv4(source, destination).icmp(8, 0).build()));
    }
    EXPECT_LT(worst_chi_square(hashes), kAcceptable);
}

TEST(FlowHash, spreads_sequential_ipv6_addresses_and_prefixes_evenly_in_every_byte) {
    for (const size_t position : {7u, 15u}) {
        std::vector<uint32_t> hashes;
        auto bytes = kIp6a.bytes();
        for (uint32_t i = 0; i < 20000; ++i) {
            bytes[position] = static_cast<uint8_t>(i);
            bytes[position - 1] = static_cast<uint8_t>(i >> 8);
            hashes.push_back(hash_of(ethernet().ipv6(Ipv6Address(bytes), kIp6b).tcp(1, 2).build()));
        }
        EXPECT_LT(worst_chi_square(hashes), kAcceptable);
    }
}

TEST(FlowHash, spreads_sequential_mac_addresses_evenly_in_every_byte) {
    std::vector<uint32_t> hashes;
    for (uint32_t i = 0; i < 20000; ++i) {
        const MacAddress source(0x02, 0, 0, 0, static_cast<uint8_t>(i >> 8),
                                static_cast<uint8_t>(i));
        hashes.push_back(
            hash_of(PacketBuilder().ethernet(source, kMac2, ethertype::kLldp).payload(20).build()));
    }
    EXPECT_LT(worst_chi_square(hashes), kAcceptable);
}

TEST(FlowHash, depends_on_every_part_of_the_five_tuple) {
    const std::set<uint32_t> hashes = {
        hash_of(ethernet().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}).tcp(1, 2).build()),
        hash_of(ethernet().ipv4({10, 0, 0, 3}, {10, 0, 0, 2}).tcp(1, 2).build()),
        hash_of(ethernet().ipv4({10, 0, 0, 1}, {10, 0, 0, 3}).tcp(1, 2).build()),
        hash_of(ethernet().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}).udp(1, 2).build()),
        hash_of(ethernet().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}).tcp(3, 2).build()),
        hash_of(ethernet().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}).tcp(1, 3).build()),
        hash_of(ethernet().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}, {.protocol = 0}).payload(20).build()),
    };
    EXPECT_EQ(hashes.size(), 7u);
}

TEST(FlowHash, packets_of_one_flow_hash_alike_whatever_else_differs) {
    const auto one = hash_of(ethernet().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}).tcp(1, 2).build());
    const auto other =
        hash_of(PacketBuilder()
                    .ethernet(kMac2, kMac1)
                    .vlan(5)
                    .ipv4({10, 0, 0, 1}, {10, 0, 0, 2}, {.ttl = 3, .options = Bytes(8)})
                    .tcp(1, 2, {.sequence = 77, .flags = tcp_flag::kFin})
                    .payload(500)
                    .build());
    EXPECT_EQ(one, other);
}

// Field case 1.25.
TEST(FlowHash, all_fragments_of_a_datagram_hash_alike) {
    constexpr uint16_t kMore = Ipv4Header::kMoreFragments;
    const auto first = hash_of(ethernet()
                                   .ipv4({10, 0, 0, 1}, {10, 0, 0, 2}, {.flags_fragment = kMore})
                                   .udp(4000, 5000)
                                   .payload(64)
                                   .build());
    for (const uint16_t units : {9, 18, 27}) {
        const Ipv4Fields fields{.flags_fragment = units, .protocol = ip_protocol::kUdp};
        const auto later =
            ethernet().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}, fields).payload(72).build();
        EXPECT_EQ(hash_of(later), first);
    }
}

TEST(FlowHash, ipv6_fragments_hash_alike_even_where_options_hide_the_protocol) {
    const Bytes options = bytes({ip_protocol::kUdp, 0, 1, 4, 0, 0, 0, 0});
    const auto first = hash_of(ethernet()
                                   .ipv6(kIp6a, kIp6b)
                                   .ipv6_fragment(0, true, 1)
                                   .ipv6_extension(ip_protocol::kDestinationOptions, options)
                                   .udp(4000, 5000)
                                   .payload(56)
                                   .build());
    const auto later = hash_of(ethernet()
                                   .ipv6(kIp6a, kIp6b)
                                   .ipv6_fragment(72, false, 1, ip_protocol::kDestinationOptions)
                                   .payload(72)
                                   .build());
    EXPECT_EQ(first, later);
}

TEST(FlowHash, another_seed_gives_another_hash) {
    const Bytes frame = ethernet().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}).tcp(1, 2).build();
    EXPECT_NE(hash_of(frame, 1), hash_of(frame, 2));
}

TEST(FlowHash, any_prefix_of_a_frame_can_be_hashed) {
    const Bytes frame = ethernet().vlan(3).ipv6(kIp6a, kIp6b).tcp(1, 2).build();
    const uint32_t whole = hash_of(frame);
    for (size_t length = 0; length < frame.size(); ++length) {
        const auto head = std::span(frame).first(length);
        EXPECT_NE(flow_hash(head, parse_frame(head, frame.size())), whole);
    }
}

TEST(MacHash, spreads_sequential_addresses_evenly_in_every_byte) {
    std::vector<uint64_t> hashes;
    for (uint32_t i = 0; i < 20000; ++i) {
        hashes.push_back(mac_hash(
            MacAddress(0x02, 0, 0, 0, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i))
                .to_u64()));
    }
    EXPECT_LT(worst_chi_square(hashes), kAcceptable);
    EXPECT_EQ(std::set(hashes.begin(), hashes.end()).size(), hashes.size());
}

TEST(Mix64, flipping_any_input_bit_flips_about_half_of_the_output_bits) {
    Random random(64);
    for (unsigned bit = 0; bit < 64; ++bit) {
        double flipped = 0;
        for (int round = 0; round < 1000; ++round) {
            const uint64_t value = random();
            flipped += std::popcount(mix64(value) ^ mix64(value ^ (uint64_t{1} << bit)));
        }
        EXPECT_NEAR(flipped / 1000, 32, 3.5) << "bit " << bit;
    }
}

}  // namespace
}  // namespace heddle::net
