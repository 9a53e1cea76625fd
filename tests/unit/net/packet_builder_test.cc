#include "net/packet_builder.h"

#include <gtest/gtest.h>

#include "bytes.h"
#include "net/checksum.h"
#include "net/header_at.h"
#include "net/l4_checksum.h"
#include "net/parser.h"
#include "net/udp.h"

namespace heddle::net {
namespace {

const MacAddress kMac1(2, 0, 0, 0, 0, 1);
const MacAddress kMac2(2, 0, 0, 0, 0, 2);

TEST(PacketBuilder, an_arp_request_has_the_bytes_of_rfc_826) {
    ArpHeader request;
    request.operation = be16_t(arp_operation::kRequest);
    request.sender_mac = kMac1;
    request.sender_ip = Ipv4Address(10, 0, 0, 1);
    request.target_ip = Ipv4Address(10, 0, 0, 2);
    EXPECT_EQ(PacketBuilder().ethernet(kMac1, MacAddress::broadcast()).arp(request).build(),
              bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0, 0, 0, 0, 1, 8, 6,               //
                     0,    1,    8,    0,    6,    4,    0,  1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1,  //
                     0,    0,    0,    0,    0,    0,    10, 0, 0, 2}));
}

TEST(PacketBuilder, an_ipv4_udp_packet_has_lengths_and_checksums_worked_out_by_hand) {
    EXPECT_EQ(PacketBuilder()
                  .ipv4({192, 0, 2, 1}, {192, 0, 2, 2}, {.identification = 1})
                  .udp(1, 2)
                  .payload(bytes({0xab}))
                  .build(),
              bytes({0x45, 0,    0,   29, 0, 1, 0,    0,    64,  17,
                     0xf6, 0xcb, 192, 0,  2, 1, 192,  0,    2,   2,  //
                     0,    1,    0,   2,  0, 9, 0xd0, 0xd4, 0xab}));
}

TEST(PacketBuilder, a_computed_udp_checksum_of_zero_is_sent_as_ones) {
    const auto build = [](uint16_t source_port) {
        return PacketBuilder().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}).udp(source_port, 0).build();
    };
    // Port 0 gives the complement of everything else; that value as the port sums to 0xffff.
    const be16_t rest = header_at<UdpHeader>(std::span<const std::byte>(build(0)), 20)->checksum;
    const Bytes frame = build(rest.value());
    EXPECT_EQ(header_at<UdpHeader>(std::span(frame), 20)->checksum, be16_t(0xffff));
}

TEST(PacketBuilder, tags_announce_what_follows_them) {
    const Bytes frame = PacketBuilder()
                            .ethernet(kMac1, kMac2)
                            .vlan(7, 3, ethertype::kServiceVlan)
                            .vlan(9)
                            .arp(ArpHeader())
                            .build();
    const auto parsed = parse_frame(frame, frame.size());
    EXPECT_EQ(parsed.vlan_count, 2);
    EXPECT_EQ(parsed.vlan_tci, VlanTag::make_tci(3, false, 7));
    EXPECT_EQ(parsed.ethertype, ethertype::kArp);
    EXPECT_EQ(header_at<VlanTag>(std::span(frame), 18)->vid(), 9);
}

TEST(PacketBuilder, options_are_padded_to_words_and_covered_by_the_checksum) {
    const Bytes frame = PacketBuilder()
                            .ipv4({10, 0, 0, 1}, {10, 0, 0, 2}, {.options = Bytes(5, std::byte{1})})
                            .tcp(1, 2, {.options = Bytes(3, std::byte{1})})
                            .build();
    EXPECT_EQ(frame.size(), 28u + 24u);
    EXPECT_TRUE(ipv4_header_checksum_ok(std::span(frame).first(28)));
    const auto parsed = parse_ip(frame, 0, frame.size());
    EXPECT_EQ(parsed.payload_offset, 52);
    EXPECT_EQ(verify_l4_checksum(frame, parsed), L4ChecksumState::good);
}

TEST(PacketBuilder, a_tunnel_has_right_lengths_and_checksums_inside_and_outside) {
    const auto ip6a = Ipv6Address::parse("fd00::a").value();
    const auto ip6b = Ipv6Address::parse("fd00::b").value();
    const Bytes vxlan = bytes({8, 0, 0, 0, 0, 0, 42, 0});
    const Bytes frame = PacketBuilder()
                            .ethernet(kMac1, kMac2)
                            .ipv6(ip6a, ip6b)
                            .udp(49152, 4789)
                            .payload(vxlan)
                            .ethernet(kMac2, kMac1)
                            .ipv4({10, 0, 0, 1}, {10, 0, 0, 2})
                            .tcp(1, 2)
                            .payload(101)
                            .build();
    const auto outer = parse_frame(frame, frame.size());
    EXPECT_EQ(outer.l4_length, frame.size() - 54);
    EXPECT_EQ(verify_l4_checksum(frame, outer), L4ChecksumState::good);
    const auto inner = parse_ip(frame, 54 + 8 + 8 + 14, frame.size());
    EXPECT_EQ(inner.l3_length, 20u + 20u + 101u);
    EXPECT_TRUE(inner.has_l4(ip_protocol::kTcp));
    EXPECT_EQ(verify_l4_checksum(frame, inner), L4ChecksumState::good);
    EXPECT_TRUE(ipv4_header_checksum_ok(std::span(frame).subspan(inner.l3_offset, 20)));
}

TEST(PacketBuilder, ip_in_ip_is_announced_by_its_protocol) {
    const Bytes packet = PacketBuilder()
                             .ipv4({192, 0, 2, 1}, {192, 0, 2, 2})
                             .ipv4({10, 0, 0, 1}, {10, 0, 0, 2})
                             .icmp(8, 0)
                             .build();
    EXPECT_EQ(header_at<Ipv4Header>(std::span(packet), 0)->protocol, ip_protocol::kIpv4);
    EXPECT_EQ(header_at<Ipv4Header>(std::span(packet), 20)->protocol, ip_protocol::kIcmp);
}

TEST(PacketBuilder, building_twice_gives_the_same_frame) {
    const auto builder = PacketBuilder().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}).tcp(1, 2).padding(3);
    EXPECT_EQ(builder.build(), builder.build());
}

}  // namespace
}  // namespace heddle::net
