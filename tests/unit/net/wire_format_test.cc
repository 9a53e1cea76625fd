#include <gtest/gtest.h>

#include <algorithm>

#include "bytes.h"
#include "net/arp.h"
#include "net/big_endian.h"
#include "net/ethernet.h"
#include "net/header_at.h"
#include "net/icmp.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/tcp.h"
#include "net/udp.h"

namespace heddle::net {
namespace {

static_assert(WireFormat<EthernetHeader> && WireFormat<VlanTag> && WireFormat<ArpHeader>);
static_assert(WireFormat<Ipv4Header> && WireFormat<Ipv6Header> && WireFormat<Ipv6RoutingHeader>);
static_assert(WireFormat<Ipv6ExtensionHeader> && WireFormat<Ipv6FragmentHeader>);
static_assert(WireFormat<AuthenticationHeader> && WireFormat<TcpHeader> && WireFormat<UdpHeader>);
static_assert(WireFormat<IcmpHeader>);
static_assert(!WireFormat<uint16_t>, "a native integer may not be laid over a frame");

/// Values 0, 1, 2 ... so that a field shows its offset and its byte order.
Bytes counting(size_t length) {
    Bytes result(length);
    for (size_t i = 0; i < length; ++i)
        result[i] = static_cast<std::byte>(i);
    return result;
}

TEST(BigEndian, bytes_lie_most_significant_first) {
    const be32_t value(0x01020304);
    EXPECT_TRUE(std::ranges::equal(bytes_of(value), bytes({1, 2, 3, 4})));
    EXPECT_EQ(value.value(), 0x01020304u);
}

TEST(BigEndian, memory_order_round_trips_without_a_swap) {
    const be64_t value(0x0102030405060708);
    EXPECT_EQ(be64_t::from_memory_order(value.memory_order()), value);
}

TEST(BigEndian, default_is_zero) {
    EXPECT_EQ(be16_t().value(), 0);
}

TEST(HeaderAt, a_header_that_ends_with_the_bytes_is_found_and_one_byte_later_is_null) {
    const Bytes data = counting(20);
    EXPECT_NE(header_at<UdpHeader>(std::span(data), 12), nullptr);
    EXPECT_EQ(header_at<UdpHeader>(std::span(data), 13), nullptr);
}

TEST(HeaderAt, an_offset_that_would_wrap_around_is_null) {
    const Bytes data = counting(20);
    EXPECT_EQ(header_at<UdpHeader>(std::span(data), SIZE_MAX), nullptr);
    EXPECT_EQ(header_at<UdpHeader>(std::span(data), SIZE_MAX - 7), nullptr);
}

TEST(EthernetHeader, fields_lie_where_802_3_puts_them) {
    const Bytes data = counting(14);
    const auto* header = header_at<EthernetHeader>(std::span(data), 0);
    EXPECT_EQ(header->destination, MacAddress(0, 1, 2, 3, 4, 5));
    EXPECT_EQ(header->source, MacAddress(6, 7, 8, 9, 10, 11));
    EXPECT_EQ(header->ethertype.value(), 0x0c0d);
}

TEST(EthernetHeader, single_load_of_an_address_equals_the_safe_one) {
    const Bytes data = counting(14);
    const auto* header = header_at<EthernetHeader>(std::span(data), 0);
    EXPECT_EQ(header->destination_u64(), header->destination.to_u64());
    EXPECT_EQ(header->source_u64(), header->source.to_u64());
}

TEST(VlanTag, tci_splits_into_priority_drop_eligibility_and_vlan_id) {
    const VlanTag tag{be16_t(0xb00a), be16_t(ethertype::kIpv4)};
    EXPECT_EQ(tag.pcp(), 5);
    EXPECT_TRUE(tag.dei());
    EXPECT_EQ(tag.vid(), 10);
    EXPECT_EQ(VlanTag::make_tci(5, true, 10), 0xb00a);
}

TEST(ArpHeader, fields_lie_where_rfc_826_puts_them) {
    const Bytes data = counting(28);
    const auto* header = header_at<ArpHeader>(std::span(data), 0);
    EXPECT_EQ(header->hardware_type.value(), 0x0001);
    EXPECT_EQ(header->protocol_type.value(), 0x0203);
    EXPECT_EQ(header->hardware_length, 4);
    EXPECT_EQ(header->protocol_length, 5);
    EXPECT_EQ(header->operation.value(), 0x0607);
    EXPECT_EQ(header->sender_mac, MacAddress(8, 9, 10, 11, 12, 13));
    EXPECT_EQ(header->sender_ip, Ipv4Address(14, 15, 16, 17));
    EXPECT_EQ(header->target_mac, MacAddress(18, 19, 20, 21, 22, 23));
    EXPECT_EQ(header->target_ip, Ipv4Address(24, 25, 26, 27));
    EXPECT_FALSE(header->is_ethernet_ipv4());
}

TEST(ArpHeader, default_is_ipv4_over_ethernet) {
    EXPECT_TRUE(ArpHeader().is_ethernet_ipv4());
}

TEST(ArpHeader, request_from_unspecified_address_is_a_probe) {
    ArpHeader header;
    header.operation = be16_t(arp_operation::kRequest);
    header.target_ip = Ipv4Address(10, 0, 0, 1);
    EXPECT_TRUE(header.is_probe());
    EXPECT_FALSE(header.is_announcement());
    header.sender_ip = header.target_ip;
    EXPECT_FALSE(header.is_probe());
    EXPECT_TRUE(header.is_announcement());
}

TEST(Ipv4Header, fields_lie_where_rfc_791_puts_them) {
    const Bytes data = counting(20);
    const auto* header = header_at<Ipv4Header>(std::span(data), 0);
    EXPECT_EQ(header->version_ihl, 0);
    EXPECT_EQ(header->dscp_ecn, 1);
    EXPECT_EQ(header->total_length.value(), 0x0203);
    EXPECT_EQ(header->identification.value(), 0x0405);
    EXPECT_EQ(header->flags_fragment.value(), 0x0607);
    EXPECT_EQ(header->ttl, 8);
    EXPECT_EQ(header->protocol, 9);
    EXPECT_EQ(header->checksum.value(), 0x0a0b);
    EXPECT_EQ(header->source, Ipv4Address(12, 13, 14, 15));
    EXPECT_EQ(header->destination, Ipv4Address(16, 17, 18, 19));
}

TEST(Ipv4Header, fragment_bits_read_as_flags_and_bytes) {
    Ipv4Header header;
    header.flags_fragment = be16_t(Ipv4Header::kDontFragment);
    EXPECT_TRUE(header.dont_fragment());
    EXPECT_FALSE(header.is_fragment());
    header.flags_fragment = be16_t(Ipv4Header::kMoreFragments | 185);
    EXPECT_TRUE(header.more_fragments());
    EXPECT_EQ(header.fragment_offset(), 1480);
    header.flags_fragment = be16_t(0x1fff);
    EXPECT_TRUE(header.is_fragment());
    EXPECT_EQ(header.fragment_offset(), 65528);
}

TEST(Ipv4Header, every_header_length_round_trips) {
    for (unsigned bytes = 20; bytes <= 60; bytes += 4) {
        Ipv4Header header;
        header.set_header_length(bytes);
        EXPECT_EQ(header.header_length(), bytes);
        EXPECT_EQ(header.version(), 4u);
    }
}

TEST(Ipv6Header, fields_lie_where_rfc_8200_puts_them) {
    const Bytes data = counting(40);
    const auto* header = header_at<Ipv6Header>(std::span(data), 0);
    EXPECT_EQ(header->version_class_flow.value(), 0x00010203u);
    EXPECT_EQ(header->payload_length.value(), 0x0405);
    EXPECT_EQ(header->next_header, 6);
    EXPECT_EQ(header->hop_limit, 7);
    EXPECT_EQ(header->source.bytes()[0], 8);
    EXPECT_EQ(header->destination.bytes()[0], 24);
}

TEST(Ipv6Header, first_word_splits_into_version_class_and_flow_label) {
    Ipv6Header header;
    header.version_class_flow = be32_t(0x6b9abcde);
    EXPECT_EQ(header.version(), 6u);
    EXPECT_EQ(header.traffic_class(), 0xb9);
    EXPECT_EQ(header.dscp(), 0x2e);
    EXPECT_EQ(header.ecn(), 1);
    EXPECT_EQ(header.flow_label(), 0xabcdeu);
}

TEST(Ipv6FragmentHeader, offset_is_in_bytes_and_an_atomic_fragment_is_none) {
    Ipv6FragmentHeader header;
    EXPECT_FALSE(header.is_fragment());
    header.offset_flags = be16_t(1448 | 1);
    EXPECT_EQ(header.fragment_offset(), 1448);
    EXPECT_TRUE(header.more_fragments());
    EXPECT_TRUE(header.is_fragment());
}

TEST(ExtensionHeader, lengths_count_words_of_eight_but_authentication_words_of_four) {
    EXPECT_EQ((Ipv6ExtensionHeader{0, 0}).length(), 8u);
    EXPECT_EQ((Ipv6ExtensionHeader{0, 255}).length(), 2048u);
    AuthenticationHeader authentication;
    authentication.length_field = 4;
    EXPECT_EQ(authentication.length(), 24u);
}

TEST(TcpHeader, fields_lie_where_rfc_9293_puts_them) {
    const Bytes data = counting(20);
    const auto* header = header_at<TcpHeader>(std::span(data), 0);
    EXPECT_EQ(header->source_port.value(), 0x0001);
    EXPECT_EQ(header->destination_port.value(), 0x0203);
    EXPECT_EQ(header->sequence.value(), 0x04050607u);
    EXPECT_EQ(header->acknowledgment.value(), 0x08090a0bu);
    EXPECT_EQ(header->data_offset_reserved, 12);
    EXPECT_EQ(header->flags, 13);
    EXPECT_EQ(header->window.value(), 0x0e0f);
    EXPECT_EQ(header->checksum.value(), 0x1011);
    EXPECT_EQ(header->urgent_pointer.value(), 0x1213);
    EXPECT_TRUE(header->has(tcp_flag::kFin | tcp_flag::kSyn));
    EXPECT_FALSE(header->has(tcp_flag::kSyn));
}

TEST(UdpHeader, fields_lie_where_rfc_768_puts_them) {
    const Bytes data = counting(8);
    const auto* header = header_at<UdpHeader>(std::span(data), 0);
    EXPECT_EQ(header->source_port.value(), 0x0001);
    EXPECT_EQ(header->destination_port.value(), 0x0203);
    EXPECT_EQ(header->length.value(), 0x0405);
    EXPECT_EQ(header->checksum.value(), 0x0607);
}

TEST(IcmpHeader, fields_lie_where_rfc_792_puts_them) {
    const Bytes data = counting(8);
    const auto* header = header_at<IcmpHeader>(std::span(data), 0);
    EXPECT_EQ(header->type, 0);
    EXPECT_EQ(header->code, 1);
    EXPECT_EQ(header->checksum.value(), 0x0203);
    EXPECT_EQ(header->identifier().value(), 0x0405);
    EXPECT_EQ(header->sequence().value(), 0x0607);
    EXPECT_EQ(header->next_hop_mtu(), 0x0607);
    EXPECT_EQ(header->mtu(), 0x04050607u);
}

}  // namespace
}  // namespace heddle::net
