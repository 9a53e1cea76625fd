#include "service/icmp_error.h"

#include <gtest/gtest.h>

#include <array>

#include "ip_model.h"
#include "packet/frame.h"
#include "support/eal.h"
#include "support/exact_frame.h"

namespace heddle::service {
namespace {

using test::append;
using test::append16;
using test::append32;
using test::Bytes;
using test::bytes_of;
using test::exact_frame;
using test::FramePtr;
using test::IpModel;
using test::joined;
using test::slice;
using test::store16;
using Kind = IcmpErrorKind;

const Bytes kRouter4 = {10, 1, 1, 254};
const Bytes kRouter6 = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe};

IcmpErrorSender sender(bool v6) {
    std::array<uint8_t, 16> six;
    std::copy_n(kRouter6.begin(), six.size(), six.begin());
    return {.source = v6 ? net::IpAddress(net::Ipv6Address(six))
                         : net::IpAddress(net::Ipv4Address(10, 1, 1, 254)),
            .source_mac = net::MacAddress(2, 0, 0, 0, 0, 0xfe),
            .destination_mac = net::MacAddress(2, 0, 0, 0, 0, 1),
            .ipv4_identification = 0x4711};
}

class IcmpErrorTest : public test::PoolTest {
 protected:
    /// The error as the RFCs describe it: `rest` is the word behind type, code and checksum.
    static Bytes expected(const IpModel& about, const Bytes& quote, uint8_t type, uint8_t code,
                          const Bytes& rest) {
        IpModel error{.v6 = about.v6,
                      .destination_mac = {2, 0, 0, 0, 0, 1},
                      .source_mac = {2, 0, 0, 0, 0, 0xfe},
                      .tos = static_cast<uint8_t>(about.v6 ? 0 : 0xc0 | (about.tos & 0x1c)),
                      .id = 0x4711,
                      .flags_fragment = 0,
                      .ttl = 64,
                      .source = about.v6 ? kRouter6 : kRouter4,
                      .destination = about.from()};
        return error.icmp(type, code, joined(rest, quote)).frame();
    }

    FramePtr make(const rte_mbuf* frame, bool v6, const IcmpError& error) {
        return FramePtr(make_icmp_error(frame, error, sender(v6), pools()));
    }

    static void expect_metadata(const rte_mbuf* frame, bool v6) {
        ASSERT_TRUE(test::is_sane(frame));
        ASSERT_EQ(frame->nb_segs, 1);
        ASSERT_EQ(rte_pktmbuf_headroom(frame), packet::kHeadroom);
        const packet::Metadata& known = packet::metadata(frame);
        ASSERT_TRUE(known.parsed);
        ASSERT_EQ(known.ethertype, v6 ? 0x86dd : 0x0800);
        ASSERT_EQ(known.l3_offset, 14);
        ASSERT_EQ(known.l4_offset, v6 ? 54 : 34);
        ASSERT_EQ(known.payload_offset, v6 ? 62 : 42);
        ASSERT_EQ(known.ip_protocol, v6 ? 58 : 1);
        ASSERT_EQ(known.l4_checksum, packet::L4Checksum::good);
    }

    bool answers(const Bytes& bytes, Kind kind = Kind::no_route) {
        return may_answer(exact_frame(pools(), bytes).get(), kind);
    }
    bool answers(const IpModel& model, Kind kind = Kind::no_route) {
        return answers(model.frame(), kind);
    }
    bool answers_icmp(bool v6, int type) {
        IpModel model{.v6 = v6};
        return answers(model.icmp(static_cast<uint8_t>(type), 0, {0, 0, 0, 0}));
    }

