#include "service/icmp_echo.h"

#include <gtest/gtest.h>

#include "ip_model.h"
#include "packet/frame.h"
#include "support/eal.h"
#include "support/exact_frame.h"

namespace heddle::service {
namespace {

using test::append;
using test::Bytes;
using test::bytes_of;
using test::exact_frame;
using test::FramePtr;
using test::IpModel;
using test::joined;
using test::make_frame;

class IcmpEchoTest : public test::PoolTest {
 protected:
    static IpModel request(bool v6, const Bytes& data = {1, 2, 3, 4, 5}) {
        IpModel model{.v6 = v6, .tos = 0x48};
        return model.icmp(v6 ? 128 : 8, 0, joined({0xab, 0xcd, 0, 7}, data));
    }

    /// What answers it, made from the RFCs and not from the request's checksum.
    static IpModel reply(IpModel model) {
        std::swap(model.source_mac, model.destination_mac);
        const Bytes from = model.from();
        model.source = model.to();
        model.destination = from;
        model.options.clear();
        model.extensions.clear();
        model.ttl = 64;
        return model.icmp(model.v6 ? 129 : 0, 0, test::slice(model.payload, 4));
    }

    void expect_reply(const IpModel& model, const std::vector<size_t>& split = {},
                      size_t padding = 0) {
        const Bytes pad(padding, 0xee);
        const FramePtr frame = make_frame(pools(), joined(model.frame(), pad), split);
        packet::metadata(frame.get()).ingress_port = 5;
        packet::metadata(frame.get()).has_hash = true;
        ASSERT_TRUE(make_echo_reply(frame.get()));
        ASSERT_EQ(bytes_of(frame.get()), joined(reply(model).frame(), pad));
        ASSERT_TRUE(test::is_sane(frame.get()));
        const packet::Metadata& known = packet::metadata(frame.get());
        ASSERT_TRUE(known.parsed);
        ASSERT_EQ(known.l3_offset, 14);
        ASSERT_EQ(known.l4_offset, model.v6 ? 54 : 34);
        ASSERT_EQ(known.payload_offset, model.v6 ? 62 : 42);
        ASSERT_EQ(known.l4_checksum, packet::L4Checksum::unknown);
        ASSERT_EQ(known.ingress_port, 5);
        ASSERT_FALSE(known.has_hash);
    }

    /// Of an exclusive frame, and of one whose bytes lie where a read too many is seen.
    void expect_refusal(const Bytes& bytes) {
        for (const FramePtr& frame : {make_frame(pools(), bytes), exact_frame(pools(), bytes)}) {
            EXPECT_FALSE(make_echo_reply(frame.get()));
            EXPECT_EQ(bytes_of(frame.get()), bytes);
        }
    }
    void expect_refusal(const IpModel& model) { expect_refusal(model.frame()); }

