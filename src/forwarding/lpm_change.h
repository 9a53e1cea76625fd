#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>

#include "forwarding/lpm_arena.h"
#include "forwarding/lpm_block.h"

namespace heddle::forwarding::lpm {

/// The blocks that a change makes and those that they replace. Until it is published it can be
/// dropped without a trace.
template <typename Address>
class Change {
 public:
    using Index = LpmArena::Index;
    using Key = lpm::Key<Address>;
    using Block = lpm::Block<Address>;

    /// Throws std::bad_alloc, as with() and without() do.
    explicit Change(LpmArena& arena) : arena_(arena) { arena_.reserve_retirements(kMost); }
    ~Change() {
        for (unsigned i = 0; i < made_count_; ++i)
            arena_.free(made_[i]);
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

    // One of these two once the result of with() or without() is in place.
    void retire_replaced() noexcept {
        made_count_ = 0;
        for (unsigned i = 0; i < replaced_count_; ++i)
            arena_.retire(replaced_[i]);
    }
    void free_replaced() noexcept {  ///< for a table that has no readers
        made_count_ = 0;
        for (unsigned i = 0; i < replaced_count_; ++i)
            arena_.free(replaced_[i]);
    }

    /// The block `old`, which is kNone if there was none, with a prefix set that is not in it.
    Index with(Index old, unsigned level, const Key& key, unsigned length, NextHopId next_hop) {
        if (old == LpmArena::kNone) return leaf(level, key, length, next_hop);
        const unsigned depth = block(old)->skip.depth_at(level);
        if constexpr (Skip<Address>::kPossible) {
            const unsigned shared = std::min(key.common_bits(block(old)->skip.key), length);
            if (shared < depth) {
                // Another block above, for the place where the prefix leaves the way or ends.
                const unsigned at = block_depth(shared);
                const unsigned old_slot = block(old)->skip.key.slot(at);
                const Index above = single(at, key, 0, uint64_t{1} << old_slot, old);
                return with(above, level, key, length, next_hop);
            }
        }
        if (length < depth + kStride) {
            return edited(old, &Block::internal, position(key, depth, length), next_hop);
        }
        const unsigned slot = key.slot(depth);
        const Index child =
            with(child_of(*block(old), slot), depth + kStride, key, length, next_hop);
        return edited(old, &Block::external, slot, child);
    }

    /// The block `old` without a prefix that is in it or below; kNone if nothing is left.
    Index without(Index old, unsigned level, const Key& key, unsigned length) {
        const unsigned depth = block(old)->skip.depth_at(level);
        if (length < depth + kStride) {
            return edited(old, &Block::internal, position(key, depth, length), 0);
        }
        const unsigned slot = key.slot(depth);
        const Index child = without(child_of(*block(old), slot), depth + kStride, key, length);
        return edited(old, &Block::external, slot, child);
    }

 private:
    // A way down has at most 21 blocks; a fork and its leaf come in place of others.
    static constexpr unsigned kMost = 24;

    const Block* block(Index index) const noexcept { return arena_.at<const Block>(index); }
    Block* writable(Index index) const noexcept { return arena_.at<Block>(index); }

    Index make(unsigned entries) {
        const Index index = arena_.allocate(Block::bytes(entries));
        assert(made_count_ < kMost);
        made_[made_count_++] = index;
        return index;
    }

    Index single(unsigned depth, const Key& key, uint64_t internal, uint64_t external,
                 uint32_t entry) {
        const Index index = make(1);
        Block* made = new (writable(index)) Block{internal, external, {key, depth}};
        made->entries()[0] = entry;
        return index;
    }

    /// A prefix by itself, below `level`.
    Index leaf(unsigned level, const Key& key, unsigned length, NextHopId next_hop) {
        unsigned depth = block_depth(length);
        Index index = single(depth, key, uint64_t{1} << position(key, depth, length), 0, next_hop);
        while (!Skip<Address>::kPossible && depth > level) {
            depth -= kStride;
            index = single(depth, key, 0, uint64_t{1} << key.slot(depth), index);
        }
        return index;
    }

    /// A copy of `old` in which the entry at a bit of one of the bitmaps is another one; 0 takes it
    /// away. A block in which nothing is left is none, and one with nothing but a child is skipped
    /// if that is possible.
    Index edited(Index old, uint64_t Block::*bitmap, unsigned bit, uint32_t entry) {
        assert(replaced_count_ < kMost);
        replaced_[replaced_count_++] = old;
        const Block& from = *block(old);
        const uint64_t mask = uint64_t{1} << bit;
        const bool had = (from.*bitmap & mask) != 0;
        const unsigned before = static_cast<unsigned>(std::popcount(from.*bitmap & (mask - 1))) +
                                (bitmap == &Block::internal ? from.children() : 0);
        const unsigned after = from.children() + from.prefixes() - before - had;
        const unsigned count = before + (entry != 0) + after;
        if (count == 0) return LpmArena::kNone;
        const uint32_t* rest = from.entries() + before + had;

        uint64_t internal = from.internal;
        uint64_t external = from.external;
        uint64_t& changed = bitmap == &Block::internal ? internal : external;
        changed = entry != 0 ? changed | mask : changed & ~mask;
        if (Skip<Address>::kPossible && count == 1 && internal == 0) {
            return entry != 0 ? entry : before != 0 ? from.entries()[0] : *rest;
        }

        const Index index = make(count);
        Block* to = writable(index);
        std::memcpy(static_cast<void*>(to), &from, Block::kHeader);
        to->internal = internal;
        to->external = external;
        uint32_t* entries = std::copy_n(from.entries(), before, to->entries());
        if (entry != 0) *entries++ = entry;
        std::copy_n(rest, after, entries);
        return index;
    }

    LpmArena& arena_;
    std::array<Index, kMost> made_;
    std::array<Index, kMost> replaced_;
    unsigned made_count_ = 0;
    unsigned replaced_count_ = 0;
};

}  // namespace heddle::forwarding::lpm
