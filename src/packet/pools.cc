#include "packet/pools.h"

#include <rte_errno.h>
#include <rte_lcore.h>

namespace heddle::packet {
namespace {

// A thread's cache must hold a burst of 64 and its refill; large buffers are few, so a thread may
// not sit on many of them.
constexpr uint32_t kSmallCache = 256;
constexpr uint32_t kLargeCache = 16;

tl::expected<rte_mempool*, std::string> make(const std::string& name, uint32_t count,
                                             uint32_t cache, uint32_t room) {
    rte_mempool* pool = rte_pktmbuf_pool_create(name.c_str(), count, cache, kPrivateSize,
                                                static_cast<uint16_t>(room), SOCKET_ID_ANY);
    if (pool == nullptr) {
        return tl::unexpected("cannot create the packet pool '" + name + "' of " +
                              std::to_string(count) + " buffers: " + rte_strerror(rte_errno));
    }
    return pool;
}

}  // namespace

tl::expected<Pools, std::string> Pools::create(const PoolSizes& sizes, const std::string& prefix) {
    Pools pools;
    auto small = make(prefix + "-small", sizes.small, kSmallCache, kHeadroom + kSmallRoom);
    if (!small) return tl::unexpected(small.error());
    pools.small_.reset(*small);
    auto large = make(prefix + "-large", sizes.large, kLargeCache, kHeadroom + kLargeRoom);
    if (!large) return tl::unexpected(large.error());
    pools.large_.reset(*large);
    return pools;
}

uint32_t Pools::in_use() const noexcept {
    return rte_mempool_in_use_count(small_.get()) + rte_mempool_in_use_count(large_.get());
}

}  // namespace heddle::packet