    /// A UDP datagram.
    static IpModel udp(bool v6, size_t data = 20) {
        IpModel model{.v6 = v6, .tos = 0xb8};
        model.payload = {0x9c, 0x40, 0, 53};
        append16(model.payload, static_cast<uint32_t>(8 + data));
        append16(model.payload, 0);
        for (size_t i = 0; i < data; ++i)
            model.payload.push_back(static_cast<uint8_t>(i * 7));
        return model;
    }
};

/// Numbers of RFC 792, RFC 1191, RFC 1812 (section 5.2.7) and RFC 4443 (section 3).
TEST_F(IcmpErrorTest, TypeCodeAndWordOfEveryKind) {
    struct Row {
        IcmpError error;
        Bytes v4;  ///< type, code, word
        Bytes v6;
    };
    const std::vector<Row> rows = {
        {{Kind::time_exceeded}, {11, 0, 0, 0, 0, 0}, {3, 0, 0, 0, 0, 0}},
        {{Kind::no_route}, {3, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}},
        {{Kind::address_unreachable}, {3, 1, 0, 0, 0, 0}, {1, 3, 0, 0, 0, 0}},
        {{Kind::protocol_unreachable, 0, 6}, {3, 2, 0, 0, 0, 0}, {4, 1, 0, 0, 0, 6}},
        {{Kind::port_unreachable}, {3, 3, 0, 0, 0, 0}, {1, 4, 0, 0, 0, 0}},
        {{Kind::prohibited}, {3, 13, 0, 0, 0, 0}, {1, 1, 0, 0, 0, 0}},
        {{Kind::beyond_scope}, {3, 1, 0, 0, 0, 0}, {1, 2, 0, 0, 0, 0}},
        {{Kind::packet_too_big, 1400}, {3, 4, 0, 0, 5, 0x78}, {2, 0, 0, 0, 5, 0x78}},
        {{Kind::packet_too_big, 70000}, {3, 4, 0, 0, 0xff, 0xff}, {2, 0, 0, 1, 0x11, 0x70}},
        {{Kind::parameter_problem, 0, 20}, {12, 0, 20, 0, 0, 0}, {4, 0, 0, 0, 0, 20}},
        {{Kind::parameter_problem, 0, 300}, {12, 0, 255, 0, 0, 0}, {4, 0, 0, 0, 1, 0x2c}},
        {{Kind::unrecognized_option, 0, 42}, {12, 0, 42, 0, 0, 0}, {4, 2, 0, 0, 0, 42}},
    };
    for (size_t row = 0; row < rows.size(); ++row) {
        for (const bool v6 : {false, true}) {
            SCOPED_TRACE("row " + std::to_string(row) + (v6 ? " IPv6" : " IPv4"));
            const IpModel about = udp(v6);
            const FramePtr frame = exact_frame(pools(), about.frame());
            const FramePtr error = make(frame.get(), v6, rows[row].error);
            ASSERT_TRUE(error);
            const Bytes& wanted = v6 ? rows[row].v6 : rows[row].v4;
            EXPECT_EQ(bytes_of(error.get()),
                      expected(about, about.packet(), wanted[0], wanted[1], slice(wanted, 2)));
            expect_metadata(error.get(), v6);
            EXPECT_EQ(bytes_of(frame.get()), about.frame());
        }
    }
}

TEST_F(IcmpErrorTest, QuotesOfAnyLengthAndSplitStayWithinTheLimits) {
    std::mt19937 random(9);
    for (const bool v6 : {false, true}) {
        const size_t limit = v6 ? 1280 : 576;
        for (size_t data = 0; data < 3000; data += data < 1300 ? 1 : 97) {
            const IpModel about = udp(v6, data);
            const FramePtr frame =
                exact_frame(pools(), about.frame(), test::random_split(random, 14, data));
            const FramePtr error = make(frame.get(), v6, {Kind::time_exceeded});
            ASSERT_TRUE(error);
            const Bytes quote = slice(about.packet(), 0, limit - (v6 ? 48 : 28));
            ASSERT_EQ(bytes_of(error.get()), expected(about, quote, v6 ? 3 : 11, 0, {0, 0, 0, 0}));
            ASSERT_LE(error->pkt_len, 14 + limit);
            expect_metadata(error.get(), v6);
            if (HasFatalFailure()) return;
        }
    }
}

TEST_F(IcmpErrorTest, OptionsAndExtensionHeadersAreQuoted) {
    IpModel about = udp(false);
    about.options = Bytes(40, 1);
    FramePtr error = make(exact_frame(pools(), about.frame()).get(), false, {Kind::no_route});
    EXPECT_EQ(bytes_of(error.get()), expected(about, about.packet(), 3, 0, {0, 0, 0, 0}));
    about = udp(true);
    about.extensions = {{60, {0, 1, 4, 0, 0, 0, 0}}};
    error = make(exact_frame(pools(), about.frame()).get(), true, {Kind::no_route});
    EXPECT_EQ(bytes_of(error.get()), expected(about, about.packet(), 1, 0, {0, 0, 0, 0}));
}

TEST_F(IcmpErrorTest, PaddingIsNotQuoted) {
    for (const bool v6 : {false, true}) {
        const IpModel about = udp(v6, 0);
        const FramePtr frame = exact_frame(pools(), joined(about.frame(), Bytes(18, 0xee)));
        const FramePtr error = make(frame.get(), v6, {Kind::no_route});
        EXPECT_EQ(bytes_of(error.get()),
                  expected(about, about.packet(), v6 ? 1 : 3, 0, {0, 0, 0, 0}));
    }
}

/// Field case 9.12.
TEST_F(IcmpErrorTest, ATotalLengthOf65535InA60ByteFrameQuotesWhatWasReceived) {
    for (const bool v6 : {false, true}) {
        const IpModel about = udp(v6, 60);
        Bytes bytes = slice(about.frame(), 0, 60);
        store16(bytes, v6 ? 18 : 16, 65535);
        EXPECT_FALSE(answers(bytes));
        const FramePtr error = make(exact_frame(pools(), bytes).get(), v6, {Kind::time_exceeded});
        ASSERT_TRUE(error);
        EXPECT_EQ(bytes_of(error.get()),
                  expected(about, slice(bytes, 14), v6 ? 3 : 11, 0, {0, 0, 0, 0}));
    }
}

TEST_F(IcmpErrorTest, TruncationAtEveryByteQuotesWhatIsThereOrGivesNothing) {
    for (const bool v6 : {false, true}) {
        const IpModel about = udp(v6);
        for (size_t length = 0; length < about.frame().size(); ++length) {
            const Bytes bytes = slice(about.frame(), 0, length);
            for (const size_t first : {length, length / 2, size_t{14}}) {
                const FramePtr frame = exact_frame(pools(), bytes, {first});
                EXPECT_FALSE(may_answer(frame.get(), Kind::time_exceeded));
                const FramePtr error = make(frame.get(), v6, {Kind::time_exceeded});
                // Only the first segment is searched for the Ethernet header.
                const bool readable = first >= 14 && length >= (v6 ? 54u : 34u);
                ASSERT_EQ(error != nullptr, readable) << length;
                if (error) {
                    ASSERT_EQ(bytes_of(error.get()),
                              expected(about, slice(bytes, 14), v6 ? 3 : 11, 0, {0, 0, 0, 0}));
                }
            }
        }
    }
}

TEST_F(IcmpErrorTest, RandomFramesAreNeverReadBeyond) {
    std::mt19937 random(17);
    for (int round = 0; round < 20'000; ++round) {
        const bool v6 = round % 2 != 0;
        Bytes bytes = slice(udp(v6).frame(), 0, random() % 90);
        for (int i = 0; i < 4 && !bytes.empty(); ++i)
            bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
        const FramePtr frame = exact_frame(pools(), bytes, {random() % 90});
        (void)may_answer(frame.get(), Kind::packet_too_big);
        const FramePtr error = make(frame.get(), v6, {Kind::time_exceeded});
        if (error) {
            ASSERT_LE(error->pkt_len, bytes.size() + (v6 ? 48 : 28));
        }
    }
}

TEST_F(IcmpErrorTest, AnotherFamilyIsNoPacketToComplainAbout) {
    EXPECT_FALSE(make(exact_frame(pools(), udp(true).frame()).get(), false, {Kind::no_route}));
    EXPECT_FALSE(make(exact_frame(pools(), udp(false).frame()).get(), true, {Kind::no_route}));
    Bytes arp = Bytes(60, 1);
    store16(arp, 12, 0x0806);
    EXPECT_FALSE(make(exact_frame(pools(), arp).get(), false, {Kind::no_route}));
    Bytes wrong_version = udp(false).frame();
    wrong_version[14] = 0x65;
    EXPECT_FALSE(make(exact_frame(pools(), wrong_version).get(), false, {Kind::no_route}));
    Bytes no_length = udp(false).frame();
    store16(no_length, 16, 19);
    EXPECT_FALSE(make(exact_frame(pools(), no_length).get(), false, {Kind::no_route}));
}

TEST_F(IcmpErrorTest, WithoutAFreeBufferThereIsNoError) {
    const FramePtr frame = exact_frame(pools(), udp(false).frame());
    const FramePtr frame6 = exact_frame(pools(), udp(true).frame());
    std::vector<FramePtr> hoard;
    while (rte_mbuf* buffer = rte_pktmbuf_alloc(pools().small()))
        hoard.emplace_back(buffer);
    EXPECT_FALSE(make(frame.get(), false, {Kind::no_route}));
    EXPECT_FALSE(make(frame6.get(), true, {Kind::no_route}));
}

TEST_F(IcmpErrorTest, OrdinaryPacketsAreAnswered) {
    EXPECT_TRUE(answers(udp(false)));
    EXPECT_TRUE(answers(udp(true)));
    EXPECT_TRUE(answers(IpModel{.protocol = 132, .payload = Bytes(20, 1)}));
    EXPECT_TRUE(answers(joined(udp(false, 0).frame(), Bytes(18, 0))));
    EXPECT_FALSE(answers(Bytes(60, 0)));
}

TEST_F(IcmpErrorTest, OfIcmpOnlyQueriesAreAnswered) {
    for (int type = 0; type < 256; ++type) {
        const std::vector<int> queries = {0, 8, 9, 10, 13, 14, 15, 16, 17, 18, 42, 43};
        const bool query = std::find(queries.begin(), queries.end(), type) != queries.end();
        EXPECT_EQ(answers_icmp(false, type), query) << "ICMP type " << type;
        EXPECT_EQ(answers_icmp(true, type), type >= 128 && type != 137) << "ICMPv6 type " << type;
    }
}

TEST_F(IcmpErrorTest, ErrorsBehindExtensionHeadersAreRecognized) {
    IpModel model{.v6 = true};
    model.extensions = {{0, {0, 1, 4, 0, 0, 0, 0}}, {44, {0, 0, 1, 0, 0, 0, 9}}};
    EXPECT_FALSE(answers(model.icmp(1, 0, Bytes(48, 0))));
    EXPECT_TRUE(answers(model.icmp(128, 0, Bytes(48, 0))));
}

TEST_F(IcmpErrorTest, OnlyFirstFragmentsAreAnswered) {
    IpModel model = udp(false);
    model.flags_fragment = 0x2000;
    EXPECT_TRUE(answers(model));
    for (const uint16_t later : {0x2001, 0x0001, 0x1fff}) {
        model.flags_fragment = later;
        EXPECT_FALSE(answers(model));
    }
    model = udp(true);
    model.extensions = {{44, {0, 0, 1, 0, 0, 0, 9}}};
    EXPECT_TRUE(answers(model));
    model.extensions = {{44, {0, 0, 9, 0, 0, 0, 9}}};
    EXPECT_FALSE(answers(model));
}

TEST_F(IcmpErrorTest, SourcesThatAreNotOneHostAreNotAnswered) {
    for (const Bytes& source :
         {Bytes{0, 0, 0, 0}, Bytes{0, 1, 2, 3}, Bytes{127, 0, 0, 1}, Bytes{127, 255, 0, 1},
          Bytes{224, 0, 0, 1}, Bytes{239, 255, 255, 255}, Bytes{240, 0, 0, 1},
          Bytes{255, 255, 255, 255}}) {
        IpModel model = udp(false);
        model.source = source;
        EXPECT_FALSE(answers(model)) << testing::PrintToString(source);
    }
    for (const Bytes& source : {Bytes{1, 0, 0, 0}, Bytes{223, 255, 255, 255}}) {
        IpModel model = udp(false);
        model.source = source;
        EXPECT_TRUE(answers(model));
    }
    Bytes loopback(16, 0);
    loopback[15] = 1;
    for (const Bytes& source : {Bytes(16, 0), loopback, Bytes(16, 0xff)}) {
        IpModel model = udp(true);
        model.source = source;
        for (const Kind kind : {Kind::no_route, Kind::packet_too_big})
            EXPECT_FALSE(answers(model, kind));
    }
}

TEST_F(IcmpErrorTest, Ipv4MulticastAndBroadcastAreNeverAnswered) {
    for (const Kind kind : {Kind::no_route, Kind::packet_too_big, Kind::unrecognized_option}) {
        IpModel model = udp(false);
        for (const Bytes& destination : {Bytes{224, 0, 0, 1}, Bytes{255, 255, 255, 255}}) {
            model.destination = destination;
            EXPECT_FALSE(answers(model, kind));
        }
        for (const test::Mac& mac : {test::kBroadcastMac, test::Mac{1, 0, 0x5e, 0, 0, 1}}) {
            model = udp(false);
            model.destination_mac = mac;
            EXPECT_FALSE(answers(model, kind));
        }
    }
}

/// RFC 4443, section 2.4 (e.3) to (e.5).
TEST_F(IcmpErrorTest, Ipv6MulticastIsAnsweredByTwoKindsOfErrorOnly) {
    for (const Kind kind :
         {Kind::time_exceeded, Kind::no_route, Kind::address_unreachable,
          Kind::protocol_unreachable, Kind::port_unreachable, Kind::prohibited, Kind::beyond_scope,
          Kind::packet_too_big, Kind::parameter_problem, Kind::unrecognized_option}) {
        const bool excepted = kind == Kind::packet_too_big || kind == Kind::unrecognized_option;
        IpModel model = udp(true);
        model.destination = Bytes(16, 0xff);
        EXPECT_EQ(answers(model, kind), excepted);
        for (const test::Mac& mac : {test::kBroadcastMac, test::Mac{0x33, 0x33, 0, 0, 0, 1}}) {
            model = udp(true);
            model.destination_mac = mac;
            EXPECT_EQ(answers(model, kind), excepted);
        }
    }
}

TEST_F(IcmpErrorTest, MalformedPacketsAreNotAnswered) {
    Bytes bytes = udp(false).frame();
    bytes[14 + 8] ^= 1;  // TTL: the header checksum is wrong now
    EXPECT_FALSE(answers(bytes));
    bytes = udp(false).frame();
    store16(bytes, 14 + 24, 7);  // UDP length
    EXPECT_FALSE(answers(bytes));
    IpModel model = udp(true);
    model.extensions = {{60, {200, 1, 4, 0, 0, 0, 0}}};
    EXPECT_FALSE(answers(model));
}

TEST_F(IcmpErrorTest, HeadersThatCannotBeSeenAreNotAnswered) {
    IpModel model{.v6 = false};
    const Bytes bytes = model.icmp(3, 0, Bytes(30, 0)).frame();
    for (size_t first = 0; first < 42; ++first)
        EXPECT_FALSE(may_answer(exact_frame(pools(), bytes, {first}).get(), Kind::no_route));
}

}  // namespace
}  // namespace heddle::service
