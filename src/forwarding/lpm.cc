#include "forwarding/lpm.h"

#include <algorithm>
#include <bit>
#include <new>

#include "forwarding/lpm_change.h"

namespace heddle::forwarding {

using lpm::kStride;
using lpm::position;
using lpm::store_value;

// ---- Root

template <typename Address>
void Lpm<Address>::create_root(unsigned bits) {
    arena_.reserve_retirements(1);
    const Root created{arena_.allocate(sizeof(Slot) << bits), bits};
    for (size_t i = 0; i < created.slots(); ++i)
        new (&slots(created)[i]) Slot(0);
    root_.store(created.pack(), std::memory_order_release);
}

/// Takes the root of a table without routes away.
template <typename Address>
void Lpm<Address>::drop_root() noexcept {
    const Root dropped = root();
    root_.store(Root().pack(), std::memory_order_release);
    arena_.retire(dropped.index);
}

/// Calls for each block and the root itself; a block's children come before it.
template <typename Address>
template <typename Function>
void Lpm<Address>::for_each_block(Root root, Function function) const {
    for (size_t i = 0; i < root.slots(); ++i) {
        const Index first = block_of(slots(root)[i].load(std::memory_order_relaxed));
        if (first != LpmArena::kNone) for_each_below(first, function);
    }
    function(root.index);
}

template <typename Address>
template <typename Function>
void Lpm<Address>::for_each_below(Index index, Function& function) const {
    const Block& from = *block(index);
    for (unsigned i = 0; i < from.children(); ++i)
        for_each_below(from.entries()[i], function);
    function(index);
}

template <typename Address>
Lpm<Address>::~Lpm() {
    if (!root().exists()) return;
    for_each_block(root(), [&](Index index) { arena_.free(index); });
}

/// Makes all anew under a root of another size and puts it in place with one store. Only speed and
/// memory depend on it, so that it may be left undone for lack of memory.
template <typename Address>
void Lpm<Address>::rebuild(unsigned bits) noexcept try {
    Lpm next(arena_);
    next.has_readers_ = false;
    next.create_root(bits);
    for_each([&](const Prefix& prefix, NextHopId next_hop) { next.insert(prefix, next_hop); });
    const Root old = root();
    size_t blocks = 0;
    for_each_block(old, [&](Index) { ++blocks; });
    arena_.reserve_retirements(blocks);

    root_.store(next.root_.exchange(Root().pack()), std::memory_order_release);
    short_.swap(next.short_);
    for_each_block(old, [&](Index index) { arena_.retire(index); });
} catch (const std::bad_alloc&) {
}

// ---- Prefixes

template <typename Address>
NextHopId Lpm<Address>::set(const Prefix& prefix, NextHopId next_hop) {
    assert(!prefix.has_host_bits() && next_hop != kNoNextHop && next_hop <= INT32_MAX);
    if (!root().exists()) create_root(kSmallRoot);
    const NextHopId old = replace(prefix, next_hop);
    if (old != kNoNextHop) return old;
    try {
        insert(prefix, next_hop);
    } catch (const std::bad_alloc&) {
        if (size_ == 0) drop_root();
        throw;
    }
    ++size_;
    // At multiples, as there may have been no memory at the first one.
    if (root().bits < kLargeRoot && size_ % kGrowAt == 0) rebuild(kLargeRoot);
    return kNoNextHop;
}

template <typename Address>
NextHopId Lpm<Address>::erase(const Prefix& prefix) {
    const NextHopId old = exact(prefix);
    if (old == kNoNextHop) return old;
    if (prefix.length() < root().bits) {
        arena_.reserve_retirements(1);
        short_.erase(prefix);
        fill(prefix, covering(prefix));
    } else {
        const Key key(prefix.address());
        lpm::Change<Address> change(arena_);
        Slot& slot = slot_of(key);
        const Index top = block_of(slot.load(std::memory_order_relaxed));
        put(slot, change.without(top, root().bits, key, prefix.length()));
        change.retire_replaced();
    }
    --size_;
    if (size_ == 0) {
        drop_root();
    } else if (root().bits == kLargeRoot && size_ == kShrinkAt) {
        rebuild(kSmallRoot);
    }
    return old;
}

/// Another next hop for a prefix that is there; kNoNextHop if it is not.
template <typename Address>
NextHopId Lpm<Address>::replace(const Prefix& prefix, NextHopId next_hop) noexcept {
    if (prefix.length() < root().bits) {
        const auto found = short_.find(prefix);
        if (found == short_.end()) return kNoNextHop;
        const NextHopId old = std::exchange(found->second, next_hop);
        fill(prefix, next_hop);
        return old;
    }
    // In place: whoever sees this entry in a block, old or new, has no longer prefix in his state.
    uint32_t* entry = find(Key(prefix.address()), prefix.length());
    if (entry == nullptr) return kNoNextHop;
    const NextHopId old = *entry;
    store_value(entry, next_hop);
    return old;
}

template <typename Address>
void Lpm<Address>::insert(const Prefix& prefix, NextHopId next_hop) {
    if (prefix.length() < root().bits) {
        short_.emplace(prefix, next_hop);
        fill(prefix, next_hop);
        return;
    }
    const Key key(prefix.address());
    lpm::Change<Address> change(arena_);
    Slot& slot = slot_of(key);
    const Index top = block_of(slot.load(std::memory_order_relaxed));
    put(slot, change.with(top, root().bits, key, prefix.length(), next_hop));
    if (has_readers_) {
        change.retire_replaced();
    } else {
        change.free_replaced();
    }
}

/// Puts a changed block below a slot of the root: the moment at which readers see the change.
template <typename Address>
void Lpm<Address>::put(Slot& slot, Index block) noexcept {
    const uint64_t old = slot.load(std::memory_order_relaxed);
    slot.store(pack(block, next_hop_of(old)), std::memory_order_release);
}

/// Writes a next hop into the slots that a short prefix covers, but not into those that a longer
/// one of them covers.
template <typename Address>
void Lpm<Address>::fill(const Prefix& prefix, NextHopId next_hop) noexcept {
    Slot* const all = slots(root());
    size_t next = first_slot(prefix);
    const auto fill_until = [&](size_t end) {
        for (; next < end; ++next) {
            const uint64_t old = all[next].load(std::memory_order_relaxed);
            all[next].store(pack(block_of(old), next_hop), std::memory_order_release);
        }
    };
    const size_t end = next + slot_count(prefix);
    for (auto inner = short_.upper_bound(prefix); inner != short_.end(); ++inner) {
        const size_t begin = first_slot(inner->first);
        if (begin >= end) break;
        fill_until(begin);
        next = std::max(next, begin + slot_count(inner->first));
    }
    fill_until(end);
}

/// The next hop of the longest prefix that covers a short one and is not it.
template <typename Address>
NextHopId Lpm<Address>::covering(const Prefix& prefix) const noexcept {
    for (unsigned length = prefix.length(); length-- > 0;) {
        const auto found = short_.find(Prefix(prefix.address(), length).network());
        if (found != short_.end()) return found->second;
    }
    return kNoNextHop;
}

/// The entry of a prefix that is not short; nullptr if it is not there.
template <typename Address>
uint32_t* Lpm<Address>::find(const Key& key, unsigned length) const noexcept {
    Index index = block_of(slot_of(key).load(std::memory_order_relaxed));
    for (unsigned level = root().bits; index != LpmArena::kNone; level += kStride) {
        const Block& in = *block(index);
        const unsigned depth = in.skip.depth_at(level);
        if (length < depth || !in.skip.covers(key)) return nullptr;
        if (length < depth + kStride) {
            const unsigned at = position(key, depth, length);
            return in.has_prefix(at) ? const_cast<uint32_t*>(in.value(at)) : nullptr;
        }
        index = lpm::child_of(in, key.slot(depth));
    }
    return nullptr;
}

template <typename Address>
NextHopId Lpm<Address>::exact(const Prefix& prefix) const noexcept {
    if (!root().exists()) return kNoNextHop;
    if (prefix.length() < root().bits) {
        const auto found = short_.find(prefix);
        return found == short_.end() ? kNoNextHop : found->second;
    }
    const uint32_t* entry = find(Key(prefix.address()), prefix.length());
    return entry == nullptr ? kNoNextHop : *entry;
}

template <typename Address>
std::optional<std::pair<unsigned, NextHopId>> Lpm<Address>::longest(
    const Address& address) const noexcept {
    for (unsigned length = Address::kBits + 1; length-- > 0;) {
        const NextHopId found = exact(Prefix(address, length).network());
        if (found != kNoNextHop) return std::pair(length, found);
    }
    return std::nullopt;
}

// ---- In order

template <typename Address>
void Lpm<Address>::for_each(const Visit& visit) const {
    const Root root = this->root();
    if (!root.exists()) return;
    auto next = short_.begin();
    for (size_t i = 0; i < root.slots(); ++i) {
        for (; next != short_.end() && first_slot(next->first) == i; ++next)
            visit(next->first, next->second);
        const Index top = block_of(slots(root)[i].load(std::memory_order_relaxed));
        if (top == LpmArena::kNone) continue;
        visit_block(top, Key::from_first(static_cast<unsigned>(i), root.bits), root.bits, visit);
    }
}

/// `key`: the bits that led here, the others zero.
template <typename Address>
void Lpm<Address>::visit_block(Index index, Key key, unsigned level, const Visit& visit) const {
    const Block& in = *block(index);
    const unsigned depth = in.skip.depth_at(level);
    if constexpr (lpm::Skip<Address>::kPossible) {
        key = Key(Prefix(in.skip.key.address(), depth).network().address());
    }
    visit_node(in, key, depth, 1, visit);
}

/// `node`: a position() of the block, or a slot plus 64.
template <typename Address>
void Lpm<Address>::visit_node(const Block& in, Key key, unsigned depth, unsigned node,
                              const Visit& visit) const {
    constexpr unsigned kSlots = 1u << kStride;
    const auto further = static_cast<unsigned>(std::bit_width(node)) - 1;
    Key own = key;
    own.set_slot(depth, node << (kStride - further) & (kSlots - 1));
    if (node >= kSlots) {
        const Index child = lpm::child_of(in, node - kSlots);
        if (child != LpmArena::kNone) visit_block(child, own, depth + kStride, visit);
        return;
    }
    if (in.has_prefix(node)) visit(Prefix(own.address(), depth + further), *in.value(node));
    visit_node(in, key, depth, 2 * node, visit);
    visit_node(in, key, depth, 2 * node + 1, visit);
}

template class Lpm<net::Ipv4Address>;
template class Lpm<net::Ipv6Address>;

}  // namespace heddle::forwarding
