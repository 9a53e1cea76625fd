#include "packet/replicate.h"

#include <rte_memcpy.h>

#include <algorithm>

namespace heddle::packet {
namespace {

/// Copies the bytes of one segment into as many small buffers as it takes; false if they ran out.
/// `tail` is the last buffer of the chain begun at `head`.
bool copy_segment(const Pools& pools, const rte_mbuf* segment, rte_mbuf* head, rte_mbuf*& tail) {
    const char* from = rte_pktmbuf_mtod(segment, const char*);
    uint32_t left = segment->data_len;
    while (left != 0) {
        uint16_t room = rte_pktmbuf_tailroom(tail);
        if (room == 0) {
            rte_mbuf* next = allocate_small(pools);
            if (next == nullptr) return false;
            tail->next = next;
            ++head->nb_segs;
            tail = next;
            room = rte_pktmbuf_tailroom(tail);
        }
        const auto part = static_cast<uint16_t>(std::min<uint32_t>(left, room));
        rte_memcpy(rte_pktmbuf_mtod_offset(tail, char*, tail->data_len), from, part);
        tail->data_len = static_cast<uint16_t>(tail->data_len + part);
        head->pkt_len += part;
        from += part;
        left -= part;
    }
    return true;
}

}  // namespace

rte_mbuf* replicate(const Pools& pools, rte_mbuf* frame) noexcept {
    rte_mbuf* copy = allocate_small(pools);
    if (copy == nullptr) return nullptr;
    metadata(copy) = metadata(frame);
    rte_mbuf* tail = copy;
    if (!copy_segment(pools, frame, copy, tail)) {
        rte_pktmbuf_free(copy);
        return nullptr;
    }
    for (rte_mbuf* segment = frame->next; segment != nullptr; segment = segment->next) {
        rte_mbuf* shared = rte_pktmbuf_alloc(pools.small());
        if (shared == nullptr) {
            rte_pktmbuf_free(copy);
            return nullptr;
        }
        rte_pktmbuf_attach(shared, segment);
        shared->data_off = segment->data_off;
        shared->data_len = segment->data_len;
        tail->next = shared;
        ++copy->nb_segs;
        copy->pkt_len += shared->data_len;
        tail = shared;
    }
    return copy;
}

}  // namespace heddle::packet
