#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "forwarding/ids.h"
#include "forwarding/lpm_arena.h"
#include "forwarding/lpm_block.h"
#include "net/ip_address.h"
#include "net/ip_prefix.h"

namespace heddle::forwarding {

/// The routes of a VRF and family: prefix -> next hop, looked up by longest match.
///
/// A tree bitmap (Eatherton, Varghese, Dittia, 2004). The first 7 bits of an address, 13 once the
/// table is large, select a slot of the *root*; from there blocks decide on 6 bits each and hold
/// the prefixes that end in them. Shorter prefixes are written into every slot of the root that
/// they cover, next to the slot's block: they are the one thing that is pushed down.
///
/// Blocks do not change: a change copies those on the way from the root to its own, and one store
/// into the slot puts them in place. So what a lookup finds in a slot is the state of all prefixes
/// of its address at one time, however long it takes to go on from there, even if a covering route
/// is added just before a covered one is removed, or the other way round.
///
/// Cycles of the TSC per address in bursts of 64 to 10,000 destinations (bench/lpm_bench): IPv4 24
/// with 10,000 routes and 30 with a million, which take 16.5 bytes each; IPv6 37 with 10 routes, 51
/// to 86 with 100,000 by how deep they nest; 7 with nothing but a default route.
///
/// Concurrency:
/// - lookup(): any number of threads without locks, inside an RCU read section (between two
///   quiescent states). For each address it finds the state before or after each change; the
///   addresses of one burst may see different states.
/// - All others: one control thread, the same for all tables of an arena. After a grace period it
///   calls reclaim() of the arena.
///
/// Next hops are 1 to 2^31 - 1. Prefixes must not have host bits.
template <typename Address>
class Lpm {
 public:
    using Prefix = net::Prefix<Address>;

    static constexpr size_t kBurst = 64;

    /// An empty table takes no memory from the arena, which must outlive it.
    explicit Lpm(LpmArena& arena) noexcept : arena_(arena) {}

    /// No reader may be left: the memory is free at once.
    ~Lpm();

    Lpm(const Lpm&) = delete;
    Lpm& operator=(const Lpm&) = delete;

    /// The next hop for each of up to kBurst addresses, kNoNextHop where no prefix covers it. `out`
    /// is at least as long as `addresses`. Goes down the tree with all of them at once, so that
    /// they wait for memory together.
    void lookup(std::span<const Address> addresses, std::span<NextHopId> out) const noexcept;

    NextHopId lookup(const Address& address) const noexcept;

    // ---- Control thread ------------------------------------------------------------------------

    /// Adds a prefix or replaces its next hop. Returns the one that was there, kNoNextHop if none.
    /// Throws std::bad_alloc, and has changed nothing then.
    NextHopId set(const Prefix& prefix, NextHopId next_hop);

    /// Returns what was there, kNoNextHop if nothing. Throws std::bad_alloc, as the blocks that
    /// stay are copied, and has changed nothing then.
    NextHopId erase(const Prefix& prefix);

    /// The next hop of this very prefix.
    NextHopId exact(const Prefix& prefix) const noexcept;

    /// The longest prefix that covers an address: its length in bits, and its next hop. Slower
    /// than lookup(); any thread as there.
    std::optional<std::pair<unsigned, NextHopId>> longest(const Address& address) const noexcept;

    /// Calls for each prefix by ascending address, the shorter first among equal ones. `visit` must
    /// not change the table.
    using Visit = std::function<void(const Prefix&, NextHopId)>;
    void for_each(const Visit& visit) const;

    size_t size() const noexcept { return size_; }

 private:
    using Key = lpm::Key<Address>;
    using Block = lpm::Block<Address>;
    using Index = LpmArena::Index;

    /// The block below a slot of the root (lower half) and the next hop of the longest prefix that
    /// is too short to be in a block. Together, as a reader must not mix two states.
    using Slot = std::atomic<uint64_t>;
    static Index block_of(uint64_t slot) noexcept { return static_cast<Index>(slot); }
    static NextHopId next_hop_of(uint64_t slot) noexcept {
        return static_cast<NextHopId>(slot >> 32);
    }
    static uint64_t pack(Index block, NextHopId next_hop) noexcept {
        return uint64_t{next_hop} << 32 | block;
    }

    /// How many bits select a slot of the root. Few routes are worth a kilobyte; with many, 64 KB
    /// save a level. Both lead to the depths at which /24, /32, /48 and /64 are cheap.
    static constexpr unsigned kSmallRoot = 7;
    static constexpr unsigned kLargeRoot = 13;
    static constexpr size_t kGrowAt = 4096;
    static constexpr size_t kShrinkAt = 1024;

    struct Root {
        Index index = LpmArena::kNone;
        unsigned bits = 0;

        static Root unpack(uint64_t word) noexcept {
            return {static_cast<Index>(word), static_cast<unsigned>(word >> 32)};
        }
        uint64_t pack() const noexcept { return uint64_t{bits} << 32 | index; }
        size_t slots() const noexcept { return size_t{1} << bits; }
        bool exists() const noexcept { return index != LpmArena::kNone; }
    };
    Root root() const noexcept { return Root::unpack(root_.load(std::memory_order_acquire)); }
    Slot* slots(Root root) const noexcept { return arena_.at<Slot>(root.index); }
    const Block* block(Index index) const noexcept { return arena_.at<const Block>(index); }

