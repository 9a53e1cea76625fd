#include "net/neighbor_discovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "bytes.h"
#include "net/header_at.h"
#include "net/packet_builder.h"

namespace heddle::net {
namespace {

const MacAddress kMac(0x02, 0x11, 0x22, 0x33, 0x44, 0x55);
const Ipv6Address kSource = Ipv6Address::parse("fe80::1").value();
const Ipv6Address kTarget = Ipv6Address::parse("2001:db8::12:3456").value();
const Ipv6Address kSolicitedNode = Ipv6Address::parse("ff02::1:ff12:3456").value();

const Bytes kSourceMacOption = bytes({1, 1, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55});
const Bytes kTargetMacOption = bytes({2, 1, 0x02, 0x11, 0x22, 0x33, 0x44, 0x55});
const Bytes kNonceOption = bytes({14, 1, 1, 2, 3, 4, 5, 6});  // RFC 3971, known to no parser here

Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Bytes address_bytes(const Ipv6Address& address) {
    const auto view = bytes_of(address);
    return {view.begin(), view.end()};
}

/// A message and the header in front of it, with everything open to damage.
struct Packet {
    Ipv6Header ip;
    Bytes message;

    Packet(const Ipv6Address& destination, Bytes content) : message(std::move(content)) {
        ip.hop_limit = 255;
        ip.next_header = 58;
        ip.source = kSource;
        ip.destination = destination;
        seal();
    }

