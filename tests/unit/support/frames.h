#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "packet/pools.h"

namespace heddle::test {

using Bytes = std::vector<uint8_t>;

struct FreeFrame {
    void operator()(rte_mbuf* frame) const noexcept { rte_pktmbuf_free(frame); }
};
using FramePtr = std::unique_ptr<rte_mbuf, FreeFrame>;

/// A frame with cleared metadata whose segments have these lengths (0 is allowed); what the lengths
/// leave over goes into one more segment. Each segment takes a small buffer if that suffices.
inline FramePtr make_frame(const packet::Pools& pools, const Bytes& bytes,
                           std::vector<size_t> lengths = {}) {
    size_t left = bytes.size();
    for (size_t& length : lengths)
        left -= length = std::min(length, left);
    if (left != 0 || lengths.empty()) lengths.push_back(left);

    rte_mbuf* head = nullptr;
    rte_mbuf* tail = nullptr;
    const uint8_t* next = bytes.data();
    for (const size_t length : lengths) {
        rte_mbuf* segment =
            rte_pktmbuf_alloc(length <= packet::kSmallRoom ? pools.small() : pools.large());
        if (segment == nullptr || length > packet::kLargeRoom) std::abort();
        segment->data_off = packet::kHeadroom;
        segment->data_len = static_cast<uint16_t>(length);
        if (length != 0) std::memcpy(rte_pktmbuf_mtod(segment, void*), next, length);
        next += length;
        if (head == nullptr) {
            head = segment;
            head->pkt_len = static_cast<uint32_t>(bytes.size());
            packet::metadata(head).clear();
        } else {
            tail->next = segment;
            ++head->nb_segs;
        }
        tail = segment;
    }
    return FramePtr(head);
}

/// Segment lengths as a receive arena makes them: a small buffer and the rest in a large one.
inline std::vector<size_t> arena_split() {
    return {packet::kSmallRoom};
}

/// Lengths that cut `bytes` into up to 20 segments behind a first one of at least `first` bytes.
inline std::vector<size_t> random_split(std::mt19937& random, size_t first, size_t bytes) {
    const auto up_to = [&](size_t n) {
        return std::uniform_int_distribution<size_t>(0, n)(random);
    };
    std::vector<size_t> lengths = {first + up_to(up_to(1) * 1500)};
    const size_t cuts = up_to(19);
    for (size_t i = 0; i < cuts; ++i) {
        lengths.push_back(up_to(1) == 0 ? up_to(3) : up_to(2 * bytes / (cuts + 1)));
    }
    return lengths;
}

inline Bytes bytes_of(const rte_mbuf* frame) {
    Bytes bytes;
    for (const rte_mbuf* segment = frame; segment != nullptr; segment = segment->next) {
        const auto* data = rte_pktmbuf_mtod(segment, const uint8_t*);
        bytes.insert(bytes.end(), data, data + segment->data_len);
    }
    return bytes;
}

/// Lengths and segment count of the chain agree with each other, and DPDK finds nothing wrong.
inline bool is_sane(const rte_mbuf* frame) {
    const char* reason = nullptr;
    return rte_mbuf_check(frame, 1, &reason) == 0 && bytes_of(frame).size() == frame->pkt_len;
}

inline Bytes random_bytes(std::mt19937& random, size_t count) {
    Bytes bytes(count);
    for (uint8_t& byte : bytes)
        byte = static_cast<uint8_t>(random());
    return bytes;
}

}  // namespace heddle::test
