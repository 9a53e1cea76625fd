#include "packet/fragment.h"

#include <gmock/gmock.h>

#include <array>
#include <map>
#include <memory>
#include <utility>

#include "packet/frame.h"
#include "support/eal.h"
#include "support/exact_frame.h"
#include "support/frames.h"
#include "support/packet_model.h"

namespace heddle::packet {
namespace {

using test::append;
using test::append16;
using test::Bytes;
using test::bytes_of;
using test::ChecksumField;
using test::FramePtr;
using test::load16;
using test::make_frame;
using test::PacketModel;
using test::store16;

constexpr uint16_t kDf = 0x4000, kMf = 0x2000;

Bytes slice(const Bytes& bytes, size_t begin, size_t end = SIZE_MAX) {
    return {bytes.begin() + static_cast<ptrdiff_t>(begin),
            bytes.begin() + static_cast<ptrdiff_t>(std::min(end, bytes.size()))};
}

/// An IPv4 packet by value. Written and read byte by byte; shares no code with src/.
struct Ipv4Model {
    Bytes link = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0};
    uint8_t tos = 0x28;
    uint16_t id = 0xabcd;
    uint16_t flags = 0;
    uint16_t offset = 0;  ///< units of 8
    uint8_t ttl = 17;
    uint8_t protocol = 253;  ///< experimental: nothing the parser looks into
    Bytes options = {};      ///< a multiple of 4
    Bytes payload = {};

    size_t header_length() const { return 20 + options.size(); }

    Bytes bytes() const {
        Bytes ip;
        append16(ip, (0x45 + static_cast<uint32_t>(options.size() / 4)) << 8 | tos);
        append16(ip, static_cast<uint32_t>(header_length() + payload.size()));
        append16(ip, id);
        append16(ip, flags | offset);
        append16(ip, ttl << 8 | protocol);
        append16(ip, 0);
        append(ip, {10, 1, 2, 3, 192, 0, 2, 9});
        append(ip, options);
        store16(ip, 10, static_cast<uint16_t>(~test::naive_sum(ip)));
        Bytes frame = link;
        append(frame, ip);
        append(frame, payload);
        return frame;
    }

    /// Of a frame with this model's link header; the header checksum is expected to be right.
    Ipv4Model read(const Bytes& frame) const {
        Ipv4Model result;
        result.link = slice(frame, 0, link.size());
        const Bytes ip = slice(frame, link.size());
        const size_t header = (ip.at(0) & 15) * 4u;
        EXPECT_EQ(ip.at(0) >> 4, 4);
        EXPECT_EQ(load16(ip, 2), ip.size());
        EXPECT_EQ(test::naive_sum(slice(ip, 0, header)), 0xffff);
        EXPECT_EQ(slice(ip, 12, 20), (Bytes{10, 1, 2, 3, 192, 0, 2, 9}));
        result.tos = ip.at(1);
        result.id = load16(ip, 4);
        result.flags = load16(ip, 6) & 0xe000;
        result.offset = load16(ip, 6) & 0x1fff;
        result.ttl = ip.at(8);
        result.protocol = ip.at(9);
        result.options = slice(ip, 20, header);
        result.payload = slice(ip, header);
        return result;
    }
};

class FragmentTest : public test::PoolTest {
 protected:
    FramePtr frame_of(const Ipv4Model& model, const std::vector<size_t>& split = {},
                      size_t padding = 0) {
        Bytes bytes = model.bytes();
        append(bytes, Bytes(padding, 0xee));
        FramePtr frame = make_frame(pools(), bytes, split);
        Metadata& known = metadata(frame.get());
        set_headers(known,
                    net::parse_ip(first_segment(frame.get()), model.link.size(), frame->pkt_len));
        known.ingress_port = 77;
        known.pcp_dei = 5;
        known.l4_checksum = L4Checksum::good;
        return frame;
    }

    tl::expected<size_t, DropReason> cut(FramePtr frame, uint16_t mtu) {
        fragments_.clear();
        const auto count = fragment(frame.release(), mtu, pools(), out_);
        for (size_t i = 0; i < count.value_or(0); ++i)
            fragments_.emplace_back(out_[i]);
        return count;
    }

