#pragma once

#include <gtest/gtest.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "packet/pools.h"
#include "support/dpdk.h"

namespace heddle::test {

/// A mempool backend in this program's own code: DPDK's is not instrumented, so that the thread
/// sanitizer would take each buffer that one thread frees and another allocates for a race.
namespace visible_mempool {

struct Shared {
    std::mutex mutex;
    std::vector<void*> free;
};
inline Shared& shared(const rte_mempool* pool) {
    return *static_cast<Shared*>(pool->pool_data);
}

inline void install() {
    static const bool once = [] {
        static rte_mempool_ops operations{};
        std::snprintf(operations.name, sizeof(operations.name), "visible");
        operations.alloc = [](rte_mempool* pool) {
            pool->pool_data = new Shared;
            return 0;
        };
        operations.free = [](rte_mempool* pool) { delete &shared(pool); };
        operations.enqueue = [](rte_mempool* pool, void* const* objects, unsigned count) {
            const std::lock_guard lock(shared(pool).mutex);
            shared(pool).free.insert(shared(pool).free.end(), objects, objects + count);
            return 0;
        };
        operations.dequeue = [](rte_mempool* pool, void** objects, unsigned count) {
            Shared& state = shared(pool);
            const std::lock_guard lock(state.mutex);
            if (state.free.size() < count) return -ENOENT;
            std::copy(state.free.end() - count, state.free.end(), objects);
            state.free.resize(state.free.size() - count);
            return 0;
        };
        operations.get_count = [](const rte_mempool* pool) {
            const std::lock_guard lock(shared(pool).mutex);
            return static_cast<unsigned>(shared(pool).free.size());
        };
        if (rte_mempool_register_ops(&operations) < 0 ||
            rte_mbuf_set_user_mempool_ops("visible") != 0) {
            std::abort();
        }
        return true;
    }();
    (void)once;
}

}  // namespace visible_mempool

/// Pools for threads, and a test that fails if buffers are missing at its end.
class ThreadedPoolTest : public ::testing::Test {
 protected:
    const packet::Pools& pools() const {
        static const packet::Pools* const once = [] {
            init_eal();
#ifdef __SANITIZE_THREAD__
            visible_mempool::install();
#endif
            auto made = packet::Pools::create({.small = 16384, .large = 128}, "threaded");
            if (!made) std::abort();
            return new packet::Pools(std::move(*made));  // EAL's memory outlives main()
        }();
        return *once;
    }
    void SetUp() override {
        in_use_ = pools().in_use();
    }
    void TearDown() override {
        EXPECT_EQ(pools().in_use(), in_use_) << "leaked buffers";
    }

 private:
    uint32_t in_use_ = 0;
};

}  // namespace heddle::test
