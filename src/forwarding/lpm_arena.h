#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "forwarding/zeroed_array.h"

namespace heddle::forwarding {

/// The memory of all LPM tables: address space that is reserved once and costs pages only where it
/// is used, so that a block is named by 32 bits and readers never see it move.
///
/// Blocks of similar size share a chunk of 64 KB. Chunks without any block go back to the kernel.
///
/// Concurrency: one control thread calls everything except at(), which any thread may call for a
/// block that it found in a table since its last quiescent state.
class LpmArena {
 public:
    /// Names a block; kNone names none.
    using Index = uint32_t;
    static constexpr Index kNone = 0;

    static constexpr size_t kChunkBytes = 64 * 1024;
    static constexpr size_t kLargestBlock = kChunkBytes;
    /// Address space, not memory: 16 GB hold several hundred million IPv4 prefixes.
    static constexpr size_t kDefaultBytes = size_t{1} << 34;

    /// `bytes` of address space (at most 64 GB), of which the first chunk is never used. Throws
    /// std::bad_alloc if the kernel has no room for it.
    explicit LpmArena(size_t bytes = kDefaultBytes);

    LpmArena(const LpmArena&) = delete;
    LpmArena& operator=(const LpmArena&) = delete;

    template <typename T>
    T* at(Index index) noexcept {
        return reinterpret_cast<T*>(memory_.begin() + size_t{index} * kUnit);
    }
    template <typename T>
    const T* at(Index index) const noexcept {
        return reinterpret_cast<const T*>(memory_.begin() + size_t{index} * kUnit);
    }

    // ---- Control thread ------------------------------------------------------------------------

    /// A block of at least `bytes` (1 to kLargestBlock), aligned to 16 bytes; what is in it is
    /// undefined. Throws std::bad_alloc if the arena is full; nothing has changed then.
    Index allocate(size_t bytes);

    /// Gives a block back that no reader can hold.
    void free(Index index) noexcept;

    /// Room for so many further calls of retire(), which cannot fail then. Throws std::bad_alloc.
    void reserve_retirements(size_t count);

    /// Gives a block back that readers may still hold: reclaim() frees it.
    void retire(Index index) noexcept;

    /// Frees what was retired: call after an RCU grace period has passed since the last change of
    /// any table.
    void reclaim() noexcept;
    bool has_retired() const noexcept { return !retired_.empty(); }

    /// What waits for reclaim(): a change retires some hundred bytes, so that a bulk load should
    /// stop for a grace period each time this has grown by some megabytes.
    size_t retired_bytes() const noexcept { return retired_bytes_; }

    /// Bytes of all blocks, including those that are retired.
    size_t bytes_in_use() const noexcept { return bytes_in_use_; }
    /// Bytes of all chunks that have blocks: what bytes_in_use() costs with its gaps.
    size_t bytes_held() const noexcept {
        return (chunks_.size() - 1 - empty_.size() - returned_.size()) * kChunkBytes;
    }

 private:
    // 16 bytes, so that indices reach 64 GB and the smallest block still wastes little.
    static constexpr size_t kUnit = 16;
    static constexpr size_t kUnitsPerChunk = kChunkBytes / kUnit;

    using ChunkId = uint32_t;
    static constexpr ChunkId kNoChunk = 0;
    static constexpr unsigned kClasses = 25;
    static const std::array<uint32_t, kClasses> kClassBytes;

    struct Chunk {
        ChunkId next = kNoChunk;  ///< in the list of its class of those with room
        ChunkId previous = kNoChunk;
        Index first_free = kNone;  ///< of the blocks given back: each holds the index of the next
        uint16_t used = 0;
        uint16_t carved = 0;  ///< blocks from here on were never used
        uint8_t size_class = 0;
    };

    /// Empty chunks that are kept with their pages, for the next change.
    static constexpr size_t kChunksKept = 32;

    static unsigned class_of(size_t bytes) noexcept;
    static unsigned capacity(const Chunk& chunk) noexcept {
        return static_cast<unsigned>(kChunkBytes / kClassBytes[chunk.size_class]);
    }
    static ChunkId chunk_of(Index index) noexcept { return index / kUnitsPerChunk; }
    size_t block_bytes(Index index) const noexcept {
        return kClassBytes[chunks_[chunk_of(index)].size_class];
    }
    Index take_block(ChunkId id) noexcept;
    ChunkId take_chunk();
    void link(ChunkId id) noexcept;
    void unlink(ChunkId id) noexcept;
    void return_pages() noexcept;

    ZeroedArray<std::byte> memory_;
    std::vector<Chunk> chunks_;      ///< [0] stands for "none"
    std::vector<ChunkId> empty_;     ///< chunks without blocks, pages still there
    std::vector<ChunkId> returned_;  ///< chunks without blocks or pages
    std::array<ChunkId, kClasses> with_room_{};
    std::vector<Index> retired_;
    size_t retired_bytes_ = 0;
    size_t bytes_in_use_ = 0;
};

}  // namespace heddle::forwarding
