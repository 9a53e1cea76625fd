#include "forwarding/neighbor_table.h"

namespace heddle::forwarding {

std::atomic<uint64_t>* NeighborTable::free_slot(uint64_t hash) noexcept {
    // The emptier of its two buckets, so that both fill evenly.
    std::atomic<uint64_t>* found = nullptr;
    size_t most_free = 0;
    for (const size_t index : {first_bucket(hash), second_bucket(hash)}) {
        std::atomic<uint64_t>* free = nullptr;
        size_t count = 0;
        for (std::atomic<uint64_t>& slot : buckets_[index].slots) {
            if (slot.load(std::memory_order_relaxed) != 0) continue;
            free = &slot;
            ++count;
        }
        if (count > most_free) {
            most_free = count;
            found = free;
        }
    }
    return found;
}

AdjacencyId NeighborTable::take_id() noexcept {
    if (!free_.empty()) {
        const AdjacencyId id = free_.back();
        free_.pop_back();
        return id;
    }
    return never_used_ < kMaxAdjacencies ? never_used_++ : kNoAdjacency;
}

AdjacencyId NeighborTable::add(const NeighborKey& key) noexcept {
    const uint64_t hash = key.hash();
    std::atomic<uint64_t>* slot = free_slot(hash);
    if (slot == nullptr) return kNoAdjacency;
    const AdjacencyId id = take_id();
    if (id == kNoAdjacency) return kNoAdjacency;
    Adjacency& adjacency = adjacencies_[id];
    adjacency.link.store(0, std::memory_order_relaxed);
    adjacency.used.store(0, std::memory_order_relaxed);
    adjacency.bridge_port.store(kNoBridgePort, std::memory_order_relaxed);
    adjacency.key = key;
    slot->store(tag(hash) << 32 | id, std::memory_order_release);
    ++size_;
    return id;
}

void NeighborTable::erase(AdjacencyId id) noexcept {
    const uint64_t hash = adjacencies_[id].key.hash();
    adjacencies_[id].link.store(0, std::memory_order_relaxed);
    for (const size_t index : {first_bucket(hash), second_bucket(hash)}) {
        for (std::atomic<uint64_t>& slot : buckets_[index].slots) {
            if (slot.load(std::memory_order_relaxed) != (tag(hash) << 32 | id)) continue;
            slot.store(0, std::memory_order_relaxed);
            --size_;
            return;
        }
    }
}

void NeighborTable::release(AdjacencyId id) noexcept {
    free_.push_back(id);
}

}  // namespace heddle::forwarding
