#include "port/vnet_header.h"

#include <gmock/gmock.h>

#include <functional>
#include <string>

#include "packet/checksum.h"
#include "packet/frame.h"
#include "packet/segment.h"
#include "support/eal.h"
#include "support/frames.h"
#include "support/packet_model.h"

namespace heddle::port {
namespace {

using packet::DropReason;
using packet::Gso;
using packet::L4Checksum;
using packet::metadata;
using packet::Metadata;
using test::Bytes;
using test::bytes_of;
using test::ChecksumField;
using test::FramePtr;
using test::make_frame;
using test::PacketModel;
using test::TunnelModel;

constexpr uint8_t kNeedsChecksum = VnetHeader::kNeedsChecksum;
constexpr uint8_t kDataValid = VnetHeader::kDataValid;

/// What Linux puts in front of a frame of this content.
VnetHeader linux_header(const PacketModel& model, uint16_t gso_size = 0) {
    VnetHeader header{.flags = kNeedsChecksum,
                      .csum_start = static_cast<uint16_t>(model.l4_offset()),
                      .csum_offset = static_cast<uint16_t>(model.udp ? 6 : 16)};
    if (gso_size != 0) {
        header.gso_type = model.udp  ? VnetHeader::kGsoUdp
                          : model.v6 ? VnetHeader::kGsoTcp6
                                     : VnetHeader::kGsoTcp4;
        header.gso_size = gso_size;
        header.hdr_len = static_cast<uint16_t>(model.payload_offset());
    }
    return header;
}

/// As above: of the tunnel it says nothing but where the inner checksum is.
VnetHeader linux_header(const TunnelModel& model, uint16_t gso_size) {
    VnetHeader header = linux_header(model.inner, gso_size);
    header.csum_start = static_cast<uint16_t>(model.inner_base() + model.inner.l4_offset());
    header.hdr_len = static_cast<uint16_t>(model.inner_base() + model.inner.payload_offset());
    return header;
}

bool operator==(const VnetHeader& a, const VnetHeader& b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

class VnetHeaderTest : public test::PoolTest {
 protected:
    FramePtr frame_of(const PacketModel& model) {
        return make_frame(pools(), model.bytes(ChecksumField::partial), test::arena_split());
    }

    void expect_metadata(const rte_mbuf* frame, const Metadata& expected) {
        EXPECT_EQ(std::memcmp(&metadata(frame), &expected, sizeof(expected)), 0)
            << "l4_checksum " << int(metadata(frame).l4_checksum) << " gso "
            << int(metadata(frame).gso) << " l4_offset " << metadata(frame).l4_offset;
    }

    void expect_bad(const VnetHeader& header, FramePtr frame) {
        const Bytes before = bytes_of(frame.get());
        const auto verdict = from_vnet_header(header, frame.get());
        ASSERT_FALSE(verdict);
        EXPECT_EQ(verdict.error(), DropReason::bad_vnet_header);
        EXPECT_EQ(bytes_of(frame.get()), before);
        expect_metadata(frame.get(), Metadata{});
    }

    std::mt19937 random_{4};
};

TEST_F(VnetHeaderTest, PlainFramesAreNotEvenParsed) {
    const FramePtr frame = make_frame(pools(), Bytes(60, 0));
    ASSERT_TRUE(from_vnet_header(VnetHeader{}, frame.get()));
    expect_metadata(frame.get(), Metadata{});
    EXPECT_TRUE(to_vnet_header(frame.get()) == VnetHeader{});
}

TEST_F(VnetHeaderTest, DataValidMakesTheChecksumGoodAndBack) {
    const FramePtr frame = make_frame(pools(), Bytes(60, 0));
    ASSERT_TRUE(from_vnet_header({.flags = kDataValid}, frame.get()));
    expect_metadata(frame.get(), {.l4_checksum = L4Checksum::good});
    EXPECT_TRUE(to_vnet_header(frame.get()) == VnetHeader{.flags = kDataValid});
}

TEST_F(VnetHeaderTest, BadAndUnknownChecksumsSayNothing) {
    const FramePtr frame = make_frame(pools(), Bytes(60, 0));
    metadata(frame.get()).l4_checksum = L4Checksum::bad;
    EXPECT_TRUE(to_vnet_header(frame.get()) == VnetHeader{});
}

/// Field case 1.1: what Linux sends is understood and said again in the same words.
TEST_F(VnetHeaderTest, PartialChecksumsAndSuperframesSurviveTheRoundTrip) {
    for (const bool v6 : {false, true}) {
        for (const bool udp : {false, true}) {
            for (const unsigned vlan_tags : {0u, 1u, 2u}) {
                for (const uint16_t gso_size : {0, 1448}) {
                    PacketModel model{.v6 = v6, .udp = udp, .vlan_tags = vlan_tags};
                    model.payload = Bytes(gso_size == 0 ? 500 : 50000, 1);
                    const FramePtr frame = frame_of(model);
                    const VnetHeader header = linux_header(model, gso_size);
                    ASSERT_TRUE(from_vnet_header(header, frame.get()));
                    expect_metadata(frame.get(), model.metadata(L4Checksum::partial, gso_size));
                    EXPECT_TRUE(to_vnet_header(frame.get()) == header);
                }
            }
        }
    }
}

TEST_F(VnetHeaderTest, PartialBehindIpOptionsAndExtensionHeadersIsUnderstood) {
    const PacketModel v4{.ip_options = Bytes(8, 1), .payload = Bytes(10, 1)};
    PacketModel v6{.v6 = true, .udp = true, .payload = Bytes(10, 1)};
    v6.extensions.push_back({0, {0, 1, 4, 0, 0, 0, 0}});
    for (const PacketModel& model : {v4, v6}) {
        const FramePtr frame = frame_of(model);
        ASSERT_TRUE(from_vnet_header(linux_header(model), frame.get()));
        expect_metadata(frame.get(), model.metadata(L4Checksum::partial));
    }
}

TEST_F(VnetHeaderTest, EcnBitIsKeptForTcpOnly) {
    const PacketModel tcp{.tcp_flags = 0xd0, .payload = Bytes(5000, 1)};
    FramePtr frame = frame_of(tcp);
    VnetHeader header = linux_header(tcp, 1448);
    header.gso_type |= VnetHeader::kGsoEcn;
    ASSERT_TRUE(from_vnet_header(header, frame.get()));
    EXPECT_TRUE(metadata(frame.get()).gso_ecn);
    EXPECT_TRUE(to_vnet_header(frame.get()) == header);

    const PacketModel udp{.udp = true, .payload = Bytes(5000, 1)};
    header = linux_header(udp, 1448);
    header.gso_type |= VnetHeader::kGsoEcn;
    expect_bad(header, frame_of(udp));
    expect_bad({.gso_type = VnetHeader::kGsoEcn}, frame_of(udp));
}

TEST_F(VnetHeaderTest, HeaderLengthIsRecomputedWhateverTheGuestSays) {
    const PacketModel model{.tcp_options = test::tcp_timestamps(), .payload = Bytes(5000, 1)};
    for (const uint16_t hdr_len : {0, 1, 53, 1514, 65535}) {
        const FramePtr frame = frame_of(model);
        VnetHeader header = linux_header(model, 1448);
        header.hdr_len = hdr_len;
        ASSERT_TRUE(from_vnet_header(header, frame.get()));
        EXPECT_EQ(to_vnet_header(frame.get()).hdr_len, model.payload_offset());
    }
}

TEST_F(VnetHeaderTest, PayloadThatFitsOneSegmentIsAPlainPartialFrame) {
    for (const size_t payload : {1, 1447, 1448}) {
        const PacketModel model{.payload = Bytes(payload, 1)};
        const FramePtr frame = frame_of(model);
        ASSERT_TRUE(from_vnet_header(linux_header(model, 1448), frame.get()));
        expect_metadata(frame.get(), model.metadata(L4Checksum::partial));
        EXPECT_TRUE(to_vnet_header(frame.get()) == linux_header(model));
    }
}

TEST_F(VnetHeaderTest, SuperframeShrunkToOneSegmentIsNotSentAsGso) {
    const PacketModel model{.payload = Bytes(1000, 1)};
    const FramePtr frame = frame_of(model);
    metadata(frame.get()) = model.metadata(L4Checksum::partial, 1448);
    EXPECT_TRUE(to_vnet_header(frame.get()) == linux_header(model));
}

TEST_F(VnetHeaderTest, GsoSizeNobodyUsesIsBadHoweverFewTheSegments) {
    const PacketModel model{.payload = Bytes(100, 1)};
    expect_bad(linux_header(model, packet::kMinGsoSize - 1), frame_of(model));
    const FramePtr frame = frame_of(model);
    EXPECT_TRUE(from_vnet_header(linux_header(model, packet::kMinGsoSize), frame.get()));
}

/// AF_PACKET hands the tag over beside the frame and counts csum_start without it.
TEST_F(VnetHeaderTest, ChecksumStartShiftsWithAReinsertedVlanTag) {
    for (const uint16_t gso_size : {0, 1448}) {
        PacketModel model{.vlan_tags = 1, .payload = Bytes(5000, 1)};
        VnetHeader header = linux_header(model, gso_size);
        header.csum_start = static_cast<uint16_t>(header.csum_start - 4);
        const FramePtr frame = frame_of(model);
        ASSERT_TRUE(from_vnet_header(header, frame.get(), 4));
        expect_metadata(frame.get(), model.metadata(L4Checksum::partial, gso_size));
    }
}

TEST_F(VnetHeaderTest, HeadersSplitOverSegmentsArePulledTogether) {
    const PacketModel model{.v6 = true, .payload = Bytes(5000, 1)};
    const Bytes bytes = model.bytes(ChecksumField::partial);
    const FramePtr frame = make_frame(pools(), bytes, {14, 1, 0, 40, 7});
    ASSERT_TRUE(from_vnet_header(linux_header(model, 1448), frame.get()));
    expect_metadata(frame.get(), model.metadata(L4Checksum::partial, 1448));
    EXPECT_GE(frame->data_len, model.payload_offset());
    EXPECT_EQ(bytes_of(frame.get()), bytes);
}

/// A device that coalesces (LRO) has verified the segments and left the checksum of none of them.
TEST_F(VnetHeaderTest, VerifiedSuperframeOfLroBecomesPartial) {
    const PacketModel model{.payload = Bytes(5000, 1)};
    const FramePtr frame =
        make_frame(pools(), model.bytes(ChecksumField::full), test::arena_split());
    VnetHeader header = linux_header(model, 1448);
    header.flags = kDataValid;
    header.csum_start = header.csum_offset = 0;
    ASSERT_TRUE(from_vnet_header(header, frame.get()));
    expect_metadata(frame.get(), model.metadata(L4Checksum::partial, 1448));
    EXPECT_EQ(bytes_of(frame.get()), model.bytes(ChecksumField::partial));
}

/// Field case 1.23: the kernel leaves the checksum inside its own VXLAN packet to us.
TEST_F(VnetHeaderTest, ChecksumInsideATunnelPayloadIsCompletedAtOnce) {
    const PacketModel inner{.udp = true, .payload = Bytes(301, 1)};
    PacketModel outer{.udp = true, .payload = {8, 0, 0, 0, 0, 0, 42, 0}};
    const size_t inner_offset = outer.payload_offset() + 8;
    PacketModel completed = outer;
    test::append(outer.payload, inner.bytes(ChecksumField::partial));
    test::append(completed.payload, inner.bytes(ChecksumField::full));

    const FramePtr frame = make_frame(pools(), outer.bytes(ChecksumField::full), {100, 33});
    Bytes expected = completed.bytes(ChecksumField::full);
    test::store16(expected, outer.checksum_offset(),
                  test::load16(bytes_of(frame.get()), outer.checksum_offset()));
    const auto start = static_cast<uint16_t>(inner_offset + inner.l4_offset());
    ASSERT_TRUE(from_vnet_header({.flags = kNeedsChecksum, .csum_start = start, .csum_offset = 6},
                                 frame.get()));
    EXPECT_EQ(bytes_of(frame.get()), expected) << "the outer checksum is not ours to touch";
    expect_metadata(frame.get(), Metadata{});
}

/// A fragment has no whole L4 message: the state partial, which later means "sum up the packet",
/// would be wrong, so the checksum is taken now over what is there, as the header says.
TEST_F(VnetHeaderTest, ChecksumOnAFragmentIsCompletedAtOnce) {
    const PacketModel model{.udp = true, .payload = Bytes(100, 1)};
    Bytes bytes = model.bytes(ChecksumField::partial);
    bytes[model.l3_offset() + 6] = 0x20;  // more fragments
    const FramePtr frame = make_frame(pools(), bytes);
    ASSERT_TRUE(from_vnet_header(linux_header(model), frame.get()));
    EXPECT_EQ(metadata(frame.get()).l4_checksum, L4Checksum::unknown);
    EXPECT_EQ(test::load16(bytes_of(frame.get()), model.checksum_offset()),
              test::load16(model.bytes(ChecksumField::full), model.checksum_offset()));
}

TEST_F(VnetHeaderTest, ChecksumOfAnUnknownProtocolIsCompletedAtOnce) {
    const PacketModel model{.payload = Bytes(100, 1)};
    Bytes bytes = model.bytes(ChecksumField::partial);
    bytes[model.l3_offset() + 9] = 200;
    const FramePtr frame = make_frame(pools(), bytes);
    ASSERT_TRUE(from_vnet_header(linux_header(model), frame.get()));
    EXPECT_EQ(metadata(frame.get()).l4_checksum, L4Checksum::unknown);
    EXPECT_EQ(test::load16(bytes_of(frame.get()), model.checksum_offset()),
              test::load16(model.bytes(ChecksumField::full), model.checksum_offset()));
}

/// Field case 9.15: one lie per row, told of an otherwise valid frame.
struct Lie {
    const char* symptom;
    uint16_t gso_size;  ///< of the honest header
    std::function<void(VnetHeader&)> header = [](VnetHeader&) {};
    std::function<void(Bytes&)> frame = [](Bytes&) {};
    bool v6 = false;
    bool udp = false;
};

void PrintTo(const Lie& lie, std::ostream* out) {
    *out << lie.symptom;
}

class HostileVnetHeader : public VnetHeaderTest, public ::testing::WithParamInterface<Lie> {};

TEST_P(HostileVnetHeader, IsDroppedAndTheFrameUntouched) {
    const Lie& lie = GetParam();
    const PacketModel model{.v6 = lie.v6, .udp = lie.udp, .payload = Bytes(20000, 1)};
    VnetHeader header = linux_header(model, lie.gso_size);
    Bytes bytes = model.bytes(ChecksumField::partial);
    {
        const FramePtr honest = make_frame(pools(), bytes, test::arena_split());
        ASSERT_TRUE(from_vnet_header(header, honest.get())) << "a test that cannot fail";
    }
    lie.header(header);
    lie.frame(bytes);
    expect_bad(header, make_frame(pools(), bytes, test::arena_split()));
}

using H = VnetHeader;
const Lie kLies[] = {
    // NEEDS_CSUM
    {"csum_start_65535", 0, [](H& h) { h.csum_start = 65535; }},
    {"csum_start_at_the_end", 0, [](H& h) { h.csum_start = 20054; }},
    {"csum_start_in_the_mac_addresses", 0, [](H& h) { h.csum_start = 0; }},
    {"csum_start_in_the_ipv4_header", 0, [](H& h) { h.csum_start = 33; }},
    {"csum_start_in_the_ipv6_header", 0, [](H& h) { h.csum_start = 53; }, {}, true},
    {"csum_offset_65535", 0, [](H& h) { h.csum_offset = 65535; }},
    {"csum_field_half_outside", 0, [](H& h) { h.csum_start = 20054 - 17; }},
    {"csum_start_plus_offset_overflows_16_bits", 0,
     [](H& h) { h.csum_start = 40000, h.csum_offset = 25600; }},
    {"frame_without_an_ethernet_header", 0, [](H& h) { h.csum_start = 0, h.csum_offset = 0; },
     [](Bytes& b) { b.resize(13); }},
    // GSO: the header
    {"gso_size_0", 1448, [](H& h) { h.gso_size = 0; }},
    {"gso_size_1", 1448, [](H& h) { h.gso_size = 1; }},
    {"gso_size_7", 1448, [](H& h) { h.gso_size = 7; }},
    {"gso_size_of_2500_segments", 1448, [](H& h) { h.gso_size = 8; }},
    {"gso_without_needs_csum", 1448, [](H& h) { h.flags = 0; }},
    {"gso_type_unknown_2", 1448, [](H& h) { h.gso_type = 2; }},
    {"gso_type_ufo", 1448, [](H& h) { h.gso_type = H::kGsoUdpFragments; }, {}, false, true},
    {"gso_type_udp_tunnel_ipv4", 1448, [](H& h) { h.gso_type |= 0x20; }},
    {"gso_type_255", 1448, [](H& h) { h.gso_type = 255; }},
    {"gso_csum_start_65535", 1448, [](H& h) { h.csum_start = 65535; }},
    {"gso_csum_start_not_at_l4", 1448, [](H& h) { h.csum_start += 2; }},
    {"gso_csum_offset_of_udp_for_tcp", 1448, [](H& h) { h.csum_offset = 6; }},
    {"gso_csum_offset_of_tcp_for_udp", 1448, [](H& h) { h.csum_offset = 16; }, {}, false, true},
    {"tso4_of_ipv6", 1448, [](H& h) { h.gso_type = H::kGsoTcp4; }, {}, true},
    {"tso6_of_ipv4", 1448, [](H& h) { h.gso_type = H::kGsoTcp6; }},
    {"tso_of_udp", 1448, [](H& h) { h.gso_type = H::kGsoTcp4; }, {}, false, true},
    {"uso_of_tcp", 1448, [](H& h) { h.gso_type = H::kGsoUdp; }},
    // GSO: the frame
    {"tso_of_another_protocol", 1448, {}, [](Bytes& b) { b[14 + 9] = 132; }},
    {"tso_of_a_first_fragment", 1448, {}, [](Bytes& b) { b[14 + 6] = 0x20; }},
    {"tso_of_a_later_fragment", 1448, {}, [](Bytes& b) { b[14 + 7] = 8; }},
    {"tso_of_arp", 1448, {}, [](Bytes& b) { b[13] = 6; }},
    {"tso_ipv4_version_5", 1448, {}, [](Bytes& b) { b[14] = 0x55; }},
    {"tso_ihl_below_5", 1448, {}, [](Bytes& b) { b[14] = 0x44; }},
    {"tso_total_length_0", 1448, {}, [](Bytes& b) { test::store16(b, 16, 0); }},
    {"tso_total_length_short", 1448, {}, [](Bytes& b) { test::store16(b, 16, 20039); }},
    {"tso_total_length_long", 1448, {}, [](Bytes& b) { test::store16(b, 16, 20041); }},
    {"big_tcp_payload_length_0", 1448, {}, [](Bytes& b) { test::store16(b, 18, 0); }, true},
    {"tso_data_offset_below_5", 1448, {}, [](Bytes& b) { b[34 + 12] = 0x40; }},
    {"uso_udp_length_short", 1448, {}, [](Bytes& b) { test::store16(b, 38, 100); }, false, true},
    {"uso_udp_length_0", 1448, {}, [](Bytes& b) { test::store16(b, 38, 0); }, false, true},
    {"tso_padded_frame", 1448, {}, [](Bytes& b) { b.push_back(0); }},
    {"tso_truncated_in_the_tcp_header", 1448, {}, [](Bytes& b) { b.resize(50); }},
    {"tso_of_nothing", 1448, {}, [](Bytes& b) { b.clear(); }},
};

INSTANTIATE_TEST_SUITE_P(FieldCase9_15, HostileVnetHeader, ::testing::ValuesIn([] {
                             std::vector<Lie> lies(std::begin(kLies), std::end(kLies));
                             for (Lie& lie : lies) {
                                 if (!lie.header) lie.header = [](H&) {};
                                 if (!lie.frame) lie.frame = [](Bytes&) {};
                             }
                             return lies;
                         }()),
                         [](const auto& info) { return std::string(info.param.symptom); });

/// A container's VXLAN device on a veth: veth offers every tunnel offload there is.
TEST_F(VnetHeaderTest, SuperframeInsideATunnelIsUnderstood) {
    for (const bool outer_v6 : {false, true}) {
        for (TunnelModel model : test::tunnels(outer_v6)) {
            for (const bool udp : {false, true}) {
                for (const size_t payload : {1448, 40001}) {
                    for (const unsigned vlan_tags : {0u, 2u}) {
                        model.inner.udp = udp;
                        model.inner.payload = Bytes(payload, 1);
                        model.inner.vlan_tags = model.ethernet ? vlan_tags : 0;
                        model.outer.vlan_tags = vlan_tags;
                        const Bytes bytes = model.bytes(ChecksumField::partial);
                        for (const auto& split : {test::arena_split(), {14, 1, 0, 40, 7, 80}}) {
                            const FramePtr frame = make_frame(pools(), bytes, split);
                            const VnetHeader header = linux_header(model, 1448);
                            ASSERT_TRUE(from_vnet_header(header, frame.get()));
                            expect_metadata(frame.get(), model.metadata(L4Checksum::unknown,
                                                                        L4Checksum::partial, 1448));
                            EXPECT_GE(frame->data_len,
                                      model.inner_base() + model.inner.payload_offset());
                            EXPECT_EQ(bytes_of(frame.get()), bytes);
                        }
                    }
                }
            }
        }
    }
}

TEST_F(VnetHeaderTest, TunnelChecksumStartShiftsWithAReinsertedVlanTagAndEcnIsKept) {
    TunnelModel model{.inner = {.payload = Bytes(5000, 1)}};
    model.outer.vlan_tags = 1;
    VnetHeader header = linux_header(model, 1448);
    header.csum_start = static_cast<uint16_t>(header.csum_start - 4);
    header.gso_type |= VnetHeader::kGsoEcn;
    const FramePtr frame = make_frame(pools(), model.bytes(ChecksumField::partial));
    ASSERT_TRUE(from_vnet_header(header, frame.get(), 4));
    Metadata expected = model.metadata(L4Checksum::unknown, L4Checksum::partial, 1448);
    expected.gso_ecn = true;
    expect_metadata(frame.get(), expected);
}

/// One lie per row, told of an otherwise valid superframe inside VXLAN over IPv4: outer IPv4 at 14,
/// UDP at 34, VXLAN at 42, inner Ethernet at 50, IPv4 at 64, TCP at 84.
class HostileTunnel : public VnetHeaderTest, public ::testing::WithParamInterface<Lie> {};

TEST_P(HostileTunnel, IsDroppedAndTheFrameUntouched) {
    const Lie& lie = GetParam();
    TunnelModel model{.inner = {.v6 = lie.v6, .udp = lie.udp, .payload = Bytes(20000, 1)}};
    VnetHeader header = linux_header(model, lie.gso_size);
    Bytes bytes = model.bytes(ChecksumField::partial);
    {
        const FramePtr honest = make_frame(pools(), bytes, test::arena_split());
        ASSERT_TRUE(from_vnet_header(header, honest.get())) << "a test that cannot fail";
    }
    if (lie.header) lie.header(header);
    if (lie.frame) lie.frame(bytes);
    for (const auto& split : {test::arena_split(), {43, 7, 1, 20}})
        expect_bad(header, make_frame(pools(), bytes, split));
}

const Lie kTunnelLies[] = {
    {"csum_start_1_before", 1448, [](H& h) { h.csum_start -= 1; }},
    {"csum_start_2_behind", 1448, [](H& h) { h.csum_start += 2; }},
    {"csum_start_at_the_inner_ip_header", 1448, [](H& h) { h.csum_start = 64; }},
    {"csum_start_at_the_vxlan_header", 1448, [](H& h) { h.csum_start = 42; }},
    {"csum_start_at_the_outer_udp_header", 1448, [](H& h) { h.csum_start = 34; }},
    {"csum_start_at_the_end", 1448, [](H& h) { h.csum_start = 20104; }},
    {"csum_start_65535", 1448, [](H& h) { h.csum_start = 65535; }},
    {"csum_offset_of_udp_for_tcp", 1448, [](H& h) { h.csum_offset = 6; }},
    {"gso_size_7", 1448, [](H& h) { h.gso_size = 7; }},
    {"gso_size_of_2500_segments", 1448, [](H& h) { h.gso_size = 8; }},
    {"verified_by_lro", 1448, [](H& h) { h.flags = H::kDataValid; }},
    {"tso6_of_inner_ipv4", 1448, [](H& h) { h.gso_type = H::kGsoTcp6; }},
    {"tso4_of_inner_ipv6", 1448, [](H& h) { h.gso_type = H::kGsoTcp4; }, {}, true},
    {"uso_of_inner_tcp", 1448, [](H& h) { h.gso_type = H::kGsoUdp; }},
    {"ecn_of_inner_udp", 1448, [](H& h) { h.gso_type |= H::kGsoEcn; }, {}, false, true},
    {"outer_first_fragment", 1448, {}, [](Bytes& b) { b[14 + 6] = 0x20; }},
    {"outer_later_fragment", 1448, {}, [](Bytes& b) { b[14 + 7] = 8; }},
    {"outer_total_length_short", 1448, {}, [](Bytes& b) { test::store16(b, 16, 20089); }},
    {"outer_total_length_long", 1448, {}, [](Bytes& b) { test::store16(b, 16, 20091); }},
    {"outer_udp_length_short", 1448, {}, [](Bytes& b) { test::store16(b, 38, 20069); }},
    {"outer_udp_length_long", 1448, {}, [](Bytes& b) { test::store16(b, 38, 20071); }},
    {"outer_protocol_unknown", 1448, {}, [](Bytes& b) { b[14 + 9] = 200; }},
    {"outer_protocol_ip_in_ip", 1448, {}, [](Bytes& b) { b[14 + 9] = 4; }},
    {"port_of_geneve", 1448, {}, [](Bytes& b) { test::store16(b, 36, 6081); }},
    {"vxlan_without_vni", 1448, {}, [](Bytes& b) { b[42] = 0; }},
    {"vxlan_gpe", 1448, {}, [](Bytes& b) { b[42] = 0x0c; }},
    {"vxlan_like_on_another_port",
     1448,
     {},
     [](Bytes& b) { test::store16(b, 36, 5000), b[42] = 0x88; }},
    {"inner_arp", 1448, {}, [](Bytes& b) { b[63] = 6; }},
    {"inner_ethertype_of_ipv6", 1448, {}, [](Bytes& b) { test::store16(b, 62, 0x86dd); }},
    {"inner_vlan_tag_out_of_place", 1448, {}, [](Bytes& b) { test::store16(b, 62, 0x8100); }},
    {"inner_version_5", 1448, {}, [](Bytes& b) { b[64] = 0x55; }},
    {"inner_ihl_4", 1448, {}, [](Bytes& b) { b[64] = 0x44; }},
    {"inner_ihl_6", 1448, {}, [](Bytes& b) { b[64] = 0x46; }},
    {"inner_total_length_0", 1448, {}, [](Bytes& b) { test::store16(b, 66, 0); }},
    {"inner_total_length_short", 1448, {}, [](Bytes& b) { test::store16(b, 66, 20039); }},
    {"inner_total_length_long", 1448, {}, [](Bytes& b) { test::store16(b, 66, 20041); }},
    {"inner_first_fragment", 1448, {}, [](Bytes& b) { b[70] = 0x20; }},
    {"inner_other_protocol", 1448, {}, [](Bytes& b) { b[73] = 132; }},
    {"inner_data_offset_4", 1448, {}, [](Bytes& b) { b[84 + 12] = 0x40; }},
    {"inner_udp_length_short", 1448, {}, [](Bytes& b) { test::store16(b, 88, 100); }, false, true},
    {"padded_frame", 1448, {}, [](Bytes& b) { b.push_back(0); }},
    {"truncated_in_the_vxlan_header",
     1448,
     {},
     [](Bytes& b) {
         b.resize(46);
         test::store16(b, 16, 32);
         test::store16(b, 38, 12);
     }},
    {"truncated_in_the_inner_ethernet_header",
     1448,
     {},
     [](Bytes& b) {
         b.resize(60);
         test::store16(b, 16, 46);
         test::store16(b, 38, 26);
     }},
    {"truncated_in_the_inner_tcp_header",
     1448,
     {},
     [](Bytes& b) {
         b.resize(90);
         test::store16(b, 16, 76);
         test::store16(b, 38, 56);
         test::store16(b, 66, 26);
     }},
};

INSTANTIATE_TEST_SUITE_P(FieldCase9_15, HostileTunnel, ::testing::ValuesIn(kTunnelLies),
                         [](const auto& info) { return std::string(info.param.symptom); });

TEST_F(VnetHeaderTest, TruncatedOrForeignTunnelHeadersOfTheOtherKindsAreDropped) {
    // GRE with checksum, with sequence number, of version 1; Geneve of version 1, with options that
    // reach too far, with another protocol.
    const std::vector<std::pair<unsigned, std::function<void(Bytes&)>>> flaws = {
        {47, [](Bytes& h) { h[0] |= 0x80; }},
        {47, [](Bytes& h) { h[0] |= 0x10; }},
        {47, [](Bytes& h) { h[1] = 1; }},
        {17, [](Bytes& h) { h[0] |= 0x40; }},
        {17, [](Bytes& h) { h[0] |= 0x3f; }},
        {17, [](Bytes& h) { h[0] += 1; }},
        {17, [](Bytes& h) { test::store16(h, 2, 0x8847); }},
    };
    for (const TunnelModel& honest : test::tunnels(false)) {
        const bool udp = honest.outer.protocol() == 17;
        if (udp && honest.outer.destination_port != 6081) continue;
        for (const auto& [protocol, flaw] : flaws) {
            if (honest.outer.protocol() != protocol) continue;
            TunnelModel model = honest;
            model.inner.payload = Bytes(5000, 1);
            flaw(model.header);
            expect_bad(linux_header(model, 1448),
                       make_frame(pools(), model.bytes(ChecksumField::partial)));
        }
    }
}

TEST_F(VnetHeaderTest, WhateverTunnelIsAcceptedCanBeSegmented) {
    auto out = std::make_unique<rte_mbuf*[]>(packet::kMaxSegments);
    unsigned accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        const auto kinds = test::tunnels(round % 2 == 0);
        TunnelModel model = kinds[random_() % kinds.size()];
        model.inner.udp = random_() % 2 == 0;
        model.inner.payload = Bytes(1 + random_() % 4000, 1);
        Bytes bytes = model.bytes(ChecksumField::partial);
        VnetHeader header = linux_header(model, 500);
        for (unsigned lies = random_() % 3; lies > 0; --lies) {
            uint8_t& target = random_() % 4 != 0
                                  ? bytes[random_() % std::min<size_t>(bytes.size(), 140)]
                                  : reinterpret_cast<uint8_t*>(&header)[random_() % sizeof(header)];
            target ^= static_cast<uint8_t>(1 << random_() % 8);
        }
        FramePtr frame = make_frame(pools(), bytes, test::random_split(random_, 0, bytes.size()));
        if (!from_vnet_header(header, frame.get())) continue;
        if (metadata(frame.get()).gso == Gso::none) continue;
        accepted += metadata(frame.get()).inner_l4_offset != 0;
        const auto count =
            packet::segment(frame.release(), pools(), true, {out.get(), packet::kMaxSegments});
        ASSERT_TRUE(count);
        for (uint32_t i = 0; i < *count; ++i)
            rte_pktmbuf_free(out[i]);
    }
    EXPECT_GT(accepted, 5000u);
}

/// Random headers on random mutations of valid frames: whatever is accepted can be sent as it is,
/// and be segmented.
TEST_F(VnetHeaderTest, WhateverIsAcceptedCanBeSaidAgainAndSegmented) {
    auto out = std::make_unique<rte_mbuf*[]>(packet::kMaxSegments);
    unsigned accepted_superframes = 0;
    for (int round = 0; round < 20000; ++round) {
        PacketModel model{.v6 = random_() % 2 == 0, .udp = random_() % 2 == 0};
        model.payload = Bytes(random_() % 4000, 1);
        Bytes bytes = model.bytes(ChecksumField::partial);
        VnetHeader header = linux_header(model, random_() % 2 == 0 ? 500 : 0);
        for (unsigned lies = random_() % 3; lies > 0; --lies) {
            uint8_t& target = random_() % 2 == 0
                                  ? bytes[random_() % std::min<size_t>(bytes.size(), 80)]
                                  : reinterpret_cast<uint8_t*>(&header)[random_() % sizeof(header)];
            target ^= static_cast<uint8_t>(1 << random_() % 8);
        }
        FramePtr frame = make_frame(pools(), bytes, test::random_split(random_, 0, bytes.size()));
        if (!from_vnet_header(header, frame.get())) continue;
        const VnetHeader again = to_vnet_header(frame.get());
        if (metadata(frame.get()).gso == Gso::none) continue;
        ++accepted_superframes;
        EXPECT_EQ(again.gso_size, header.gso_size);
        EXPECT_EQ(again.csum_start, metadata(frame.get()).l4_offset);
        const auto count =
            packet::segment(frame.release(), pools(), true, {out.get(), packet::kMaxSegments});
        ASSERT_TRUE(count);
        for (uint32_t i = 0; i < *count; ++i)
            rte_pktmbuf_free(out[i]);
    }
    EXPECT_GT(accepted_superframes, 1000u);
}

}  // namespace
}  // namespace heddle::port
