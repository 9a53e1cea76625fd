#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "forwarding/ids.h"
#include "net/ip_address.h"

/// What an LPM table (lpm.h) is made of.
namespace heddle::forwarding::lpm {

/// A block decides on so many bits of the address.
inline constexpr unsigned kStride = 6;

/// The depth of the block, the number of bits above it, that holds prefixes of a length. Blocks
/// start at 7, 13, 19, 25, 31 ... bits: so /24, /32, /48 and /64 are the last lengths of theirs or
/// the second ones, and need no block of their own.
constexpr unsigned block_depth(unsigned length) noexcept {
    return length - (length - 1) % kStride;
}

/// The bits of an address in host order, the first one at the top.
template <typename Address>
struct Key;

template <>
struct Key<net::Ipv4Address> {
    uint64_t bits;

    Key() = default;  ///< undefined, as bursts of them are made
    explicit Key(const net::Ipv4Address& address) noexcept
        : bits(uint64_t{address.value()} << 32) {}
    net::Ipv4Address address() const noexcept {
        return net::Ipv4Address(net::be32_t(static_cast<uint32_t>(bits >> 32)));
    }

    static Key from_first(unsigned value, unsigned count) noexcept {
        Key key{};
        key.bits = uint64_t{value} << (64 - count);
        return key;
    }
    /// The first 1 to 32 bits.
    unsigned first(unsigned count) const noexcept {
        return static_cast<unsigned>(bits >> (64 - count));
    }
    /// The kStride bits after the first `depth`; those behind the end are zero.
    unsigned slot(unsigned depth) const noexcept {
        return static_cast<unsigned>((bits << depth) >> (64 - kStride));
    }
    void set_slot(unsigned depth, unsigned slot) noexcept {
        bits |= (uint64_t{slot} << (64 - kStride)) >> depth;
    }
};

template <>
struct Key<net::Ipv6Address> {
    uint64_t high;
    uint64_t low;

    Key() = default;  ///< undefined, as bursts of them are made
    explicit Key(const net::Ipv6Address& address) noexcept
        : high(__builtin_bswap64(address.half(0))), low(__builtin_bswap64(address.half(1))) {}
    net::Ipv6Address address() const noexcept {
        const std::array<uint64_t, 2> halves = {__builtin_bswap64(high), __builtin_bswap64(low)};
        return net::Ipv6Address(std::bit_cast<std::array<uint8_t, 16>>(halves));
    }

    static Key from_first(unsigned value, unsigned count) noexcept {
        Key key{};
        key.high = uint64_t{value} << (64 - count);
        return key;
    }
    unsigned first(unsigned count) const noexcept {
        return static_cast<unsigned>(high >> (64 - count));
    }
    unsigned slot(unsigned depth) const noexcept {
        const uint64_t bits = depth < 64 ? high << depth | (low >> 1) >> (63 - depth)  //
                                         : low << (depth - 64);
        return static_cast<unsigned>(bits >> (64 - kStride));
    }
    void set_slot(unsigned depth, unsigned slot) noexcept {
        const uint64_t top = uint64_t{slot} << (64 - kStride);
        if (depth < 64) {
            high |= top >> depth;
            low |= (top << 1) << (63 - depth);
        } else {
            low |= top >> (depth - 64);
        }
    }