    /// RFC 1071 and RFC 8200, section 8.1, the slow way.
    void seal() {
        ip.payload_length = be16_t(static_cast<uint16_t>(message.size()));
        if (message.size() < 4) return;
        message[2] = message[3] = std::byte{0};
        Bytes all = address_bytes(ip.source) + address_bytes(ip.destination);
        const auto length = static_cast<int>(message.size());
        all = all + bytes({0, 0, length >> 8, length & 0xff, 0, 0, 0, 58}) + message;
        if (all.size() % 2 != 0) all.push_back(std::byte{0});
        unsigned sum = 0;
        for (size_t i = 0; i < all.size(); i += 2) {
            sum += std::to_integer<unsigned>(all[i]) << 8 | std::to_integer<unsigned>(all[i + 1]);
            sum = (sum & 0xffff) + (sum >> 16);
        }
        message[2] = static_cast<std::byte>(~sum >> 8);
        message[3] = static_cast<std::byte>(~sum);
    }
};

Packet solicitation(const Bytes& options = kSourceMacOption) {
    return {kSolicitedNode, bytes({135, 0, 0, 0, 0, 0, 0, 0}) + address_bytes(kTarget) + options};
}
Packet advertisement(int flags = 0xe0, const Bytes& options = kTargetMacOption) {
    return {kTarget, bytes({136, 0, 0, 0, flags, 0, 0, 0}) + address_bytes(kTarget) + options};
}
Packet router_solicitation(const Bytes& options = kSourceMacOption) {
    return {kAllRouters, bytes({133, 0, 0, 0, 0, 0, 0, 0}) + options};
}

/// Parses a copy of the message that lies in a block of its own length, so that AddressSanitizer
/// sees a read behind it.
template <class Parser>
auto parse(Parser parser, const Packet& packet, NdChecksum checksum = NdChecksum::verify) {
    const auto copy = std::make_unique<std::byte[]>(packet.message.size());
    std::copy(packet.message.begin(), packet.message.end(), copy.get());
    return parser(packet.ip, std::span(copy.get(), packet.message.size()), checksum);
}
NdDefect of_solicitation(const Packet& packet, NdChecksum checksum = NdChecksum::verify) {
    return parse(parse_neighbor_solicitation, packet, checksum).defect;
}
NdDefect of_advertisement(const Packet& packet, NdChecksum checksum = NdChecksum::verify) {
    return parse(parse_neighbor_advertisement, packet, checksum).defect;
}
NdDefect of_router_solicitation(const Packet& packet, NdChecksum checksum = NdChecksum::verify) {
    return parse(parse_router_solicitation, packet, checksum).defect;
}

struct Kind {
    const char* name;
    Packet packet;
    size_t fixed_length;
    NdDefect (*defect)(const Packet&, NdChecksum);
};
std::vector<Kind> kinds() {
    return {{"solicitation", solicitation(), 24, of_solicitation},
            {"advertisement", advertisement(), 24, of_advertisement},
            {"router solicitation", router_solicitation(), 8, of_router_solicitation}};
}

/// `change` is made to one valid message of each kind; checksum and length are right afterwards.
template <class Change>
void expect_defect(NdDefect defect, Change change) {
    for (Kind& kind : kinds()) {
        SCOPED_TRACE(kind.name);
        ASSERT_EQ(kind.defect(kind.packet, NdChecksum::verify), NdDefect::none);
        change(kind.packet);
        kind.packet.seal();
        EXPECT_EQ(kind.defect(kind.packet, NdChecksum::verify), defect);
    }
}

TEST(NeighborDiscovery, SolicitationIsReadInFull) {
    const auto parsed = parse(parse_neighbor_solicitation, solicitation());
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->source, kSource);
    EXPECT_EQ(parsed->destination, kSolicitedNode);
    EXPECT_EQ(parsed->target, kTarget);
    EXPECT_EQ(parsed->source_mac, kMac);
    EXPECT_FALSE(parsed->is_duplicate_address_detection());
}

TEST(NeighborDiscovery, AdvertisementIsReadInFull) {
    for (const int flags : {0x00, 0x80, 0x40, 0x20, 0xff}) {
        const auto parsed = parse(parse_neighbor_advertisement, advertisement(flags));
        ASSERT_TRUE(parsed);
        EXPECT_EQ(parsed->source, kSource);
        EXPECT_EQ(parsed->destination, kTarget);
        EXPECT_EQ(parsed->target, kTarget);
        EXPECT_EQ(parsed->target_mac, kMac);
        EXPECT_EQ(parsed->router, (flags & 0x80) != 0);
        EXPECT_EQ(parsed->solicited, (flags & 0x40) != 0);
        EXPECT_EQ(parsed->override_cached, (flags & 0x20) != 0);
    }
}

TEST(NeighborDiscovery, RouterSolicitationIsReadInFull) {
    const auto parsed = parse(parse_router_solicitation, router_solicitation());
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->source, kSource);
    EXPECT_EQ(parsed->source_mac, kMac);
}

TEST(NeighborDiscovery, MessagesWithoutOptionsAreValid) {
    const auto solicited = parse(parse_neighbor_solicitation, solicitation({}));
    ASSERT_TRUE(solicited);
    EXPECT_EQ(solicited->source_mac, std::nullopt);
    const auto advertised = parse(parse_neighbor_advertisement, advertisement(0x40, {}));
    ASSERT_TRUE(advertised);
    EXPECT_EQ(advertised->target_mac, std::nullopt);
    EXPECT_EQ(of_router_solicitation(router_solicitation({})), NdDefect::none);
}

TEST(NeighborDiscovery, MessagesOfPacketBuilderAreValid) {
    const Bytes body = address_bytes(kTarget) + kSourceMacOption;
    const Bytes frame = PacketBuilder()
                            .ipv6(kSource, kSolicitedNode, {.hop_limit = 255})
                            .icmpv6(icmpv6_type::kNeighborSolicitation, 0)
                            .payload(body)
                            .build();
    const auto parsed = parse_neighbor_solicitation(
        *header_at<Ipv6Header>(std::span<const std::byte>(frame), 0),
        std::span(frame).subspan(sizeof(Ipv6Header)), NdChecksum::verify);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->target, kTarget);
}

