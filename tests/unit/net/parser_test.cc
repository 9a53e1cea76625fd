#include "net/parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "bytes.h"
#include "net/ethernet.h"
#include "net/header_at.h"
#include "net/packet_builder.h"
#include "net/udp.h"
#include "reference_parser.h"

namespace heddle::net {
namespace {

const MacAddress kMac1(0x02, 0, 0, 0, 0, 1);
const MacAddress kMac2(0x02, 0, 0, 0, 0, 2);
const Ipv4Address kIp1(10, 0, 0, 1);
const Ipv4Address kIp2(10, 0, 0, 2);
const Ipv6Address kIp6a = Ipv6Address::parse("2001:db8::1").value();
const Ipv6Address kIp6b = Ipv6Address::parse("2001:db8::2").value();
const Bytes kOptions = bytes({8, 0, 1, 4, 0, 0, 0, 0});  ///< an 8 byte extension header

PacketBuilder ethernet() {
    return PacketBuilder().ethernet(kMac1, kMac2);
}
PacketBuilder ipv4(const Ipv4Fields& fields = {}) {
    return ethernet().ipv4(kIp1, kIp2, fields);
}
PacketBuilder ipv6(const Ipv6Fields& fields = {}) {
    return ethernet().ipv6(kIp6a, kIp6b, fields);
}

ParsedHeaders parse(const Bytes& frame) {
    return parse_frame(frame, frame.size());
}

/// The head alone in a block of its own, so that AddressSanitizer sees a read behind it.
ParsedHeaders parse_head(std::span<const std::byte> frame, size_t head_length) {
    const auto copy = std::make_unique<std::byte[]>(head_length);
    std::copy_n(frame.begin(), head_length, copy.get());
    return parse_frame(std::span(copy.get(), head_length), frame.size());
}

Bytes with_byte(Bytes frame, size_t offset, int value) {
    frame.at(offset) = static_cast<std::byte>(value);
    return frame;
}

Bytes with_u16(Bytes frame, size_t offset, unsigned value) {
    frame = with_byte(std::move(frame), offset, static_cast<int>(value >> 8));
    return with_byte(std::move(frame), offset + 1, static_cast<int>(value & 0xff));
}

/// One frame of every kind the parser knows.
std::vector<Bytes> valid_frames() {
    const Bytes ah =
        bytes({0, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    const Bytes tcp_options = bytes({2, 4, 5, 0xb4, 1, 3, 3, 7});
    const Bytes router_alert = bytes({0x94, 4, 0, 0});
    constexpr uint16_t kMore = Ipv4Header::kMoreFragments;
    return {
        ethernet().arp(ArpHeader()).build(),
        PacketBuilder().ethernet(kMac1, kMac2, ethertype::kLldp).payload(50).build(),
        PacketBuilder().ethernet(kMac1, kMac2, 46).payload(46).build(),
        ipv4().tcp(1, 2).payload(10).build(),
        ipv4().udp(1, 2).payload(11).build(),
        ipv4().icmp(icmp_type::kEchoRequest, 0, 1, 2).payload(56).build(),
        ipv4({.protocol = ip_protocol::kSctp}).payload(40).build(),
        ipv4({.protocol = 0}).payload(20).build(),
        ipv4({.options = router_alert}).tcp(1, 2, {.options = tcp_options}).payload(5).build(),
        ipv4({.flags_fragment = kMore}).udp(1, 2).payload(64).build(),
        ipv4({.flags_fragment = kMore | 9, .protocol = ip_protocol::kUdp}).payload(64).build(),
        ipv4({.flags_fragment = 17, .protocol = ip_protocol::kTcp}).payload(3).build(),
        ethernet().vlan(0).ipv4(kIp1, kIp2).udp(0, 0).build(),
        ethernet().vlan(7, 5, ethertype::kServiceVlan).vlan(9).ipv6(kIp6a, kIp6b).tcp(1, 2).build(),
        ethernet().vlan(1).vlan(2).vlan(3).ipv4(kIp1, kIp2).tcp(1, 2).build(),
        ipv6().tcp(1, 2, {.options = tcp_options}).payload(10).build(),
        ipv6().udp(1, 2).payload(11).build(),
        ipv6().icmpv6(icmpv6_type::kEchoRequest, 0).build(),
        ipv6().build(),
        ipv6().payload(20).build(),
        ipv6().ipv6_extension(ip_protocol::kHopByHop, kOptions).icmpv6(143, 0).payload(20).build(),
        ipv6()
            .ipv6_extension(ip_protocol::kHopByHop, kOptions)
            .ipv6_extension(ip_protocol::kDestinationOptions, kOptions)
            .ipv6_extension(ip_protocol::kRouting, kOptions)
            .ipv6_fragment(0, false, 1)
            .ipv6_extension(ip_protocol::kAuthentication, ah)
            .ipv6_extension(ip_protocol::kDestinationOptions, kOptions)
            .tcp(1, 2)
            .payload(4)
            .build(),
        ipv6().ipv6_fragment(0, true, 7).udp(1, 2).payload(56).build(),
        ipv6().ipv6_fragment(64, true, 7, ip_protocol::kUdp).payload(64).build(),
        ipv6().ipv6_fragment(128, false, 7, ip_protocol::kDestinationOptions).payload(9).build(),
        ipv6({.next_header = 135}).payload(8).build(),
    };
}

TEST(Parser, offsets_of_ipv4_tcp_are_those_of_the_rfcs) {
    const auto parsed = parse(ipv4().tcp(1, 2, {.flags = tcp_flag::kSyn}).payload(10).build());
    EXPECT_EQ(parsed.malformed, Malformed::none);
    EXPECT_FALSE(parsed.incomplete);
    EXPECT_TRUE(parsed.is_ipv4);
    EXPECT_FALSE(parsed.is_ipv6);
    EXPECT_EQ(parsed.ethertype, ethertype::kIpv4);
    EXPECT_EQ(parsed.vlan_count, 0);
    EXPECT_EQ(parsed.l3_offset, 14);
    EXPECT_EQ(parsed.l3_length, 50u);
    EXPECT_EQ(parsed.l4_offset, 34);
    EXPECT_EQ(parsed.l4_length, 30);
    EXPECT_EQ(parsed.payload_offset, 54);
    EXPECT_TRUE(parsed.has_l4(ip_protocol::kTcp));
    EXPECT_EQ(parsed.tcp_flags, tcp_flag::kSyn);
    EXPECT_FALSE(parsed.has_ip_options);
    EXPECT_FALSE(parsed.is_fragment);
}

TEST(Parser, ipv4_options_move_the_l4_header_for_every_header_length) {
    for (size_t length = 0; length <= 40; length += 4) {
        const auto parsed = parse(ipv4({.options = Bytes(length, std::byte{1})}).tcp(1, 2).build());
        EXPECT_EQ(parsed.malformed, Malformed::none);
        EXPECT_EQ(parsed.l4_offset, 34 + length);
        EXPECT_EQ(parsed.has_ip_options, length > 0);
    }
}

TEST(Parser, two_vlan_tags_are_stepped_over_and_the_first_is_told) {
    const auto parsed = parse(ethernet()
                                  .vlan(100, 6, ethertype::kServiceVlan)
                                  .vlan(5)
                                  .ipv6(kIp6a, kIp6b)
                                  .udp(1, 2)
                                  .build());
    EXPECT_EQ(parsed.vlan_count, 2);
    EXPECT_EQ(parsed.vlan_tci, VlanTag::make_tci(6, false, 100));
    EXPECT_EQ(parsed.ethertype, ethertype::kIpv6);
    EXPECT_EQ(parsed.l3_offset, 22);
    EXPECT_EQ(parsed.l4_offset, 62);
}

TEST(Parser, a_third_vlan_tag_is_reported_as_ethertype_and_not_parsed) {
    const auto parsed =
        parse(ethernet().vlan(1).vlan(2).vlan(3).ipv4(kIp1, kIp2).tcp(1, 2).build());
    EXPECT_EQ(parsed.vlan_count, 2);
    EXPECT_EQ(parsed.ethertype, ethertype::kVlan);
    EXPECT_FALSE(parsed.is_ip());
    EXPECT_EQ(parsed.malformed, Malformed::none);
}

TEST(Parser, vlan_zero_is_a_tag) {
    const auto parsed = parse(ethernet().vlan(0).ipv4(kIp1, kIp2).udp(1, 2).build());
    EXPECT_EQ(parsed.vlan_count, 1);
    EXPECT_EQ(parsed.vlan_tci, 0);
}

// Field case 9.1, CVE-2020-35498.
TEST(Parser, padding_of_any_length_changes_nothing) {
    for (const auto& builder : {ipv4().udp(1, 2).payload(3), ipv6().tcp(1, 2).payload(3)}) {
        const std::string expected = describe(parse(builder.build()));
        for (const size_t length : {1, 17, 46, 255, 256, 257, 1400, 60000}) {
            EXPECT_EQ(describe(parse(PacketBuilder(builder).padding(length).build())), expected);
        }
    }
}

// Field case 9.2, CVE-2016-10377.
TEST(Parser, ipv4_total_length_outside_header_and_frame_is_bad) {
    const Bytes frame = ipv4().udp(1, 2).payload(20).build();
    const Bytes with_options = ipv4({.options = Bytes(8)}).udp(1, 2).payload(20).build();
    for (const unsigned length : {0u, 1u, 19u, 49u, 65535u}) {
        EXPECT_EQ(parse(with_u16(frame, 16, length)).malformed, Malformed::ip_bad_length) << length;
    }
    for (const unsigned length : {20u, 27u}) {
        EXPECT_EQ(parse(with_u16(with_options, 16, length)).malformed, Malformed::ip_bad_length);
    }
    EXPECT_EQ(parse(with_u16(frame, 16, 20)).malformed, Malformed::l4_truncated);
    EXPECT_EQ(parse(with_u16(with_options, 16, 28)).malformed, Malformed::l4_truncated);
    EXPECT_EQ(parse(with_u16(frame, 16, 47)).malformed, Malformed::l4_bad_length)
        << "UDP length 28";
}

TEST(Parser, ipv4_header_length_below_20_or_above_the_packet_is_bad) {
    const Bytes bare = ipv4({.protocol = ip_protocol::kTcp}).build();
    for (int ihl = 0; ihl < 5; ++ihl) {
        EXPECT_EQ(parse(with_byte(bare, 14, 0x40 | ihl)).malformed,
                  Malformed::ip_bad_header_length);
    }
    EXPECT_EQ(parse(with_byte(bare, 14, 0x4f)).malformed, Malformed::ip_bad_length);
}

TEST(Parser, an_ip_version_that_contradicts_the_ethertype_is_bad) {
    EXPECT_EQ(parse(with_byte(ipv4().tcp(1, 2).build(), 14, 0x65)).malformed,
              Malformed::ip_bad_version);
    EXPECT_EQ(parse(with_byte(ipv6().tcp(1, 2).build(), 14, 0x40)).malformed,
              Malformed::ip_bad_version);
}

TEST(Parser, ipv6_payload_length_zero_or_beyond_the_frame_is_bad) {
    const Bytes frame = ipv6().tcp(1, 2).payload(4).build();
    EXPECT_EQ(parse(with_u16(frame, 18, 0)).malformed, Malformed::ip_bad_length);
    EXPECT_EQ(parse(with_u16(frame, 18, 25)).malformed, Malformed::ip_bad_length);
    EXPECT_EQ(parse(with_u16(frame, 18, 65535)).malformed, Malformed::ip_bad_length);
    EXPECT_EQ(parse(with_u16(frame, 18, 24)).malformed, Malformed::none);
    EXPECT_EQ(parse(ipv6().build()).malformed, Malformed::none) << "no next header, nothing behind";
}

// Field case 9.3, CVE-2023-1668.
TEST(Parser, protocol_zero_is_a_protocol) {
    const auto parsed = parse(ipv4({.protocol = 0}).payload(20).build());
    EXPECT_TRUE(parsed.has_ip_protocol);
    EXPECT_EQ(parsed.ip_protocol, 0);
    EXPECT_EQ(parsed.l4_offset, 34);
    EXPECT_EQ(parsed.payload_offset, 0);
    EXPECT_EQ(parsed.malformed, Malformed::none);
    EXPECT_FALSE(parse(ethernet().arp(ArpHeader()).build()).has_ip_protocol);
}

TEST(Parser, ipv6_options_are_not_mistaken_for_the_upper_layer) {
    const auto parsed =
        parse(ipv6().ipv6_extension(ip_protocol::kHopByHop, kOptions).udp(0, 0).build());
    EXPECT_TRUE(parsed.has_l4(ip_protocol::kUdp));
    EXPECT_TRUE(parsed.has_ip_options);
    EXPECT_EQ(parsed.l4_offset, 62);
}

// Field case 9.11.
TEST(Parser, chains_of_up_to_eight_extension_headers_are_walked_and_longer_ones_refused) {
    for (unsigned count = 1; count <= 60; ++count) {
        auto builder = ipv6();
        for (unsigned i = 0; i < count; ++i) {
            builder.ipv6_extension(ip_protocol::kDestinationOptions, kOptions);
        }
        const auto parsed = parse(builder.tcp(1, 2).build());
        if (count <= kMaxExtensionHeaders) {
            EXPECT_EQ(parsed.malformed, Malformed::none);
            EXPECT_EQ(parsed.l4_offset, 54 + 8 * count);
        } else {
            EXPECT_EQ(parsed.malformed, Malformed::extension_header_chain_too_long);
            EXPECT_FALSE(parsed.has_ip_protocol);
            EXPECT_EQ(parsed.l4_offset, 0);
        }
    }
}

TEST(Parser, hop_by_hop_options_anywhere_but_first_are_misplaced) {
    const auto twice = ipv6()
                           .ipv6_extension(ip_protocol::kHopByHop, kOptions)
                           .ipv6_extension(ip_protocol::kHopByHop, kOptions)
                           .tcp(1, 2);
    EXPECT_EQ(parse(twice.build()).malformed, Malformed::extension_header_misplaced);
    const auto late = ipv6()
                          .ipv6_extension(ip_protocol::kDestinationOptions, kOptions)
                          .ipv6_extension(ip_protocol::kHopByHop, kOptions)
                          .tcp(1, 2);
    EXPECT_EQ(parse(late.build()).malformed, Malformed::extension_header_misplaced);
}

TEST(Parser, an_extension_header_longer_than_the_packet_is_truncated) {
    const Bytes frame =
        ipv6().ipv6_extension(ip_protocol::kHopByHop, kOptions).udp(1, 2).payload(100).build();
    EXPECT_EQ(parse(with_byte(frame, 55, 255)).malformed, Malformed::extension_header_truncated);
    // Padding does not make room: 2048 bytes of options in a packet of 116.
    Bytes padded = with_byte(frame, 55, 255);
    padded.resize(4000);
    EXPECT_EQ(parse(padded).malformed, Malformed::extension_header_truncated);
}

TEST(Parser, an_authentication_header_shorter_than_its_fixed_part_is_truncated) {
    const Bytes ah(24);  // length field 0: 8 bytes
    const auto parsed =
        parse(ipv6().ipv6_extension(ip_protocol::kAuthentication, ah).tcp(1, 2).build());
    EXPECT_EQ(parsed.malformed, Malformed::extension_header_truncated);
}

TEST(Parser, what_follows_no_next_header_is_ignored) {
    const auto parsed = parse(ipv6().payload(40).build());
    EXPECT_EQ(parsed.malformed, Malformed::none);
    EXPECT_TRUE(parsed.has_ip_protocol);
    EXPECT_EQ(parsed.ip_protocol, ip_protocol::kNoNextHeader);
    EXPECT_EQ(parsed.l4_offset, 0);
}

TEST(Parser, a_second_fragment_header_is_misplaced) {
    const auto builder = ipv6().ipv6_fragment(0, false, 1).ipv6_fragment(0, true, 2).tcp(1, 2);
    EXPECT_EQ(parse(builder.build()).malformed, Malformed::extension_header_misplaced);
}

TEST(Parser, a_fragment_header_inside_the_chain_is_found) {
    const auto parsed = parse(ipv6()
                                  .ipv6_extension(ip_protocol::kDestinationOptions, kOptions)
                                  .ipv6_fragment(1232, true, 9, ip_protocol::kUdp)
                                  .payload(64)
                                  .build());
    EXPECT_TRUE(parsed.is_later_fragment());
    EXPECT_EQ(parsed.fragment_offset, 1232);
    EXPECT_EQ(parsed.ip_protocol, ip_protocol::kUdp);
    EXPECT_EQ(parsed.l4_offset, 0);
    EXPECT_EQ(parsed.payload_offset, 70);
}

TEST(Parser, a_routing_header_with_segments_left_says_so) {
    const Bytes done = bytes({0, 0, 0, 0, 0, 0, 0, 0});
    const Bytes left =
        bytes({0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_FALSE(parse(ipv6().ipv6_extension(ip_protocol::kRouting, done).tcp(1, 2).build())
                     .has_segments_left);
    const auto parsed = parse(ipv6().ipv6_extension(ip_protocol::kRouting, left).tcp(1, 2).build());
    EXPECT_TRUE(parsed.has_segments_left);
    EXPECT_EQ(parsed.l4_offset, 78);
}

TEST(Parser, an_atomic_fragment_is_a_whole_packet) {
    const auto parsed = parse(ipv6().ipv6_fragment(0, false, 5).tcp(1, 2).build());
    EXPECT_FALSE(parsed.is_fragment);
    EXPECT_TRUE(parsed.has_l4(ip_protocol::kTcp));
}

// RFC 1858 and RFC 7112, field cases 9.11 and 9.20.
TEST(Parser, a_first_fragment_without_its_whole_l4_header_is_truncated) {
    const Bytes tcp_start(16);
    EXPECT_EQ(
        parse(ipv4({.flags_fragment = Ipv4Header::kMoreFragments, .protocol = ip_protocol::kTcp})
                  .payload(tcp_start)
                  .build())
            .malformed,
        Malformed::l4_truncated);
    EXPECT_EQ(parse(ipv6().ipv6_fragment(0, true, 1, ip_protocol::kTcp).payload(tcp_start).build())
                  .malformed,
              Malformed::l4_truncated);
    const Bytes options_only =
        bytes({ip_protocol::kTcp, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(parse(ipv6()
                        .ipv6_fragment(0, true, 1, ip_protocol::kDestinationOptions)
                        .payload(options_only)
                        .build())
                  .malformed,
              Malformed::l4_truncated);
}

TEST(Parser, udp_length_of_a_first_fragment_may_exceed_it) {
    Bytes frame =
        ipv4({.flags_fragment = Ipv4Header::kMoreFragments}).udp(1, 2).payload(64).build();
    frame = with_u16(std::move(frame), 38, 4000);
    const auto parsed = parse(frame);
    EXPECT_EQ(parsed.malformed, Malformed::none);
    EXPECT_TRUE(parsed.is_first_fragment());
    EXPECT_EQ(parsed.l4_length, 72);
    EXPECT_EQ(parse(with_u16(frame, 38, 7)).malformed, Malformed::l4_bad_length);
}

TEST(Parser, a_later_fragment_has_no_l4_header) {
    const auto parsed =
        parse(ipv4({.flags_fragment = 185, .protocol = ip_protocol::kTcp}).payload(100).build());
    EXPECT_TRUE(parsed.is_later_fragment());
    EXPECT_EQ(parsed.fragment_offset, 1480);
    EXPECT_TRUE(parsed.has_ip_protocol);
    EXPECT_EQ(parsed.l4_offset, 0);
    EXPECT_FALSE(parsed.has_l4(ip_protocol::kTcp));
    EXPECT_EQ(parsed.payload_offset, 34);
}

TEST(Parser, a_later_fragment_that_begins_with_an_extension_header_does_not_tell_its_protocol) {
    const auto parsed = parse(
        ipv6().ipv6_fragment(8, false, 1, ip_protocol::kDestinationOptions).payload(16).build());
    EXPECT_TRUE(parsed.is_later_fragment());
    EXPECT_FALSE(parsed.has_ip_protocol);
}

TEST(Parser, tcp_data_offset_below_20_or_beyond_the_packet_is_bad) {
    const Bytes frame = ipv4().tcp(1, 2).payload(4).build();
    for (int words = 0; words < 5; ++words) {
        EXPECT_EQ(parse(with_byte(frame, 46, words << 4)).malformed, Malformed::l4_bad_length);
    }
    EXPECT_EQ(parse(with_byte(frame, 46, 6 << 4)).malformed, Malformed::none);
    EXPECT_EQ(parse(with_byte(frame, 46, 7 << 4)).malformed, Malformed::l4_truncated);
}

TEST(Parser, udp_length_below_8_or_beyond_the_packet_is_bad_and_a_shorter_one_ends_the_datagram) {
    const Bytes frame = ipv4().udp(1, 2).payload(20).build();
    for (const unsigned length : {0u, 7u, 29u, 65535u}) {
        EXPECT_EQ(parse(with_u16(frame, 38, length)).malformed, Malformed::l4_bad_length);
    }
    const auto parsed = parse(with_u16(frame, 38, 12));
    EXPECT_EQ(parsed.malformed, Malformed::none);
    EXPECT_EQ(parsed.l4_length, 12);
}

TEST(Parser, icmp_of_the_other_family_is_an_unknown_protocol) {
    const auto parsed = parse(ipv4({.protocol = ip_protocol::kIcmpv6}).payload(20).build());
    EXPECT_EQ(parsed.malformed, Malformed::none);
    EXPECT_EQ(parsed.l4_offset, 34);
    EXPECT_EQ(parsed.payload_offset, 0);
}

TEST(Parser, a_head_shorter_than_the_headers_is_incomplete_and_not_malformed) {
    const Bytes frame = ipv4().tcp(1, 2).payload(1000).build();
    for (size_t length = 0; length < 54; ++length) {
        const auto parsed = parse_head(frame, length);
        EXPECT_TRUE(parsed.incomplete) << length;
        EXPECT_EQ(parsed.malformed, Malformed::none) << length;
        EXPECT_EQ(parsed.l4_offset, 0) << length;
    }
    EXPECT_FALSE(parse_head(frame, 54).incomplete);
}

TEST(Parser, a_head_longer_than_the_frame_is_not_believed) {
    const Bytes frame = ipv4().tcp(1, 2).build();
    EXPECT_EQ(parse_frame(frame, 40).malformed, Malformed::ip_bad_length);
    EXPECT_EQ(parse_frame(frame, 13).malformed, Malformed::ethernet_truncated);
}

TEST(Parser, a_superframe_of_64_kb_is_parsed_from_its_head) {
    const Bytes frame = ipv6().tcp(1, 2).payload(65515).build();
    const auto parsed = parse_head(frame, 128);
    EXPECT_EQ(parsed.malformed, Malformed::none);
    EXPECT_FALSE(parsed.incomplete);
    EXPECT_EQ(parsed.l3_length, 65575u);
    EXPECT_EQ(parsed.l4_length, 65535);
    EXPECT_EQ(describe(parse(frame)), describe(parsed));
}

TEST(Parser, every_frame_truncated_at_every_byte_is_judged_as_by_the_reference) {
    for (const Bytes& frame : valid_frames()) {
        ASSERT_EQ(parse(frame).malformed, Malformed::none) << describe(parse(frame));
        for (size_t length = 0; length <= frame.size(); ++length) {
            const auto cut = std::span(frame).first(length);
            ASSERT_EQ(describe(parse_head(cut, length)), describe(reference_parse(cut, length)))
                << "frame cut at " << length;
            ASSERT_EQ(describe(parse_head(frame, length)), describe(reference_parse(frame, length)))
                << "head cut at " << length;
        }
    }
}

TEST(Parser, every_value_of_every_header_byte_is_judged_as_by_the_reference) {
    for (const Bytes& frame : valid_frames()) {
        for (size_t offset = 12; offset < std::min<size_t>(frame.size(), 130); ++offset) {
            for (int value = 0; value < 256; value += 1) {
                const Bytes changed = with_byte(frame, offset, value);
                ASSERT_EQ(describe(parse(changed)),
                          describe(reference_parse(changed, changed.size())))
                    << "byte " << offset << " = " << value;
            }
        }
    }
}

TEST(Parser, random_changes_cuts_and_heads_are_judged_as_by_the_reference) {
    Random random(35498);
    const auto frames = valid_frames();
    for (int round = 0; round < 100000; ++round) {
        Bytes frame = frames[below(random, frames.size())];
        for (uint64_t edits = below(random, 5); edits > 0; --edits) {
            // Small values are more interesting: lengths, header types, fragment offsets.
            const size_t offset = 12 + below(random, std::min<size_t>(frame.size(), 120) - 12);
            frame[offset] = static_cast<std::byte>(random() >> below(random, 8) & 0xff);
        }
        frame.resize(below(random, 4) == 0 ? below(random, frame.size() + 1)
                                           : frame.size() + below(random, 30));
        const size_t head = below(random, 3) == 0 ? below(random, frame.size() + 1) : frame.size();
        ASSERT_EQ(describe(parse_head(frame, head)), describe(reference_parse(frame, head)));
    }
}

TEST(Parser, random_bytes_behind_an_ethertype_are_judged_as_by_the_reference) {
    Random random(1668);
    for (int round = 0; round < 100000; ++round) {
        Bytes frame = random_bytes(random, 14 + below(random, 150));
        constexpr uint16_t kTypes[] = {ethertype::kIpv4, ethertype::kIpv6, ethertype::kVlan};
        const uint16_t type = kTypes[below(random, 3)];
        frame = with_u16(std::move(frame), 12, type);
        if (frame.size() > 24 && type == ethertype::kIpv6) {
            frame = with_byte(std::move(frame), 14, 0x60);
            frame = with_u16(std::move(frame), 18, static_cast<unsigned>(below(random, 120)));
            constexpr uint8_t kNext[] = {0, 43, 44, 51, 60, 6, 17, 58, 59};
            frame = with_byte(std::move(frame), 20, kNext[below(random, 9)]);
            for (size_t i = 54; i < frame.size(); i += 8) {
                frame[i] = static_cast<std::byte>(kNext[below(random, 9)]);
                if (i + 1 < frame.size()) frame[i + 1] = static_cast<std::byte>(below(random, 3));
            }
        } else if (frame.size() > 24 && type == ethertype::kIpv4) {
            frame = with_byte(std::move(frame), 14, static_cast<int>(0x44 + below(random, 4)));
            frame = with_u16(std::move(frame), 16, static_cast<unsigned>(below(random, 120)));
        }
        const size_t head = below(random, 3) == 0 ? below(random, frame.size() + 1) : frame.size();
        ASSERT_EQ(describe(parse_head(frame, head)), describe(reference_parse(frame, head)));
    }
}

TEST(ParseIp, an_inner_packet_is_parsed_at_its_offset) {
    const Bytes frame =
        ipv4().udp(1, 4789).payload(8).ipv6(kIp6a, kIp6b).tcp(1, 2).payload(9).build();
    const auto inner = parse_ip(frame, 50, frame.size());
    EXPECT_EQ(inner.malformed, Malformed::none);
    EXPECT_TRUE(inner.is_ipv6);
    EXPECT_EQ(inner.ethertype, ethertype::kIpv6);
    EXPECT_EQ(inner.l3_offset, 50);
    EXPECT_EQ(inner.l4_offset, 90);
    EXPECT_EQ(inner.payload_offset, 110);
}

TEST(ParseIp, a_packet_without_a_link_layer_is_parsed_at_offset_zero) {
    const Bytes packet = PacketBuilder().ipv4(kIp1, kIp2).udp(1, 2).build();
    const auto parsed = parse_ip(packet, 0, packet.size());
    EXPECT_TRUE(parsed.is_ipv4);
    EXPECT_EQ(parsed.l4_offset, 20);
}

TEST(ParseIp, an_offset_at_or_behind_the_end_is_truncated_and_one_beyond_the_head_incomplete) {
    const Bytes packet = PacketBuilder().ipv4(kIp1, kIp2).udp(1, 2).build();
    EXPECT_EQ(parse_ip(packet, packet.size(), packet.size()).malformed, Malformed::ip_truncated);
    EXPECT_EQ(parse_ip(packet, SIZE_MAX, packet.size()).malformed, Malformed::ip_truncated);
    EXPECT_TRUE(parse_ip(packet, packet.size(), packet.size() + 100).incomplete);
    const Bytes huge(70000, std::byte{0x45});
    EXPECT_TRUE(parse_ip(huge, 65536, huge.size()).incomplete) << "headers lie in the first 64 KB";
}

TEST(ParseIp, a_version_of_neither_family_is_bad) {
    const Bytes packet(40, std::byte{0x50});
    const auto parsed = parse_ip(packet, 0, packet.size());
    EXPECT_EQ(parsed.malformed, Malformed::ip_bad_version);
    EXPECT_EQ(parsed.ethertype, 0);
}

TEST(Malformed, every_value_has_a_name_of_its_own) {
    EXPECT_EQ(name(Malformed::none), "none");
    EXPECT_EQ(name(Malformed::ip_bad_length), "ip-bad-length");
    EXPECT_EQ(name(Malformed::l4_bad_length), "l4-bad-length");
}

}  // namespace
}  // namespace heddle::net
