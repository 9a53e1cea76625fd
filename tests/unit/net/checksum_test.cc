#include "net/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bytes.h"
#include "net/header_at.h"
#include "net/ipv4.h"

namespace heddle::net {
namespace {

/// RFC 1071 as one would write it on paper.
uint16_t reference_sum(std::span<const std::byte> bytes) {
    uint32_t sum = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
        const auto byte = std::to_integer<uint32_t>(bytes[i]);
        sum += i % 2 == 0 ? byte << 8 : byte;
        if (sum > 0xffff) sum = (sum & 0xffff) + 1;
    }
    return static_cast<uint16_t>(sum);
}

uint16_t reference_checksum(std::span<const std::byte> bytes) {
    return static_cast<uint16_t>(~reference_sum(bytes));
}

void store(Bytes& message, size_t offset, std::span<const std::byte> value) {
    std::ranges::copy(value, message.begin() + static_cast<ptrdiff_t>(offset));
}

TEST(Checksum, equals_the_bytewise_reference_for_every_length_and_alignment) {
    Random random(1071);
    const Bytes data = random_bytes(random, 2048 + 64 + 8);
    for (size_t alignment = 0; alignment < 8; ++alignment) {
        for (size_t length = 0; length <= 2048 + 64; ++length) {
            const auto message = std::span(data).subspan(alignment, length);
            ASSERT_EQ(ChecksumAccumulator().add(message).sum().value(), reference_sum(message))
                << "length " << length << " alignment " << alignment;
        }
    }
}

TEST(Checksum, extreme_bytes_give_the_same_zero_as_the_reference) {
    for (size_t length = 0; length <= 300; ++length) {
        for (const int byte : {0x00, 0xff}) {
            const Bytes message(length, static_cast<std::byte>(byte));
            ASSERT_EQ(ChecksumAccumulator().add(message).sum().value(), reference_sum(message));
        }
    }
}

TEST(Checksum, of_64_kb_of_ones_does_not_lose_carries) {
    const Bytes message(65535, std::byte{0xff});
    EXPECT_EQ(checksum(message).value(), reference_checksum(message));
}

TEST(Checksum, of_the_example_in_rfc_1071_is_as_printed_there) {
    const Bytes message = bytes({0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7});
    EXPECT_EQ(ChecksumAccumulator().add(message).sum().value(), 0xddf2);
}

TEST(ChecksumAccumulator, joins_pieces_of_any_length_at_any_alignment) {
    Random random(1);
    for (int round = 0; round < 20000; ++round) {
        const Bytes message = random_bytes(random, below(random, 300));
        ChecksumAccumulator accumulator;
        for (size_t offset = 0; offset < message.size();) {
            const size_t length =
                std::min(message.size() - offset, static_cast<size_t>(below(random, 40)));
            accumulator.add(std::span(message).subspan(offset, length));
            offset += length;
        }
        ASSERT_EQ(accumulator.sum().value(), reference_sum(message));
    }
}

TEST(ChecksumAccumulator, every_split_of_a_message_in_three_gives_the_same_sum) {
    Random random(2);
    const Bytes message = random_bytes(random, 73);
    const std::span whole(message);
    for (size_t first = 0; first <= message.size(); ++first) {
        for (size_t second = first; second <= message.size(); ++second) {
            ChecksumAccumulator accumulator;
            accumulator.add(whole.first(first)).add(whole.subspan(first, second - first));
            accumulator.add(whole.subspan(second));
            ASSERT_EQ(accumulator.sum().value(), reference_sum(message));
        }
    }
}

TEST(ChecksumAccumulator, sums_made_apart_append_to_the_sum_of_the_whole) {
    Random random(3);
    const Bytes message = random_bytes(random, 3627);  // 1447 + 1447 + 733, field case 1.12
    const std::span whole(message);
    ChecksumAccumulator first;
    ChecksumAccumulator second;
    ChecksumAccumulator third;
    third.add(whole.subspan(2894));
    second.add(whole.subspan(1447, 1447)).append(third);
    first.add(whole.first(1447)).append(second);
    EXPECT_EQ(first.sum().value(), reference_sum(message));
}

TEST(ChecksumAccumulator, a_message_with_its_checksum_is_valid_and_with_one_bit_wrong_is_not) {
    Random random(4);
    Bytes message = random_bytes(random, 101);
    store(message, 10, bytes_of(be16_t(0)));
    store(message, 10, bytes_of(checksum(message)));
    EXPECT_TRUE(ChecksumAccumulator().add(message).is_valid());
    for (size_t bit = 0; bit < message.size() * 8; ++bit) {
        const auto mask = static_cast<std::byte>(1 << (bit % 8));
        message[bit / 8] ^= mask;
        EXPECT_FALSE(ChecksumAccumulator().add(message).is_valid());
        message[bit / 8] ^= mask;
    }
}

TEST(PseudoHeader, of_ipv4_equals_its_bytes_summed) {
    const Bytes pseudo = bytes({192, 0, 2, 1, 198, 51, 100, 2, 0, 17, 0x12, 0x34});
    const auto sum =
        pseudo_header(Ipv4Address(192, 0, 2, 1), Ipv4Address(198, 51, 100, 2), 17, 0x1234);
    EXPECT_EQ(sum.sum().value(), reference_sum(pseudo));
}

TEST(PseudoHeader, of_ipv6_equals_its_bytes_summed_with_a_32_bit_length) {
    Random random(5);
    for (int round = 0; round < 1000; ++round) {
        Bytes pseudo = random_bytes(random, 40);
        std::ranges::fill(std::span(pseudo).subspan(36, 3), std::byte{0});
        const auto* source = header_at<Ipv6Address>(std::span(pseudo), 0);
        const auto* destination = header_at<Ipv6Address>(std::span(pseudo), 16);
        const auto length = header_at<be32_t>(std::span(pseudo), 32)->value();
        const auto protocol = std::to_integer<uint8_t>(pseudo[39]);
        ASSERT_EQ(pseudo_header(*source, *destination, protocol, length).sum().value(),
                  reference_sum(pseudo));
    }
}

TEST(Ipv4HeaderChecksum, covers_the_options_of_every_header_length) {
    Random random(6);
    for (size_t length = 20; length <= 60; length += 4) {
        Bytes header = random_bytes(random, length);
        const be16_t computed = ipv4_header_checksum(header);
        store(header, offsetof(Ipv4Header, checksum), bytes_of(computed));
        EXPECT_EQ(reference_sum(header), 0xffff) << length;
        EXPECT_TRUE(ipv4_header_checksum_ok(header));
        header.back() ^= std::byte{1};
        EXPECT_FALSE(ipv4_header_checksum_ok(header)) << "options are covered";
    }
}

TEST(UdpChecksum, computed_zero_goes_on_the_wire_as_ones) {
    EXPECT_EQ(udp_checksum_to_wire(be16_t(0)), be16_t(0xffff));
    EXPECT_EQ(udp_checksum_to_wire(be16_t(0x1234)), be16_t(0x1234));
}

/// A message with a checksum at offset 0, and a field changed at another offset.
template <class Field>
void expect_update_equals_recomputation(Random& random, Field to) {
    Bytes message = random_bytes(random, 24);
    message[23] |= std::byte{1};  // never all zero, as no packet is
    const size_t offset = 2 + 2 * below(random, 9);
    store(message, 0, bytes_of(be16_t(0)));
    store(message, 0, bytes_of(be16_t(reference_checksum(message))));
    const be16_t before = *header_at<be16_t>(std::span(message), 0);
    const Field from = *header_at<Field>(std::span(message), offset);

    store(message, offset, bytes_of(to));
    store(message, 0, bytes_of(be16_t(0)));
    ASSERT_EQ(update_checksum(before, from, to).value(), reference_checksum(message));
}

TEST(ChecksumUpdate, equals_recomputation_for_random_edits) {
    Random random(1624);
    for (int round = 0; round < 50000; ++round) {
        expect_update_equals_recomputation(random, be16_t(static_cast<uint16_t>(random())));
        expect_update_equals_recomputation(random, be32_t(static_cast<uint32_t>(random())));
    }
    for (int round = 0; round < 1000; ++round) {
        for (const uint32_t value : {0u, 0xffffu, 0xffff0000u, 0xffffffffu, 1u}) {
            expect_update_equals_recomputation(random, be16_t(static_cast<uint16_t>(value)));
            expect_update_equals_recomputation(random, be32_t(value));
        }
    }
}

TEST(ChecksumUpdate, gives_the_result_that_rfc_1624_demands_where_rfc_1141_failed) {
    // RFC 1624, section 4: HC = 0xdd2f, m = 0x5555 -> m' = 0x3285 must give 0x0000, not 0xffff.
    EXPECT_EQ(update_checksum(be16_t(0xdd2f), be16_t(0x5555), be16_t(0x3285)).value(), 0x0000);
}

TEST(ChecksumUpdate, reaches_zero_and_ones_exactly_when_recomputation_does) {
    Bytes message = bytes({0, 0, 0x12, 0x34, 0, 0});
    unsigned zeros = 0;
    const be16_t before(reference_checksum(message));
    for (uint32_t value = 0; value <= 0xffff; ++value) {
        const be16_t to(static_cast<uint16_t>(value));
        store(message, 4, bytes_of(to));
        const uint16_t expected = reference_checksum(message);
        ASSERT_EQ(update_checksum(before, be16_t(0), to).value(), expected);
        zeros += expected == 0;
    }
    EXPECT_EQ(zeros, 1u);
}

TEST(ChecksumDelta, of_several_fields_applies_to_any_message_that_had_them) {
    Random random(7);
    const Ipv4Address from4(10, 0, 0, 1);
    const Ipv4Address to4(203, 0, 113, 9);
    const auto from6 = Ipv6Address::parse("fd00::1").value();
    const auto to6 = Ipv6Address::parse("2001:db8:ffff::7").value();
    ChecksumDelta delta;
    delta.replace(from4, to4).replace(from6, to6).replace(be16_t(4242), be16_t(61000));

    for (int round = 0; round < 1000; ++round) {
        Bytes message = random_bytes(random, 64);
        store(message, 4, bytes_of(from4));
        store(message, 8, bytes_of(from6));
        store(message, 24, bytes_of(be16_t(4242)));
        const be16_t checksum_before(reference_checksum(message));
        const be16_t sum_before(reference_sum(message));
        store(message, 4, bytes_of(to4));
        store(message, 8, bytes_of(to6));
        store(message, 24, bytes_of(be16_t(61000)));
        ASSERT_EQ(delta.apply(checksum_before).value(), reference_checksum(message));
        ASSERT_EQ(delta.apply_to_sum(sum_before).value(), reference_sum(message));
    }
}

TEST(ChecksumDelta, keeps_an_absent_udp_checksum_absent_and_a_present_one_present) {
    ChecksumDelta delta;
    delta.replace(be16_t(0x5555), be16_t(0x3285));
    EXPECT_EQ(delta.apply_udp(be16_t(0)), be16_t(0));
    EXPECT_EQ(delta.apply(be16_t(0xdd2f)), be16_t(0));
    EXPECT_EQ(delta.apply_udp(be16_t(0xdd2f)), be16_t(0xffff));
}

TEST(ChecksumDelta, that_replaces_nothing_leaves_every_checksum_equivalent) {
    ChecksumDelta same;
    same.replace(be16_t(80), be16_t(80)).replace(be32_t(0), be32_t(0));
    for (uint32_t value = 0; value < 0xffff; ++value) {
        const be16_t checksum(static_cast<uint16_t>(value));
        ASSERT_EQ(ChecksumDelta().apply(checksum), checksum);
        ASSERT_EQ(same.apply(checksum), checksum);
    }
    EXPECT_EQ(same.apply_udp(be16_t(0xffff)), be16_t(0xffff));
}

}  // namespace
}  // namespace heddle::net
