#include "forwarding/fdb.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace heddle::forwarding {

Fdb::Fdb(size_t buckets)
    : buckets_(std::bit_ceil(buckets), ZeroedArray<Bucket>::Pages::huge),
      mask_(buckets_.size() - 1) {}

unsigned Fdb::used(size_t bucket) const noexcept {
    unsigned count = 0;
    for (const Slot& slot : buckets_[bucket].slots) {
        count += slot.key.load(std::memory_order_relaxed) != 0;
    }
    return count;
}

Fdb::Slot* Fdb::claim(Key key, uint64_t hash) noexcept {
    size_t preferred = first_bucket(hash);
    size_t other = second_bucket(hash);
    // The first bucket saves a cache line at each lookup, but its last slot is kept for keys that
    // have no better place: that makes a full pair of buckets a thousand times rarer.
    if (const unsigned in_first = used(preferred);
        in_first + 1 >= kWays && used(other) < in_first) {
        std::swap(preferred, other);
    }
    for (size_t index : {preferred, other}) {
        for (Slot& slot : buckets_[index].slots) {
            uint64_t free = 0;
            // Reads what release() wrote: the slot's value is 0 from here on.
            if (slot.key.compare_exchange_strong(free, key.bits(), std::memory_order_seq_cst,
                                                 std::memory_order_relaxed)) {
                return &slot;
            }
        }
    }
    return nullptr;
}

// Two threads that add a key at once both store first (sequentially consistent) and look then: at
// least one of them finds the other's slot. A static entry wins, else the slot that find() takes.
Fdb::Learned Fdb::add(Key key, uint64_t hash, uint64_t value) noexcept {
    Slot* added = claim(key, hash);
    if (added == nullptr) return Learned::full;
    added->value.store(value, std::memory_order_seq_cst);
    Learned result = Learned::added;
    for (bool changed = true; changed;) {
        uint64_t agreed = 0;
        for_each_slot(key, hash, [&](Slot&, uint64_t found) {
            if (agreed == 0 || (found & ~agreed & kStatic) != 0) agreed = found;
        });
        changed = false;
        for_each_slot(key, hash, [&](Slot& slot, uint64_t old) {
            if (agreed == 0 || old == agreed || (old & kStatic) != 0) return;
            // Only its own slot may a worker make static, as that is one learned address less.
            const bool is_static = (agreed & kStatic) != 0;
            if (is_static && &slot != added) return;
            if (!slot.value.compare_exchange_strong(old, agreed)) return;
            changed = true;
            if (is_static) result = Learned::is_static;
        });
    }
    return result;
}

std::optional<unsigned> Fdb::set_static(Key key, BridgePortId bridge_port) noexcept {
    const uint64_t h = hash(key);
    const uint64_t wanted = pack(bridge_port, 0, kStatic);
    unsigned replaced = 0;
    bool found = false;
    const auto replace = [&](Slot& slot, uint64_t) {
        const uint64_t old = slot.value.exchange(wanted, std::memory_order_seq_cst);
        replaced += (old & kStatic) == 0;
        found = true;
    };
    for_each_slot(key, h, replace);
    if (found) return replaced;
    Slot* slot = claim(key, h);
    if (slot == nullptr) return std::nullopt;
    slot->value.store(wanted, std::memory_order_seq_cst);
    for_each_slot(key, h, replace);  // see add()
    return replaced;
}

void Fdb::for_each(const std::function<void(const Entry&)>& visit) const {
    for (const Bucket& bucket : buckets_) {
        for (const Slot& slot : bucket.slots) {
            Key key = Key::from_bits(slot.key.load(std::memory_order_relaxed));
            if (key.bits() == 0) continue;
            uint64_t value = slot.value.load(std::memory_order_acquire);
            if (value != 0) visit({key, unpack(value)});
        }
    }
}

size_t Fdb::retire_if(const std::function<bool(const Entry&)>& remove, size_t first, size_t count,
                      const std::function<void(const Entry&)>& retired) {
    size_t removed = 0;
    size_t last = std::min(buckets_.size(),
                           count > buckets_.size() - first ? buckets_.size() : first + count);
    for (size_t index = first; index < last; ++index) {
        for (Slot& slot : buckets_[index].slots) {
            Key key = Key::from_bits(slot.key.load(std::memory_order_relaxed));
            if (key.bits() == 0) continue;
            uint64_t value = slot.value.load(std::memory_order_acquire);
            // A worker may refresh or move the entry meanwhile: then look at it anew.
            while (value != 0 && remove({key, unpack(value)})) {
                if (slot.value.compare_exchange_weak(value, 0, std::memory_order_acq_rel)) {
                    // Now and not in release(): a reader that began after the grace period could
                    // find the old key still there and then read the value of its next owner.
                    slot.key.store(kRetiredKey, std::memory_order_relaxed);
                    retired_.push_back(&slot);
                    ++removed;
                    if (retired) retired({key, unpack(value)});
                    break;
                }
            }
        }
    }
    return removed;
}

void Fdb::release() {
    for (Slot* slot : retired_) {
        slot->key.store(0, std::memory_order_release);
    }
    retired_.clear();
}

}  // namespace heddle::forwarding
