#include "net/l4_checksum.h"

#include <gtest/gtest.h>

#include "bytes.h"
#include "net/header_at.h"
#include "net/packet_builder.h"
#include "net/udp.h"

namespace heddle::net {
namespace {

const Ipv6Address kIp6a = Ipv6Address::parse("fd00::a").value();
const Ipv6Address kIp6b = Ipv6Address::parse("fd00::b").value();

PacketBuilder ethernet() {
    return PacketBuilder().ethernet(MacAddress(2, 0, 0, 0, 0, 1), MacAddress(2, 0, 0, 0, 0, 2));
}
PacketBuilder ipv4(const Ipv4Fields& fields = {}) {
    return ethernet().ipv4({10, 0, 0, 1}, {10, 0, 0, 2}, fields);
}
PacketBuilder ipv6() {
    return ethernet().ipv6(kIp6a, kIp6b);
}

L4ChecksumState verify(const Bytes& frame) {
    return verify_l4_checksum(frame, parse_frame(frame, frame.size()));
}

TEST(L4Checksum, of_every_protocol_is_good_as_sent_and_bad_after_a_change) {
    for (const auto& builder :
         {ipv4().tcp(1, 2).payload(11), ipv4().udp(1, 2).payload(11), ipv4().icmp(8, 0).payload(11),
          ipv6().tcp(1, 2).payload(11), ipv6().udp(1, 2).payload(11),
          ipv6().icmpv6(128, 0).payload(11), ipv6().icmpv6(136, 0)}) {
        Bytes frame = PacketBuilder(builder).padding(7).build();
        EXPECT_EQ(verify(frame), L4ChecksumState::good);
        frame[frame.size() - 8] ^= std::byte{0x10};
        EXPECT_EQ(verify(frame), L4ChecksumState::bad);
    }
}

TEST(L4Checksum, covers_the_addresses_except_for_icmpv4) {
    constexpr size_t kSource = 14 + 12;
    Bytes tcp = ipv4().tcp(1, 2).build();
    tcp[kSource] ^= std::byte{1};
    EXPECT_EQ(verify(tcp), L4ChecksumState::bad);
    Bytes icmp = ipv4().icmp(8, 0).build();
    icmp[kSource] ^= std::byte{1};
    EXPECT_EQ(verify(icmp), L4ChecksumState::good);
    Bytes icmpv6 = ipv6().icmpv6(128, 0).build();
    icmpv6[14 + 8] ^= std::byte{1};
    EXPECT_EQ(verify(icmpv6), L4ChecksumState::bad);
}

TEST(L4Checksum, absent_udp_checksum_is_unverifiable) {
    Bytes frame = ipv4().udp(1, 2).payload(10).build();
    const size_t field = 34 + offsetof(UdpHeader, checksum);
    frame[field] = frame[field + 1] = std::byte{0};
    EXPECT_EQ(verify(frame), L4ChecksumState::unverifiable);
}

TEST(L4Checksum, of_fragments_unknown_protocols_and_unfinished_routes_is_unverifiable) {
    EXPECT_EQ(
        verify(ipv4({.flags_fragment = Ipv4Header::kMoreFragments}).udp(1, 2).payload(8).build()),
        L4ChecksumState::unverifiable);
    EXPECT_EQ(verify(ipv4({.protocol = ip_protocol::kSctp}).payload(20).build()),
              L4ChecksumState::unverifiable);
    EXPECT_EQ(verify(ethernet().arp(ArpHeader()).build()), L4ChecksumState::unverifiable);
    Bytes routing(24);
    routing[1] = std::byte{2};
    routing[3] = std::byte{1};
    EXPECT_EQ(verify(ipv6().ipv6_extension(ip_protocol::kRouting, routing).tcp(1, 2).build()),
              L4ChecksumState::unverifiable);
}

TEST(L4Checksum, of_a_truncated_message_is_unverifiable) {
    const Bytes frame = ipv4().tcp(1, 2).payload(100).build();
    const auto head = std::span(frame).first(100);
    EXPECT_EQ(verify_l4_checksum(head, parse_frame(head, frame.size())),
              L4ChecksumState::unverifiable);
}

TEST(L4Checksum, a_partial_field_is_the_sum_with_which_the_complete_one_begins) {
    for (const auto& builder : {ipv4().tcp(1, 2).payload(33), ipv6().udp(1, 2).payload(32)}) {
        const Bytes partial = PacketBuilder(builder).partial_checksum().build();
        const auto parsed = parse_frame(partial, partial.size());
        const size_t field = parsed.l4_offset + l4_checksum_offset(parsed).value();
        const be16_t sum = *header_at<be16_t>(std::span(partial), field);
        EXPECT_EQ(begin_l4_checksum(partial, parsed)->sum(), sum);

        // Summing the message with the partial field in it completes the checksum (virtio,
        // CHECKSUM_PARTIAL).
        Bytes completed = partial;
        const auto message = std::span(completed).subspan(parsed.l4_offset, parsed.l4_length);
        *header_at<be16_t>(std::span(completed), field) = checksum(message);
        EXPECT_EQ(completed, builder.build());
    }
}

}  // namespace
}  // namespace heddle::net