    DropReason reason(FramePtr frame, uint16_t mtu) {
        const auto result = cut(std::move(frame), mtu);
        EXPECT_FALSE(result);
        return result ? DropReason::rx_runt : result.error();
    }

    /// `later_options` is what fragments behind the first shall have.
    void expect_fragments(const Ipv4Model& whole, uint16_t mtu, const Bytes& later_options) {
        ASSERT_GE(fragments_.size(), 2u);
        Bytes reassembled;
        for (size_t i = 0; i < fragments_.size(); ++i) {
            SCOPED_TRACE("fragment " + std::to_string(i));
            const bool last = i + 1 == fragments_.size();
            rte_mbuf* actual = fragments_[i].get();
            const Ipv4Model part = whole.read(bytes_of(actual));
            ASSERT_EQ(part.link, whole.link);
            ASSERT_EQ(part.tos, whole.tos);
            ASSERT_EQ(part.id, whole.id);
            ASSERT_EQ(part.ttl, whole.ttl);
            ASSERT_EQ(part.protocol, whole.protocol);
            ASSERT_EQ(part.options, i == 0 ? whole.options : later_options);
            ASSERT_EQ(part.offset * 8u, whole.offset * 8u + reassembled.size());
            ASSERT_EQ(part.flags, last ? whole.flags : (whole.flags | kMf));
            const size_t length = part.header_length() + part.payload.size();
            ASSERT_LE(length, mtu);
            if (!last) {
                ASSERT_EQ(part.payload.size() % 8, 0u);
                ASSERT_GT(length + 8, mtu) << "could be longer";
            }
            append(reassembled, part.payload);
            expect_buffers(actual, whole);
        }
        ASSERT_EQ(reassembled, whole.payload);
    }

    void expect_buffers(const rte_mbuf* actual, const Ipv4Model& whole) {
        ASSERT_TRUE(test::is_sane(actual));
        ASSERT_TRUE(is_exclusive(actual));
        ASSERT_GE(rte_pktmbuf_headroom(actual), kHeadroom);
        if (actual->pkt_len <= kSmallRoom) {
            ASSERT_EQ(actual->nb_segs, 1);
        }
        const Metadata& known = metadata(actual);
        ASSERT_TRUE(known.parsed);
        ASSERT_EQ(known.l3_offset, whole.link.size());
        ASSERT_EQ(known.ethertype, 0x0800);
        ASSERT_EQ(known.ip_protocol, whole.protocol);
        ASSERT_EQ(known.l4_checksum, L4Checksum::unknown);
        ASSERT_EQ(known.ingress_port, 77);
        ASSERT_EQ(known.pcp_dei, 5);
    }

    struct Options {
        Bytes all;
        Bytes copied;
    };

    /// Random well-formed options and what of them later fragments carry.
    Options random_options() {
        Options options;
        const size_t limit = random_() % 41;
        for (;;) {
            if (random_() % 4 == 0) {
                if (options.all.size() + 1 > limit) break;
                options.all.push_back(1);
                continue;
            }
            const size_t length = 2 + random_() % 12;
            if (options.all.size() + length > limit) break;
            Bytes option = test::random_bytes(random_, length);
            option[0] =
                static_cast<uint8_t>((random_() % 2 == 0 ? 0x80 : 0) | (2 + random_() % 30));
            option[1] = static_cast<uint8_t>(length);
            append(options.all, option);
            if (option[0] >= 0x80) append(options.copied, option);
        }
        // Behind the end of the list lies what is no option.
        if (options.all.size() % 4 != 0) options.all.push_back(0);
        while (options.all.size() % 4 != 0)
            options.all.push_back(0x83);
        options.copied.resize((options.copied.size() + 3) / 4 * 4);
        return options;
    }

