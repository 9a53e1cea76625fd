#include "forwarding/lpm_arena.h"

#include <algorithm>
#include <cassert>

namespace heddle::forwarding {

// Fine steps where most blocks are, and one class each for the two sizes of a table's root.
const std::array<uint32_t, LpmArena::kClasses> LpmArena::kClassBytes = {
    16,  32,  48,  64,  80,  96,  112, 128, 144, 160, 176,  192,  208,
    224, 240, 256, 288, 320, 352, 384, 448, 512, 576, 1024, 65536};

LpmArena::LpmArena(size_t bytes)
    : memory_(bytes / kChunkBytes * kChunkBytes, ZeroedArray<std::byte>::Pages::huge), chunks_(1) {
    assert(bytes <= size_t{kUnit} << 32);
}

unsigned LpmArena::class_of(size_t bytes) noexcept {
    assert(bytes >= 1 && bytes <= kLargestBlock);
    if (bytes <= 256) return static_cast<unsigned>((bytes - 1) / 16);
    const auto* found = std::lower_bound(kClassBytes.begin(), kClassBytes.end(), bytes);
    return static_cast<unsigned>(found - kClassBytes.begin());
}

LpmArena::Index LpmArena::allocate(size_t bytes) {
    const unsigned size_class = class_of(bytes);
    ChunkId id = with_room_[size_class];
    if (id == kNoChunk) {
        id = take_chunk();
        chunks_[id] = Chunk();
        chunks_[id].size_class = static_cast<uint8_t>(size_class);
        link(id);
    }
    return take_block(id);
}

LpmArena::Index LpmArena::take_block(ChunkId id) noexcept {
    Chunk& chunk = chunks_[id];
    const uint32_t bytes = kClassBytes[chunk.size_class];
    Index index = chunk.first_free;
    if (index != kNone) {
        chunk.first_free = *at<Index>(index);
    } else {
        index = static_cast<Index>(id * kUnitsPerChunk + chunk.carved++ * (bytes / kUnit));
    }
    if (++chunk.used == capacity(chunk)) unlink(id);
    bytes_in_use_ += bytes;
    return index;
}

LpmArena::ChunkId LpmArena::take_chunk() {
    for (std::vector<ChunkId>* chunks : {&empty_, &returned_}) {
        if (chunks->empty()) continue;
        const ChunkId id = chunks->back();
        chunks->pop_back();
        return id;
    }
    if ((chunks_.size() + 1) * kChunkBytes > memory_.size()) throw std::bad_alloc();
    // Room for every chunk in each list, so that giving back cannot fail.
    if (empty_.capacity() <= chunks_.size()) empty_.reserve(2 * chunks_.size() + 16);
    if (returned_.capacity() <= chunks_.size()) returned_.reserve(2 * chunks_.size() + 16);
    chunks_.emplace_back();
    return static_cast<ChunkId>(chunks_.size() - 1);
}

void LpmArena::free(Index index) noexcept {
    const ChunkId id = chunk_of(index);
    Chunk& chunk = chunks_[id];
    bytes_in_use_ -= kClassBytes[chunk.size_class];
    if (chunk.used == capacity(chunk)) link(id);
    *at<Index>(index) = chunk.first_free;
    chunk.first_free = index;
    if (--chunk.used != 0) return;
    unlink(id);
    empty_.push_back(id);
}

void LpmArena::link(ChunkId id) noexcept {
    Chunk& chunk = chunks_[id];
    ChunkId& head = with_room_[chunk.size_class];
    chunk.previous = kNoChunk;
    chunk.next = head;
    if (head != kNoChunk) chunks_[head].previous = id;
    head = id;
}

void LpmArena::unlink(ChunkId id) noexcept {
    const Chunk& chunk = chunks_[id];
    if (chunk.next != kNoChunk) chunks_[chunk.next].previous = chunk.previous;
    if (chunk.previous != kNoChunk) {
        chunks_[chunk.previous].next = chunk.next;
    } else {
        with_room_[chunk.size_class] = chunk.next;
    }
}

void LpmArena::reserve_retirements(size_t count) {
    const size_t wanted = retired_.size() + count;
    if (retired_.capacity() < wanted) retired_.reserve(std::max(wanted, 2 * retired_.capacity()));
}

void LpmArena::retire(Index index) noexcept {
    assert(retired_.size() < retired_.capacity());
    retired_.push_back(index);
    retired_bytes_ += block_bytes(index);
}

void LpmArena::reclaim() noexcept {
    for (const Index index : retired_)
        free(index);
    retired_.clear();
    retired_bytes_ = 0;
    return_pages();
}

void LpmArena::return_pages() noexcept {
    while (empty_.size() > kChunksKept) {
        const ChunkId id = empty_.back();
        empty_.pop_back();
        returned_.push_back(id);
        madvise(at<void>(static_cast<Index>(id * kUnitsPerChunk)), kChunkBytes, MADV_DONTNEED);
    }
}

}  // namespace heddle::forwarding
