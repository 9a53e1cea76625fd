#pragma once

#include <rte_mempool.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "packet/metadata.h"

namespace heddle::packet {

struct PoolSizes {
    uint32_t small = 16384;  ///< buffers of kSmallRoom
    uint32_t large = 1024;   ///< buffers of kLargeRoom
};

/// Bytes of a small buffer behind the headroom: an MTU of 1500 with two VLAN tags and room to grow.
inline constexpr uint16_t kSmallRoom = 2048;

/// A large buffer takes what a small one in front of it could not: together they hold the largest
/// superframe Linux sends (GSO_LEGACY_MAX_SIZE 65536 plus link layer).
inline constexpr uint16_t kLargeRoom = 65535 - kHeadroom;

/// The packet buffers of the daemon. All threads may allocate and free; threads registered with
/// rte_thread_register use a cache of their own.
class Pools {
 public:
    /// `prefix` makes the names of the mempools unique in the process.
    static tl::expected<Pools, std::string> create(const PoolSizes& sizes,
                                                   const std::string& prefix = "heddle");

    rte_mempool* small() const noexcept { return small_.get(); }
    rte_mempool* large() const noexcept { return large_.get(); }

    /// Buffers that are neither in a pool nor in a thread's cache. Walks the caches: not for
    /// workers.
    uint32_t in_use() const noexcept;
    uint32_t total() const noexcept { return small_->size + large_->size; }

 private:
    struct Free {
        void operator()(rte_mempool* pool) const noexcept { rte_mempool_free(pool); }
    };
    std::unique_ptr<rte_mempool, Free> small_;
    std::unique_ptr<rte_mempool, Free> large_;
};

/// A small buffer with an empty frame behind kHeadroom and cleared metadata; nullptr if none is
/// free.
inline rte_mbuf* allocate_small(const Pools& pools) noexcept {
    rte_mbuf* buffer = rte_pktmbuf_alloc(pools.small());
    if (buffer == nullptr) return nullptr;
    buffer->data_off = kHeadroom;
    metadata(buffer).clear();
    return buffer;
}

}  // namespace heddle::packet
