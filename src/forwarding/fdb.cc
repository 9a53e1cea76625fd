#include "forwarding/fdb.h"

#include <algorithm>
#include <bit>

namespace heddle::forwarding {

Fdb::Fdb(size_t buckets)
    : buckets_(std::bit_ceil(buckets), ZeroedArray<Bucket>::Pages::huge),
      mask_(buckets_.size() - 1) {}

Fdb::Slot* Fdb::claim(Key key, uint64_t hash) noexcept {
    for (size_t index : {first_bucket(hash), second_bucket(hash)}) {
        for (Slot& slot : buckets_[index].slots) {
            uint64_t free = 0;
            if (slot.key.compare_exchange_strong(free, key.bits(), std::memory_order_relaxed)) {
                return &slot;
            }
        }
    }
    return nullptr;
}

bool Fdb::set_static(Key key, BridgePortId bridge_port) noexcept {
    uint64_t h = hash(key);
    bool found = false;
    for_each_slot(key, h, [&](Slot& slot, uint64_t) {
        slot.value.store(pack(bridge_port, 0, kStatic), std::memory_order_release);
        found = true;
    });
    if (found) return true;
    Slot* slot = claim(key, h);
    if (slot == nullptr) return false;
    slot->value.store(pack(bridge_port, 0, kStatic), std::memory_order_release);
    return true;
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

size_t Fdb::retire_if(const std::function<bool(const Entry&)>& remove, size_t first,
                      size_t count) {
    size_t removed = 0;
    size_t last = std::min(buckets_.size(), count > buckets_.size() - first ? buckets_.size()
                                                                            : first + count);
    for (size_t index = first; index < last; ++index) {
        for (Slot& slot : buckets_[index].slots) {
            Key key = Key::from_bits(slot.key.load(std::memory_order_relaxed));
            if (key.bits() == 0) continue;
            uint64_t value = slot.value.load(std::memory_order_acquire);
            // A worker may refresh or move the entry meanwhile: then look at it anew.
            while (value != 0 && remove({key, unpack(value)})) {
                if (slot.value.compare_exchange_weak(value, 0, std::memory_order_acq_rel)) {
                    retired_.push_back(&slot);
                    ++removed;
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