TEST(NeighborDiscovery, UnknownOptionsAreSteppedOver) {
    const Bytes options = kNonceOption + kTargetMacOption + kSourceMacOption + kNonceOption;
    EXPECT_EQ(parse(parse_neighbor_solicitation, solicitation(options))->source_mac, kMac);
    EXPECT_EQ(parse(parse_neighbor_advertisement, advertisement(0, options))->target_mac, kMac);
    EXPECT_EQ(parse(parse_router_solicitation, router_solicitation(options))->source_mac, kMac);
}

TEST(NeighborDiscovery, LinkLayerAddressOfTheOtherKindIsNotTaken) {
    EXPECT_EQ(parse(parse_neighbor_solicitation, solicitation(kTargetMacOption))->source_mac,
              std::nullopt);
    EXPECT_EQ(parse(parse_neighbor_advertisement, advertisement(0, kSourceMacOption))->target_mac,
              std::nullopt);
}

TEST(NeighborDiscovery, OfTwoLinkLayerAddressesTheFirstCounts) {
    const Bytes other = bytes({1, 1, 2, 9, 9, 9, 9, 9});
    EXPECT_EQ(
        parse(parse_neighbor_solicitation, solicitation(kSourceMacOption + other))->source_mac,
        kMac);
}

TEST(NeighborDiscovery, AnyHopLimitBut255IsADefect) {
    for (const uint8_t hop_limit : {0, 1, 64, 254}) {
        expect_defect(NdDefect::bad_hop_limit, [&](Packet& p) { p.ip.hop_limit = hop_limit; });
    }
}

TEST(NeighborDiscovery, AnyCodeBut0IsADefect) {
    expect_defect(NdDefect::bad_code, [](Packet& p) { p.message[1] = std::byte{1}; });
}

TEST(NeighborDiscovery, AnotherTypeIsADefect) {
    expect_defect(NdDefect::wrong_type, [](Packet& p) { p.message[0] = std::byte{137}; });
}

TEST(NeighborDiscovery, MulticastSourceIsADefect) {
    expect_defect(NdDefect::bad_source, [](Packet& p) { p.ip.source = kAllNodes; });
}