    std::mt19937 random_{11};
    std::unique_ptr<rte_mbuf*[]> storage_ = std::make_unique<rte_mbuf*[]>(kMaxFragments);
    std::span<rte_mbuf*> out_{storage_.get(), kMaxFragments};
    std::vector<FramePtr> fragments_;
};

TEST_F(FragmentTest, AnyPacketMtuOptionsAndSplitReassembleToThePacket) {
    size_t cuts = 0;
    for (int round = 0; round < 3000; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        const Options options = random_options();
        Ipv4Model model{.options = options.all};
        if (round % 3 == 0) model.link = test::random_bytes(random_, random_() % 60);
        model.id = static_cast<uint16_t>(random_());
        const size_t most = round % 5 == 0 ? 65535 - model.header_length() : 4000;
        model.payload = test::random_bytes(random_, random_() % most);
        const auto mtu = static_cast<uint16_t>((model.payload.size() > 4000 ? 500 : 68) +
                                               random_() % (round % 7 == 0 ? 9000 : 1400));
        const bool fragment_itself = round % 2 == 0;
        if (fragment_itself) {
            const size_t room = (65535 - model.payload.size()) / 8;
            model.offset = static_cast<uint16_t>(std::min<size_t>(random_() % 8192, room));
            if (random_() % 2 == 0) {
                model.flags = kMf;
                model.payload.resize(model.payload.size() / 8 * 8);
            }
        }
        const size_t padding = random_() % 3 == 0 ? random_() % 50 : 0;
        const size_t headers = model.link.size() + model.header_length();
        FramePtr frame =
            frame_of(model, test::random_split(random_, headers, model.payload.size()), padding);
        const Bytes before = bytes_of(frame.get());
        ASSERT_TRUE(cut(std::move(frame), mtu));
        if (model.header_length() + model.payload.size() <= mtu) {
            ASSERT_EQ(fragments_.size(), 1u);
            ASSERT_EQ(bytes_of(fragments_[0].get()), before);
            continue;
        }
        ++cuts;
        expect_fragments(model, mtu, options.copied);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(cuts, 1000u);
}

TEST_F(FragmentTest, FragmentsOfFragmentsReassembleInAnyOrder) {
    for (int round = 0; round < 50; ++round) {
        const Options options = random_options();
        Ipv4Model model{.options = options.all, .payload = test::random_bytes(random_, 9001)};
        std::map<size_t, Bytes> parts;
        size_t end = 0;
        const auto note = [&](const Bytes& bytes) {
            const Ipv4Model part = model.read(bytes);
            parts[part.offset * 8u] = part.payload;
            if (part.flags == 0) end = part.offset * 8u + part.payload.size();
        };
        ASSERT_TRUE(cut(frame_of(model), static_cast<uint16_t>(600 + random_() % 3000)));
        std::vector<FramePtr> first = std::move(fragments_);
        for (FramePtr& part : first) {
            ASSERT_TRUE(cut(std::move(part), static_cast<uint16_t>(68 + random_() % 900)));
            for (const FramePtr& piece : fragments_)
                note(bytes_of(piece.get()));
        }
        Bytes whole;
        for (const auto& [offset, payload] : parts) {
            ASSERT_EQ(offset, whole.size());
            append(whole, payload);
        }
        ASSERT_EQ(end, whole.size());
        ASSERT_EQ(whole, model.payload);
    }
}

/// RFC 791, appendix A, example 2: 452 bytes of data, an MTU of 280.
TEST_F(FragmentTest, ExampleOfRfc791) {
    const Ipv4Model model{.payload = test::random_bytes(random_, 452)};
    ASSERT_EQ(cut(frame_of(model), 280), 2u);
    const Ipv4Model first = model.read(bytes_of(fragments_[0].get()));
    const Ipv4Model second = model.read(bytes_of(fragments_[1].get()));
    EXPECT_EQ(first.payload.size(), 256u);
    EXPECT_EQ(first.flags, kMf);
    EXPECT_EQ(first.offset, 0);
    EXPECT_EQ(second.payload.size(), 196u);
    EXPECT_EQ(second.flags, 0);
    EXPECT_EQ(second.offset, 32);
}

TEST_F(FragmentTest, TheLastFragmentUsesTheMtuToTheLastByte) {
    const Ipv4Model model{.payload = Bytes(48 + 55, 1)};
    ASSERT_EQ(cut(frame_of(model), 75), 2u);
    EXPECT_EQ(fragments_[1]->pkt_len, 14u + 75);
    ASSERT_EQ(cut(frame_of({.payload = Bytes(48 + 56, 1)}), 75), 3u);
}

TEST_F(FragmentTest, OnlyCopiedOptionsAreInLaterFragments) {
    // Record route (7), no operation, router alert (0x94), end, and a byte that means nothing.
    const Bytes options = {7, 7, 4, 0, 0, 0, 0, 1, 0x94, 4, 0, 0, 0, 0x94, 9, 9};
    const Ipv4Model model{.options = options, .payload = Bytes(200, 3)};
    ASSERT_TRUE(cut(frame_of(model), 100));
    expect_fragments(model, 100, {0x94, 4, 0, 0});
}

TEST_F(FragmentTest, LargestPacketAtTheLowestMtu) {
    const Ipv4Model model{.payload = test::random_bytes(random_, 65515)};
    ASSERT_EQ(cut(frame_of(model, test::arena_split()), kMinIpv4Mtu), 1365u);
    expect_fragments(model, kMinIpv4Mtu, {});
}

TEST_F(FragmentTest, PacketWithinTheMtuStaysTheSameFrame) {
    const Ipv4Model model{.flags = kDf, .options = {7, 0, 0, 0}, .payload = Bytes(76, 1)};
    FramePtr frame = frame_of(model, {}, 20);
    const rte_mbuf* same = frame.get();
    ASSERT_EQ(cut(std::move(frame), 100), 1u);
    EXPECT_EQ(fragments_[0].get(), same);
    EXPECT_EQ(metadata(same).l4_checksum, L4Checksum::good);
}

TEST_F(FragmentTest, DontFragmentIsObeyed) {
    EXPECT_EQ(reason(frame_of({.flags = kDf, .payload = Bytes(1000, 1)}), 500), DropReason::tx_mtu);
}

TEST_F(FragmentTest, PartialChecksumIsCompletedAlsoOfSharedFrames) {
    for (const bool udp : {false, true}) {
        for (const bool shared : {false, true}) {
            PacketModel model{.udp = udp, .payload = test::random_bytes(random_, 3001)};
            const auto without_df = [&](ChecksumField checksum) {
                Bytes bytes = model.bytes(checksum);
                store16(bytes, 20, 0);
                store16(bytes, 24, 0);
                store16(bytes, 24, static_cast<uint16_t>(~test::naive_sum(slice(bytes, 14, 34))));
                return bytes;
            };
            FramePtr frame =
                make_frame(pools(), without_df(ChecksumField::partial), test::arena_split());
            metadata(frame.get()) = model.metadata(L4Checksum::partial);
            FramePtr other(shared ? rte_pktmbuf_clone(frame.get(), pools().small()) : nullptr);
            ASSERT_TRUE(cut(std::move(frame), 1500));
            Bytes reassembled;
            for (const FramePtr& part : fragments_)
                append(reassembled, slice(bytes_of(part.get()), 34));
            EXPECT_EQ(reassembled, slice(without_df(ChecksumField::full), 34));
            if (shared) {
                EXPECT_EQ(bytes_of(other.get()), without_df(ChecksumField::partial));
            }
        }
    }
}

TEST_F(FragmentTest, MalformedOptionsAreDropped) {
    for (const Bytes& options : {Bytes{7, 0, 0, 0}, Bytes{7, 1, 0, 0}, Bytes{7, 5, 0, 0},
                                 Bytes{1, 1, 1, 7}, Bytes{0x94, 3, 0, 0x94}}) {
        EXPECT_EQ(reason(frame_of({.options = options, .payload = Bytes(1000, 1)}), 500),
                  DropReason::tx_bad_segment);
    }
}

TEST_F(FragmentTest, HeadersThatContradictTheFrameAreDropped) {
    const Ipv4Model model{.payload = Bytes(1000, 1)};
    const auto damaged = [&](auto change) {
        FramePtr frame = frame_of(model);
        change(frame.get(), rte_pktmbuf_mtod_offset(frame.get(), uint8_t*, 14));
        return reason(std::move(frame), 500);
    };
    constexpr auto kBad = DropReason::tx_bad_segment;
    EXPECT_EQ(damaged([](rte_mbuf*, uint8_t* ip) { ip[0] = 0x65; }), kBad);
    EXPECT_EQ(damaged([](rte_mbuf*, uint8_t* ip) { ip[0] = 0x44; }), kBad);
    EXPECT_EQ(damaged([](rte_mbuf*, uint8_t* ip) { ip[2] = ip[3] = 0xff; }), kBad);
    EXPECT_EQ(damaged([](rte_mbuf*, uint8_t* ip) { ip[2] = 0, ip[3] = 19; }), kBad);
    EXPECT_EQ(damaged([](rte_mbuf*, uint8_t* ip) { ip[6] = 0x1f, ip[7] = 0xff; }), kBad);
    EXPECT_EQ(damaged([](rte_mbuf* f, uint8_t*) { metadata(f).parsed = false; }), kBad);
    EXPECT_EQ(damaged([](rte_mbuf* f, uint8_t*) { metadata(f).l3_offset = 2000; }), kBad);
    EXPECT_EQ(damaged([](rte_mbuf* f, uint8_t*) { metadata(f).gso = Gso::tcp4; }), kBad);
    EXPECT_EQ(damaged([](rte_mbuf* f, uint8_t* ip) {
                  ip[6] = 0x20;
                  metadata(f).l4_checksum = L4Checksum::partial;
              }),
              kBad);
}

TEST_F(FragmentTest, DamagedPacketsAreNeverReadBeyond) {
    size_t fragments = 0;
    for (int round = 0; round < 20'000; ++round) {
        const Options options = random_options();
        const Ipv4Model model{.options = options.all,
                              .payload = test::random_bytes(random_, random_() % 300)};
        Bytes bytes = model.bytes();
        for (unsigned damage = random_() % 3; damage != 0; --damage)
            bytes[14 + random_() % model.header_length()] = static_cast<uint8_t>(random_());
        if (random_() % 2 == 0) bytes.resize(random_() % bytes.size());
        FramePtr frame = test::exact_frame(pools(), bytes, {random_() % 200});
        metadata(frame.get()).parsed = true;
        metadata(frame.get()).l3_offset = 14;
        const auto result = cut(std::move(frame), static_cast<uint16_t>(68 + random_() % 100));
        fragments += result.value_or(0) > 1 ? 1 : 0;
        for (const FramePtr& part : fragments_)
            ASSERT_TRUE(test::is_sane(part.get()));
    }
    EXPECT_GT(fragments, 1000u);
}

TEST_F(FragmentTest, TooSmallAnMtuOrTooLittleRoomIsDropped) {
    const Ipv4Model model{.payload = Bytes(1000, 1)};
    for (const uint16_t mtu : {0, 19, 20, 27})
        EXPECT_EQ(reason(frame_of(model), mtu), DropReason::tx_bad_segment);
    EXPECT_EQ(cut(frame_of(model), 28), 125u);
    std::array<rte_mbuf*, 2> few;
    for (const auto room : {size_t{0}, size_t{2}}) {
        const auto result =
            fragment(frame_of(model).release(), 420, pools(), std::span(few).first(room));
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error(), DropReason::tx_bad_segment);
    }
}

TEST_F(FragmentTest, AnExhaustedPoolLeavesNothingBehind) {
    for (const size_t left : {0u, 1u, 3u, 5u}) {  // 4 fragments of 3 buffers each
        FramePtr frame = frame_of({.payload = Bytes(20000, 1)}, test::arena_split());
        std::vector<FramePtr> hoard;
        while (rte_mbuf* buffer = rte_pktmbuf_alloc(pools().small()))
            hoard.emplace_back(buffer);
        hoard.resize(hoard.size() - left);
        EXPECT_EQ(reason(std::move(frame), 5500), DropReason::tx_no_buffer);
    }
}

}  // namespace
}  // namespace heddle::packet