    std::mt19937 random_{5};
};

TEST_F(IcmpEchoTest, ReplyHasAddressesSwappedAndAllData) {
    expect_reply(request(false));
    expect_reply(request(true));
}

TEST_F(IcmpEchoTest, RequestsOfAnySizeAndSplitAreAnswered) {
    for (int round = 0; round < 300; ++round) {
        const bool v6 = round % 2 != 0;
        const size_t size = round < 40 ? static_cast<size_t>(round) : random_() % 65400;
        const IpModel model = request(v6, test::random_bytes(random_, size));
        expect_reply(model, test::random_split(random_, v6 ? 62 : 42, size), random_() % 20);
        if (HasFatalFailure()) return;
    }
}

TEST_F(IcmpEchoTest, AddressesChecksumAndPayloadOfAllKindsStayConsistent) {
    for (int round = 0; round < 2000; ++round) {
        IpModel model{.v6 = round % 2 != 0};
        model.source = test::random_bytes(random_, model.v6 ? 16 : 4);
        model.destination = test::random_bytes(random_, model.v6 ? 16 : 4);
        model.source[0] = model.destination[0] = model.v6 ? 0x20 : 10;
        model.icmp(model.v6 ? 128 : 8, 0, test::random_bytes(random_, 4 + random_() % 30));
        expect_reply(model);
        if (HasFatalFailure()) return;
    }
}

TEST_F(IcmpEchoTest, ChecksumsAtTheEdgeOfOnesComplementAreRight) {
    for (unsigned word = 0; word < 0x10000; word += word < 0x1000 || word > 0xe000 ? 1 : 0x101) {
        IpModel model{.v6 = false};
        model.icmp(8, 0, {static_cast<uint8_t>(word >> 8), static_cast<uint8_t>(word), 0, 0});
        expect_reply(model);
        if (HasFatalFailure()) return;
    }
}

/// An update alone would leave 0, which receivers find wrong where it is the sum of nothing.
TEST_F(IcmpEchoTest, ReplyOfNothingButZerosHasAChecksumOfAllOnes) {
    for (const size_t size : {0, 1, 56, 3000}) {
        IpModel model{.v6 = false};
        model.icmp(8, 0, Bytes(4 + size, 0));
        expect_reply(model, {42, 7, 100});
        model.payload.back() = 1;  // damaged, and that is not to be mended
        const FramePtr frame = make_frame(pools(), model.frame());
        ASSERT_TRUE(make_echo_reply(frame.get()));
        EXPECT_EQ(test::load16(bytes_of(frame.get()), 36), 0);
    }
}

TEST_F(IcmpEchoTest, Ipv4OptionsAreNotReflected) {
    IpModel model = request(false);
    model.options = {7, 7, 4, 0, 0, 0, 0, 0};  // record route
    expect_reply(model);
    model.options = Bytes(40, 1);
    expect_reply(model, {14 + 60 + 8, 2}, 3);
}

TEST_F(IcmpEchoTest, Ipv6ExtensionHeadersAreNotReflected) {
    IpModel model = request(true);
    model.extensions = {{0, {0, 1, 4, 0, 0, 0, 0}},    // hop-by-hop, PadN
                        {43, {0, 0, 0, 0, 0, 0, 0}},   // routing, at its end
                        {44, {0, 0, 0, 0, 0, 0, 9}},   // an atomic fragment
                        {60, {0, 1, 4, 0, 0, 0, 0}}};  // destination options
    expect_reply(model, {}, 9);
}

TEST_F(IcmpEchoTest, DamagedMessageStaysDamaged) {
    for (const bool v6 : {false, true}) {
        IpModel model = request(v6);
        model.payload.back() ^= 1;
        const FramePtr frame = make_frame(pools(), model.frame());
        ASSERT_TRUE(make_echo_reply(frame.get()));
        EXPECT_NE(bytes_of(frame.get()), reply(model).frame());
    }
}

TEST_F(IcmpEchoTest, AnythingButAnEchoRequestIsRefused) {
    for (const int type : {0, 3, 5, 11, 13, 128}) {
        IpModel model{.v6 = false};
        expect_refusal(model.icmp(static_cast<uint8_t>(type), 0, {0, 0, 0, 0}));
    }
    for (const int type : {1, 8, 129, 135}) {
        IpModel model{.v6 = true};
        expect_refusal(model.icmp(static_cast<uint8_t>(type), 0, {0, 0, 0, 0}));
    }
    expect_refusal(IpModel{.payload = Bytes(20, 0)});
    expect_refusal(Bytes(60, 0));
    expect_refusal(Bytes());
}

TEST_F(IcmpEchoTest, RequestsWithoutOneAskerAndOneAskedAreRefused) {
    const auto refused = [&](bool v6, auto change) {
        IpModel model{.v6 = v6};
        change(model);
        expect_refusal(model.icmp(v6 ? 128 : 8, 0, {0, 0, 0, 0}));
    };
    for (const Bytes& source : {Bytes{0, 0, 0, 0}, Bytes{127, 0, 0, 1}, Bytes{224, 0, 0, 1},
                                Bytes{255, 255, 255, 255}, Bytes{240, 0, 0, 1}}) {
        refused(false, [&](IpModel& m) { m.source = source; });
    }
    refused(false, [](IpModel& m) { m.destination = {224, 0, 0, 1}; });
    refused(false, [](IpModel& m) { m.destination = {255, 255, 255, 255}; });
    refused(true, [](IpModel& m) { m.source = Bytes(16, 0); });
    refused(true, [](IpModel& m) { m.source = Bytes(16, 0xff); });
    refused(true, [](IpModel& m) { m.destination = Bytes(16, 0xff); });
    for (const bool v6 : {false, true}) {
        refused(v6, [](IpModel& m) { m.destination_mac = test::kBroadcastMac; });
        refused(v6, [](IpModel& m) { m.destination_mac = {0x33, 0x33, 0, 0, 0, 1}; });
    }
}

TEST_F(IcmpEchoTest, FragmentsAndDetoursAreRefused) {
    for (const uint16_t flags : {0x2000, 0x0001}) {
        IpModel model = request(false);
        model.flags_fragment = flags;
        expect_refusal(model);
    }
    IpModel model = request(true);
    model.extensions = {{44, {0, 0, 1, 0, 0, 0, 9}}};  // more fragments
    expect_refusal(model);
    model.extensions = {{43, {0, 0, 1, 0, 0, 0, 0}}};  // one segment left
    expect_refusal(model);
}

TEST_F(IcmpEchoTest, WrongHeaderChecksumIsRefused) {
    Bytes bytes = request(false).frame();
    bytes[14 + 8] ^= 1;  // TTL
    expect_refusal(bytes);
}

TEST_F(IcmpEchoTest, SharedAndPartialFramesAreRefused) {
    const Bytes bytes = request(false).frame();
    const FramePtr frame = make_frame(pools(), bytes);
    packet::metadata(frame.get()).l4_checksum = packet::L4Checksum::partial;
    EXPECT_FALSE(make_echo_reply(frame.get()));
    packet::metadata(frame.get()).l4_checksum = packet::L4Checksum::good;
    {
        const FramePtr other(rte_pktmbuf_clone(frame.get(), pools().small()));
        EXPECT_FALSE(make_echo_reply(frame.get()));
        EXPECT_FALSE(make_echo_reply(other.get()));
    }
    EXPECT_TRUE(make_echo_reply(frame.get()));
    EXPECT_EQ(packet::metadata(frame.get()).l4_checksum, packet::L4Checksum::good);
}

TEST_F(IcmpEchoTest, TruncationAtEveryByteIsRefused) {
    for (const bool v6 : {false, true}) {
        IpModel model = request(v6);
        if (v6) {
            model.extensions = {{0, {0, 1, 4, 0, 0, 0, 0}}};
        } else {
            model.options = {1, 1, 1, 0};
        }
        const Bytes bytes = model.frame();
        for (size_t length = 0; length < bytes.size(); ++length)
            expect_refusal(test::slice(bytes, 0, length));
    }
}

}  // namespace
}  // namespace heddle::service
