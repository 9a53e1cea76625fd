#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "support/frames.h"

namespace heddle::test {

/// A frame each segment of which lies in a heap block of exactly its length, so that
/// AddressSanitizer sees a read behind it; buffers of a pool are one block to it. The frame is not
/// exclusive: whoever wants to write to it copies it first.
inline FramePtr exact_frame(const packet::Pools& pools, const Bytes& bytes,
                            const std::vector<size_t>& lengths = {}) {
    struct Block {
        rte_mbuf_ext_shared_info info = {};
        std::unique_ptr<uint8_t[]> bytes;
    };
    FramePtr frame = make_frame(pools, bytes, lengths);
    auto next = bytes.begin();
    for (rte_mbuf* segment = frame.get(); segment != nullptr; segment = segment->next) {
        const uint16_t length = segment->data_len;
        auto* block = new Block{.bytes = std::make_unique<uint8_t[]>(length)};
        std::copy_n(next, length, block->bytes.get());
        next += length;
        block->info.free_cb = [](void*, void* opaque) { delete static_cast<Block*>(opaque); };
        block->info.fcb_opaque = block;
        rte_mbuf_ext_refcnt_set(&block->info, 1);
        rte_pktmbuf_attach_extbuf(segment, block->bytes.get(), RTE_BAD_IOVA, length, &block->info);
        segment->data_off = 0;
        segment->data_len = length;
    }
    return frame;
}

}  // namespace heddle::test