    /// One address on its way down.
    struct Walker {
        const Block* block;
        const uint32_t* best;  ///< the next hop of the longest prefix so far
        Key key;
        const uint32_t* child;  ///< the index of the next block
    };
    bool enter(Walker& walker, uint64_t slot, NextHopId& next_hop) const noexcept;
    static bool pass(Walker& walker, unsigned level) noexcept;

    size_t first_slot(const Prefix& prefix) const noexcept {
        return Key(prefix.address()).first(root().bits);
    }
    size_t slot_count(const Prefix& prefix) const noexcept {
        return root().slots() >> prefix.length();
    }
    Slot& slot_of(const Key& key) const noexcept { return slots(root())[key.first(root().bits)]; }

    void create_root(unsigned bits);
    void drop_root() noexcept;
    void rebuild(unsigned bits) noexcept;
    template <typename Function>
    void for_each_block(Root root, Function function) const;
    template <typename Function>
    void for_each_below(Index index, Function& function) const;

    NextHopId replace(const Prefix& prefix, NextHopId next_hop) noexcept;
    void insert(const Prefix& prefix, NextHopId next_hop);
    static void put(Slot& slot, Index block) noexcept;
    void fill(const Prefix& prefix, NextHopId next_hop) noexcept;
    NextHopId covering(const Prefix& prefix) const noexcept;
    uint32_t* find(const Key& key, unsigned length) const noexcept;

    void visit_block(Index index, Key key, unsigned level, const Visit& visit) const;
    void visit_node(const Block& in, Key key, unsigned depth, unsigned node,
                    const Visit& visit) const;

    LpmArena& arena_;
    std::atomic<uint64_t> root_{0};
    bool has_readers_ = true;  ///< false while a table is rebuilt: nothing needs to be retired
    size_t size_ = 0;
    std::map<Prefix, NextHopId> short_;  ///< prefixes of less bits than the root decides on
};

// ---- Hot path

/// Begins at a slot of the root. False if that is all; `next_hop` is the result then.
template <typename Address>
bool Lpm<Address>::enter(Walker& walker, uint64_t slot, NextHopId& next_hop) const noexcept {
    next_hop = next_hop_of(slot);
    walker.best = &next_hop;
    walker.block = block(block_of(slot));
    return block_of(slot) != LpmArena::kNone;
}

/// Looks at the walker's block. True if it goes on, to `walker.child`; otherwise that is some place
/// which does no harm to prefetch.
///
/// Has no branches, as whether a block has a prefix or child for an address is anybody's guess.
template <typename Address>
bool Lpm<Address>::pass(Walker& walker, unsigned level) noexcept {
    const Block& block = *walker.block;
    const uint64_t here = block.skip.covers(walker.key) ? ~uint64_t{0} : 0;
    const unsigned slot = walker.key.slot(block.skip.depth_at(level));

    const uint64_t covering = block.internal & lpm::kCovering[slot] & here;
    const uint32_t* longest = block.value(std::bit_width(covering | 1) - 1);
    walker.best = lpm::select(covering != 0, longest, walker.best);

    walker.child = block.child(slot);
    return (block.external & here) >> slot & 1;
}

template <typename Address>
NextHopId Lpm<Address>::lookup(const Address& address) const noexcept {
    const Root root = this->root();
    if (!root.exists()) return kNoNextHop;
    Walker walker;
    walker.key = Key(address);
    NextHopId result;
    const Slot& slot = slots(root)[walker.key.first(root.bits)];
    if (!enter(walker, slot.load(std::memory_order_acquire), result)) return result;
    for (unsigned level = root.bits; pass(walker, level); level += lpm::kStride)
        walker.block = block(*walker.child);
    return lpm::load_value(walker.best);
}

template <typename Address>
void Lpm<Address>::lookup(std::span<const Address> addresses,
                          std::span<NextHopId> out) const noexcept {
    assert(addresses.size() <= kBurst && out.size() >= addresses.size());
    const size_t count = addresses.size();
    const Root root = this->root();
    if (!root.exists()) {
        for (size_t i = 0; i < count; ++i)
            out[i] = kNoNextHop;
        return;
    }
    Slot* const slots = this->slots(root);
    Walker walkers[kBurst];
    uint8_t going[kBurst];  // those of the walkers that are not at their end
    size_t left = 0;
    for (size_t i = 0; i < count; ++i) {
        walkers[i].key = Key(addresses[i]);
        __builtin_prefetch(&slots[walkers[i].key.first(root.bits)]);
    }
    for (size_t i = 0; i < count; ++i) {
        const Slot& slot = slots[walkers[i].key.first(root.bits)];
        going[left] = static_cast<uint8_t>(i);
        left += enter(walkers[i], slot.load(std::memory_order_acquire), out[i]);
        __builtin_prefetch(walkers[i].block);
    }
    for (unsigned level = root.bits; left != 0; level += lpm::kStride) {
        size_t on = 0;
        for (size_t i = 0; i < left; ++i) {
            Walker& walker = walkers[going[i]];
            going[on] = going[i];
            on += pass(walker, level);
            __builtin_prefetch(walker.child);
        }
        left = on;
        for (size_t i = 0; i < left; ++i) {
            Walker& walker = walkers[going[i]];
            walker.block = block(*walker.child);
            __builtin_prefetch(walker.block);
        }
    }
    for (size_t i = 0; i < count; ++i)
        out[i] = lpm::load_value(walkers[i].best);
}

extern template class Lpm<net::Ipv4Address>;
extern template class Lpm<net::Ipv6Address>;

}  // namespace heddle::forwarding
