#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "net/big_endian.h"
#include "net/ip_address.h"

namespace heddle::net {

// The Internet checksum: RFC 1071, incremental update RFC 1624.
//
// Everything is summed in memory order and never swapped, since one's complement addition commutes
// with swapping bytes (RFC 1071, section 2B). A result is therefore a be16_t to be stored as it is.
//
// "Sum" is the folded one's complement sum, what a partial checksum field holds; "checksum" is its
// complement, what a complete one holds. A sum is 0 only if every byte is 0, otherwise the one's
// complement zero is 0xffff; the results here are bit-identical to adding word by word.

namespace detail {

/// Sum of `bytes` as if they began at an even offset; below 2^32 and not folded further.
uint32_t sum_bytes(std::span<const std::byte> bytes) noexcept;

constexpr uint32_t fold_to_32(uint64_t sum) noexcept {
    sum = (sum & 0xffffffff) + (sum >> 32);
    return static_cast<uint32_t>(sum + (sum >> 32));
}

constexpr uint16_t fold_to_16(uint64_t sum) noexcept {
    uint32_t folded = fold_to_32(sum);
    folded = (folded & 0xffff) + (folded >> 16);
    return static_cast<uint16_t>(folded + (folded >> 16));
}

}  // namespace detail

/// Sums a message that comes in pieces, such as the segments of a chained buffer. Pieces may have
/// any length: one that follows an odd number of bytes is summed with its bytes swapped (RFC 1071,
/// section 2B). Holds up to 2^32 pieces.
class ChecksumAccumulator {
 public:
    constexpr ChecksumAccumulator() = default;

    /// Begins with a sum already known, such as the content of a partial checksum field.
    explicit constexpr ChecksumAccumulator(be16_t sum) noexcept : sum_(sum.memory_order()) {}

    /// Appends `piece`.
    ChecksumAccumulator& add(std::span<const std::byte> piece) noexcept {
        add_sum(detail::sum_bytes(piece));
        odd_ ^= (piece.size() & 1) != 0;
        return *this;
    }

    /// Appends what `next` has summed, so that pieces can be summed in any order.
    constexpr ChecksumAccumulator& append(const ChecksumAccumulator& next) noexcept {
        add_sum(next.sum_);
        odd_ ^= next.odd_;
        return *this;
    }

    constexpr be16_t sum() const noexcept {
        return be16_t::from_memory_order(detail::fold_to_16(sum_));
    }
    constexpr be16_t checksum() const noexcept {
        return be16_t::from_memory_order(static_cast<uint16_t>(~detail::fold_to_16(sum_)));
    }

    /// The message includes its checksum field, and that was right. A message of zeros is not
    /// valid.
    constexpr bool is_valid() const noexcept { return detail::fold_to_16(sum_) == 0xffff; }

 private:
    friend constexpr ChecksumAccumulator pseudo_header(Ipv4Address, Ipv4Address, uint8_t,
                                                       uint16_t) noexcept;
    friend ChecksumAccumulator pseudo_header(const Ipv6Address&, const Ipv6Address&, uint8_t,
                                             uint32_t) noexcept;

    constexpr void add_sum(uint64_t sum) noexcept {
        sum_ += odd_ ? __builtin_bswap16(detail::fold_to_16(sum)) : detail::fold_to_32(sum);
    }