    /// Whether the first `depth` bits are the same; `depth` is that of a block, and so never a
    /// multiple of 64.
    bool same_until(const Key& other, unsigned depth) const noexcept {
        const uint64_t difference = high ^ other.high;
        if (depth < 64) return difference >> (64 - depth) == 0;
        return (difference | (low ^ other.low) >> (128 - depth)) == 0;
    }
    unsigned common_bits(const Key& other) const noexcept {
        if (high != other.high) return static_cast<unsigned>(std::countl_zero(high ^ other.high));
        return 64 + static_cast<unsigned>(std::countl_zero(low ^ other.low));
    }
};

/// Where a prefix stands in the bitmap of its block: bit 1 is the block's own first bits, bits 2
/// and 3 one bit more, and so on. Bit 0 is never set.
template <typename Address>
unsigned position(const Key<Address>& key, unsigned depth, unsigned length) noexcept {
    const unsigned further = length - depth;
    return 1u << further | key.slot(depth) >> (kStride - further);
}

/// For each slot the positions of the prefixes that cover it; the highest one is the longest.
inline constexpr auto kCovering = [] {
    std::array<uint64_t, 1u << kStride> masks{};
    for (unsigned slot = 0; slot < masks.size(); ++slot) {
        for (unsigned node = (1u << kStride | slot) >> 1; node != 0; node >>= 1)
            masks[slot] |= uint64_t{1} << node;
    }
    return masks;
}();

/// Which blocks have a place for the bits that no block above them decided on. IPv6 tables are
/// sparse and deep, and skip the levels at which there is nothing to decide. An IPv4 table has four
/// levels at most: looking at a few more blocks is cheaper than to compare in each.
template <typename Address>
struct Skip {
    static constexpr bool kPossible = false;
    Skip(const Key<Address>&, unsigned) noexcept {}
    bool covers(const Key<Address>&) const noexcept { return true; }
    unsigned depth_at(unsigned level) const noexcept { return level; }
};

template <>
struct Skip<net::Ipv6Address> {
    using Key = lpm::Key<net::Ipv6Address>;
    static constexpr bool kPossible = true;
    Skip(const Key& prefix, unsigned bits) noexcept : key(prefix), depth(bits) {}
    bool covers(const Key& other) const noexcept { return key.same_until(other, depth); }
    unsigned depth_at(unsigned) const noexcept { return depth; }

    Key key;  ///< of some address below: only the first `depth` bits count
    uint32_t depth;
};

/// A node of the tree: its children, and the prefixes that end in it, each one entry. It does not
/// change once readers can find it, except for the next hop of a prefix.
template <typename Address>
struct Block {
    uint64_t internal;  ///< bit position(): there is such a prefix
    uint64_t external;  ///< bit slot: there is a child
    [[no_unique_address]] Skip<Address> skip;

    /// Behind the block: the children by slot, then the next hops by position.
    uint32_t* entries() noexcept {
        return reinterpret_cast<uint32_t*>(reinterpret_cast<std::byte*>(this) + kHeader);
    }
    const uint32_t* entries() const noexcept { return const_cast<Block*>(this)->entries(); }

    unsigned children() const noexcept { return static_cast<unsigned>(std::popcount(external)); }
    unsigned prefixes() const noexcept { return static_cast<unsigned>(std::popcount(internal)); }

    bool has_child(unsigned slot) const noexcept { return (external >> slot & 1) != 0; }
    bool has_prefix(unsigned position) const noexcept { return (internal >> position & 1) != 0; }

    /// The entry of the child in a slot where there is one.
    const uint32_t* child(unsigned slot) const noexcept {
        return entries() + std::popcount(external << (63 - slot)) - 1;
    }
    /// The next hop of the prefix at a position where there is one.
    const uint32_t* value(unsigned position) const noexcept {
        return entries() + children() + std::popcount(internal << (63 - position)) - 1;
    }

    static constexpr size_t kHeader =
        2 * sizeof(uint64_t) + (Skip<Address>::kPossible ? 2 * sizeof(uint64_t) + 4 : 0);
    static constexpr size_t bytes(unsigned entry_count) noexcept {
        return kHeader + entry_count * sizeof(uint32_t);
    }
};

/// The child in a slot; 0, which names no block of an arena, if there is none.
template <typename Address>
uint32_t child_of(const Block<Address>& block, unsigned slot) noexcept {
    return block.has_child(slot) ? *block.child(slot) : 0;
}

/// One of two pointers. By mask, as compilers make a branch of anything else, and one that nobody
/// can predict.
inline const uint32_t* select(bool first, const uint32_t* a, const uint32_t* b) noexcept {
    const uintptr_t mask = -uintptr_t{first};
    return reinterpret_cast<const uint32_t*>((reinterpret_cast<uintptr_t>(a) & mask) |
                                             (reinterpret_cast<uintptr_t>(b) & ~mask));
}

/// Next hops are replaced while readers look.
inline NextHopId load_value(const uint32_t* entry) noexcept {
    return std::atomic_ref<uint32_t>(*const_cast<uint32_t*>(entry)).load(std::memory_order_relaxed);
}
inline void store_value(uint32_t* entry, NextHopId next_hop) noexcept {
    std::atomic_ref<uint32_t>(*entry).store(next_hop, std::memory_order_relaxed);
}

}  // namespace heddle::forwarding::lpm