TEST(NeighborDiscovery, EveryFlippedBitOfTheMessageIsSeenUnlessTheChecksumIsTrusted) {
    for (Kind& kind : kinds()) {
        for (size_t bit = 8 * 2; bit < 8 * kind.packet.message.size(); ++bit) {
            Packet damaged = kind.packet;
            damaged.message[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
            EXPECT_EQ(kind.defect(damaged, NdChecksum::verify), NdDefect::bad_checksum);
        }
        Packet unsealed = kind.packet;
        unsealed.message[2] ^= std::byte{1};
        EXPECT_EQ(kind.defect(unsealed, NdChecksum::trusted), NdDefect::none);
    }
}

TEST(NeighborDiscovery, ChecksumCoversAddresses) {
    for (Kind& kind : kinds()) {
        kind.packet.ip.source = Ipv6Address::parse("fe80::2").value();
        EXPECT_EQ(kind.defect(kind.packet, NdChecksum::verify), NdDefect::bad_checksum);
    }
}

TEST(NeighborDiscovery, MulticastTargetIsADefect) {
    const auto change = [](Packet packet) {
        packet.message[8] = std::byte{0xff};
        packet.seal();
        return packet;
    };
    EXPECT_EQ(of_solicitation(change(solicitation())), NdDefect::bad_target);
    EXPECT_EQ(of_advertisement(change(advertisement())), NdDefect::bad_target);
}

TEST(NeighborDiscovery, DuplicateAddressDetectionGoesToASolicitedNodeAddressOnly) {
    const auto from_nowhere_to = [](const Ipv6Address& destination, const Bytes& options = {}) {
        Packet packet = solicitation(options);
        packet.ip.source = {};
        packet.ip.destination = destination;
        packet.seal();
        return packet;
    };
    const auto parsed = parse(parse_neighbor_solicitation, from_nowhere_to(kSolicitedNode));
    ASSERT_TRUE(parsed);
    EXPECT_TRUE(parsed->is_duplicate_address_detection());
    for (const char* other : {"ff02::1", "2001:db8::12:3456", "ff02::1:fe12:3456",
                              "ff05::1:ff12:3456", "ff02::2:ff12:3456"}) {
        EXPECT_EQ(of_solicitation(from_nowhere_to(Ipv6Address::parse(other).value())),
                  NdDefect::bad_destination)
            << other;
    }
    EXPECT_EQ(of_solicitation(from_nowhere_to(kSolicitedNode, kSourceMacOption)),
              NdDefect::unexpected_link_layer_address);
    EXPECT_EQ(of_solicitation(from_nowhere_to(kSolicitedNode, kNonceOption)), NdDefect::none);
}

TEST(NeighborDiscovery, RouterSolicitationFromNowhereHasNoLinkLayerAddress) {
    for (const bool with_mac : {false, true}) {
        Packet packet = router_solicitation(with_mac ? kSourceMacOption : Bytes());
        packet.ip.source = {};
        packet.seal();
        EXPECT_EQ(of_router_solicitation(packet),
                  with_mac ? NdDefect::unexpected_link_layer_address : NdDefect::none);
    }
}

TEST(NeighborDiscovery, AdvertisementToMulticastMustNotBeSolicited) {
    for (const int flags : {0xa0, 0xe0, 0x40}) {
        Packet packet = advertisement(flags);
        packet.ip.destination = kAllNodes;
        packet.seal();
        EXPECT_EQ(of_advertisement(packet),
                  (flags & 0x40) != 0 ? NdDefect::solicited_multicast : NdDefect::none);
    }
}

TEST(NeighborDiscovery, OptionsMustHaveALengthWithinTheMessage) {
    for (const Bytes& option : {
             bytes({14, 0, 0, 0, 0, 0, 0, 0}),  // would never end
             bytes({14, 2, 0, 0, 0, 0, 0, 0}),  // one unit too long
             bytes({14, 255, 0, 0, 0, 0, 0, 0}),
             bytes({14, 1, 0, 0, 0, 0, 0}),  // cut off
             bytes({14, 1}),
             bytes({14}),
         }) {
        for (const bool behind_another : {false, true}) {
            expect_defect(NdDefect::bad_option_length, [&](Packet& p) {
                if (!behind_another) p.message.resize(p.message.size() - 8);
                p.message = p.message + option;
            });
        }
    }
}

TEST(NeighborDiscovery, LinkLayerAddressesAreOneUnicastMacEach) {
    for (const Bytes& rest : {
             bytes({2, 2, 0x11, 0x22, 0x33, 0x44, 0x55, 0, 0, 0, 0, 0, 0, 0, 0}),  // 16 bytes
             bytes({1, 0x03, 0x11, 0x22, 0x33, 0x44, 0x55}),                       // multicast
             bytes({1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),                       // broadcast
             bytes({1, 0, 0, 0, 0, 0, 0}),
         }) {
        for (const bool second : {false, true}) {
            expect_defect(NdDefect::bad_link_layer_address, [&](Packet& p) {
                const Bytes type = bytes({p.message[0] == std::byte{136} ? 2 : 1});
                if (!second) p.message.resize(p.message.size() - 8);
                p.message = p.message + type + rest;
            });
        }
    }
}

TEST(NeighborDiscovery, TruncationAtEveryByteIsSeen) {
    for (Kind& kind : kinds()) {
        for (size_t length = 0; length < kind.packet.message.size(); ++length) {
            Packet cut = kind.packet;
            cut.message.resize(length);
            cut.seal();
            const NdDefect expected = length < kind.fixed_length    ? NdDefect::truncated
                                      : length == kind.fixed_length ? NdDefect::none
                                                                    : NdDefect::bad_option_length;
            EXPECT_EQ(kind.defect(cut, NdChecksum::verify), expected) << kind.name << length;
        }
    }
}

TEST(NeighborDiscovery, RandomBytesAreNeverReadBeyondAndOnlyWellFormedOnesPass) {
    Random random(7);
    size_t accepted = 0;
    for (int round = 0; round < 50'000; ++round) {
        Kind kind = kinds()[below(random, 3)];
        const auto type = kind.packet.message[0];
        kind.packet.message = random_bytes(random, below(random, 80));
        if (!kind.packet.message.empty()) kind.packet.message[0] = type;
        if (kind.packet.message.size() > 1) kind.packet.message[1] = std::byte{0};
        // Lengths that are plausible get further into the options.
        for (size_t i = kind.fixed_length + 1; i < kind.packet.message.size(); i += 8)
            kind.packet.message[i] = static_cast<std::byte>(below(random, 3));
        accepted += kind.defect(kind.packet, NdChecksum::trusted) == NdDefect::none ? 1 : 0;
    }
    EXPECT_GT(accepted, 500u);
}

TEST(NeighborDiscovery, SolicitedNodeAddressHasTheLast24Bits) {
    // The example of RFC 4291, section 2.7.1.
    const auto address = Ipv6Address::parse("4037::01:800:200E:8C6C").value();
    const auto group = Ipv6Address::parse("FF02::1:FF0E:8C6C").value();
    EXPECT_EQ(solicited_node_multicast(address), group);
    EXPECT_TRUE(is_solicited_node_multicast(group));
    EXPECT_FALSE(is_solicited_node_multicast(address));
    EXPECT_FALSE(is_solicited_node_multicast(kAllNodes));
}

TEST(NeighborDiscovery, MulticastMacHasTheLast32Bits) {
    EXPECT_EQ(multicast_mac(kAllNodes), MacAddress(0x33, 0x33, 0, 0, 0, 1));
    EXPECT_EQ(multicast_mac(kSolicitedNode), MacAddress(0x33, 0x33, 0xff, 0x12, 0x34, 0x56));
}

TEST(NeighborDiscovery, LinkLocalAddressInvertsTheUniversalBit) {
    // The example of RFC 2464, section 4.
    EXPECT_EQ(link_local_address(MacAddress(0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde)),
              Ipv6Address::parse("fe80::3656:78ff:fe9a:bcde").value());
    EXPECT_EQ(link_local_address(kMac), Ipv6Address::parse("fe80::11:22ff:fe33:4455").value());
}

TEST(NeighborDiscovery, WireFormatsHaveTheFieldsOfRfc4861) {
    NdRouterAdvertisement advertisement;
    advertisement.hop_limit = 0x11;
    advertisement.flags = NdRouterAdvertisement::kManaged;
    advertisement.lifetime = be16_t(0x2233);
    advertisement.reachable = be32_t(0x44556677);
    advertisement.retransmit = be32_t(0x8899aabb);
    EXPECT_TRUE(std::ranges::equal(bytes_of(advertisement),
                                   bytes({134, 0, 0, 0, 0x11, 0x80, 0x22, 0x33, 0x44, 0x55, 0x66,
                                          0x77, 0x88, 0x99, 0xaa, 0xbb})));

    NdPrefixInformationOption prefix;
    prefix.prefix_length = 64;
    prefix.flags = NdPrefixInformationOption::kOnLink | NdPrefixInformationOption::kAutonomous;
    prefix.valid_lifetime = be32_t(1);
    prefix.preferred_lifetime = be32_t(2);
    prefix.prefix = kSource;
    EXPECT_TRUE(std::ranges::equal(
        bytes_of(prefix),
        bytes({3, 4, 64, 0xc0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0}) + address_bytes(kSource)));

    EXPECT_TRUE(std::ranges::equal(bytes_of(NdMtuOption{.reserved = {}, .mtu = be32_t(1500)}),
                                   bytes({5, 1, 0, 0, 0, 0, 0x05, 0xdc})));
}

}  // namespace
}  // namespace heddle::net