    uint64_t sum_ = 0;
    bool odd_ = false;  ///< an odd number of bytes was appended so far
};

/// Checksum of one contiguous message whose checksum field is 0.
inline be16_t checksum(std::span<const std::byte> message) noexcept {
    return ChecksumAccumulator().add(message).checksum();
}

/// Begins a TCP or UDP checksum. `length` counts L4 header and payload, in host order.
constexpr ChecksumAccumulator pseudo_header(Ipv4Address source, Ipv4Address destination,
                                            uint8_t protocol, uint16_t length) noexcept {
    ChecksumAccumulator result;  // RFC 9293, section 3.1
    result.sum_ = uint64_t{source.big().memory_order()} + destination.big().memory_order() +
                  be16_t(protocol).memory_order() + be16_t(length).memory_order();
    return result;
}

/// Begins a TCP, UDP or ICMPv6 checksum. `destination` is the final one, if a routing header
/// follows.
inline ChecksumAccumulator pseudo_header(const Ipv6Address& source, const Ipv6Address& destination,
                                         uint8_t protocol, uint32_t length) noexcept {
    ChecksumAccumulator result;  // RFC 8200, section 8.1
    for (unsigned half : {0u, 1u}) {
        result.add_sum(source.half(half));
        result.add_sum(destination.half(half));
    }
    result.add_sum(uint64_t{be32_t(length).memory_order()} + be32_t(protocol).memory_order());
    return result;
}

/// Checksum of an IPv4 header with its options: `header` is all IHL * 4 (at least 20) bytes. The
/// content of the checksum field does not matter.
be16_t ipv4_header_checksum(std::span<const std::byte> header) noexcept;

inline bool ipv4_header_checksum_ok(std::span<const std::byte> header) noexcept {
    return ChecksumAccumulator().add(header).is_valid();
}

/// Computed 0 is sent as 0xffff, because 0 on the wire says that there is none (RFC 768).
constexpr be16_t udp_checksum_to_wire(be16_t computed) noexcept {
    return computed == be16_t(0) ? be16_t(0xffff) : computed;
}

/// What replacing fields of a message does to its checksum, computed once and applied to any number
/// of packets. RFC 1624, equation 3: HC' = ~(~HC + ~m + m'). Fields lie at even offsets.
class ChecksumDelta {
 public:
    constexpr ChecksumDelta() = default;

    constexpr ChecksumDelta& replace(be16_t from, be16_t to) noexcept {
        return add(uint64_t{static_cast<uint16_t>(~from.memory_order())} + to.memory_order());
    }
    constexpr ChecksumDelta& replace(be32_t from, be32_t to) noexcept {
        return add(uint64_t{~from.memory_order()} + to.memory_order());
    }
    constexpr ChecksumDelta& replace(Ipv4Address from, Ipv4Address to) noexcept {
        return replace(from.big(), to.big());
    }
    ChecksumDelta& replace(const Ipv6Address& from, const Ipv6Address& to) noexcept {
        for (unsigned half : {0u, 1u}) {
            add(uint64_t{detail::fold_to_32(~from.half(half))} + detail::fold_to_32(to.half(half)));
        }
        return *this;
    }

    /// For IPv4 header, TCP and ICMP checksums.
    constexpr be16_t apply(be16_t checksum) const noexcept {
        const auto sum = static_cast<uint16_t>(~checksum.memory_order());
        return be16_t::from_memory_order(
            static_cast<uint16_t>(~detail::fold_to_16(sum + uint64_t{delta_})));
    }

    /// For UDP: an absent checksum stays absent and a present one does not become absent.
    constexpr be16_t apply_udp(be16_t checksum) const noexcept {
        return checksum == be16_t(0) ? checksum : udp_checksum_to_wire(apply(checksum));
    }

    /// For a field that holds a sum (partial checksum); only what the pseudo header covers matters.
    constexpr be16_t apply_to_sum(be16_t sum) const noexcept {
        return be16_t::from_memory_order(detail::fold_to_16(uint64_t{sum.memory_order()} + delta_));
    }

 private:
    constexpr ChecksumDelta& add(uint64_t sum) noexcept {
        delta_ = detail::fold_to_16(delta_ + sum);
        return *this;
    }

    uint16_t delta_ = 0;  ///< memory order
};
static_assert(sizeof(ChecksumDelta) == 2, "sessions keep one per direction and layer");

/// The checksum of a message after one of its 16- or 32-bit fields changed.
constexpr be16_t update_checksum(be16_t checksum, be16_t from, be16_t to) noexcept {
    return ChecksumDelta().replace(from, to).apply(checksum);
}
constexpr be16_t update_checksum(be16_t checksum, be32_t from, be32_t to) noexcept {
    return ChecksumDelta().replace(from, to).apply(checksum);
}

}  // namespace heddle::net
