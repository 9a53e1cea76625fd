#include "port/receive_arena.h"

#include <algorithm>
#include <utility>

namespace heddle::port {

using packet::kLargeRoom;
using packet::kSmallRoom;

ReceiveArena::~ReceiveArena() {
    for (Slot& slot : slots_) {
        rte_pktmbuf_free(slot.small);
        rte_pktmbuf_free(slot.large);
    }
}

unsigned ReceiveArena::prepare(unsigned wanted) noexcept {
    wanted = std::min(wanted, kSlots);
    for (unsigned i = 0; i < wanted; ++i) {
        Slot& slot = slots_[i];
        if (slot.small == nullptr) slot.small = packet::allocate_small(pools_);
        if (slot.large == nullptr) slot.large = rte_pktmbuf_alloc(pools_.large());
        if (slot.small == nullptr || slot.large == nullptr) return i;
    }
    return wanted;
}

std::array<iovec, 2> ReceiveArena::buffers(unsigned slot) noexcept {
    const Slot& ready = slots_[slot];
    return {iovec{rte_pktmbuf_mtod(ready.small, void*), kSmallRoom},
            iovec{rte_pktmbuf_mtod(ready.large, void*), kLargeRoom}};
}

rte_mbuf* ReceiveArena::take(unsigned slot, size_t bytes) noexcept {
    Slot& taken = slots_[slot];
    rte_mbuf* frame = std::exchange(taken.small, nullptr);
    const size_t first = std::min<size_t>(bytes, kSmallRoom);
    frame->data_len = static_cast<uint16_t>(first);
    frame->pkt_len = static_cast<uint32_t>(bytes);
    if (bytes > first) {
        rte_mbuf* rest = std::exchange(taken.large, nullptr);
        rest->data_len = static_cast<uint16_t>(bytes - first);
        frame->next = rest;
        frame->nb_segs = 2;
    }
    return frame;
}

unsigned ReceiveArena::held() const noexcept {
    unsigned buffers = 0;
    for (const Slot& slot : slots_)
        buffers += (slot.small != nullptr) + (slot.large != nullptr);
    return buffers;
}

}  // namespace heddle::port
