#pragma once

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>

namespace heddle::worker {

/// Frames on their way to one worker from others. Many producers, one consumer, and positions that
/// let a producer know when all it sent has been dealt with (so that it may send the flow elsewhere
/// without reordering it).
///
/// Workers share their CPUs with containers and may be preempted in the middle of a push. In the
/// default mode of rte_ring every other producer then spins for its turn until that one runs again;
/// in the relaxed tail mode (RTS) whoever finishes last publishes for all.
class HandoverRing {
 public:
    static constexpr unsigned kSize = 1024;

    /// The thread sanitizer does not connect that mode's release of eight bytes with the consumer's
    /// acquire of four of them: under it the ring is in the default mode, whose order it sees.
#ifdef __SANITIZE_THREAD__
    static constexpr bool kRelaxedTail = false;
#else
    static constexpr bool kRelaxedTail = true;
#endif

    /// Throws std::bad_alloc if DPDK has no memory for it.
    explicit HandoverRing(const std::string& name);

    /// Enqueues all or none.
    bool push(std::span<rte_mbuf* const> frames) noexcept {
        constexpr auto kEnqueue =
            kRelaxedTail ? rte_ring_mp_rts_enqueue_bulk : rte_ring_mp_enqueue_bulk;
        return kEnqueue(ring_.get(), reinterpret_cast<void* const*>(frames.data()),
                        static_cast<unsigned>(frames.size()), nullptr) != 0;
    }
    bool has_room(unsigned frames) const noexcept {
        return rte_ring_free_count(ring_.get()) >= frames;
    }
    bool empty() const noexcept {
        return rte_ring_empty(ring_.get()) != 0;
    }

    /// Consumer. After the frames have left for good it says so with finished().
    unsigned pop(std::span<rte_mbuf*> frames) noexcept {
        return rte_ring_sc_dequeue_burst(ring_.get(), reinterpret_cast<void**>(frames.data()),
                                         static_cast<unsigned>(frames.size()), nullptr);
    }
    void finished(unsigned frames) noexcept {
        done_.store(done_.load(std::memory_order_relaxed) + frames, std::memory_order_release);
    }

    /// A position behind everything pushed so far.
    uint32_t position() const noexcept {
        return __atomic_load_n(kRelaxedTail ? &ring_->rts_prod.head.val.pos : &ring_->prod.head,
                               __ATOMIC_ACQUIRE);
    }
    /// Whether everything pushed before `position` was taken has been dealt with.
    bool passed(uint32_t position) const noexcept {
        return static_cast<int32_t>(done_.load(std::memory_order_acquire) - position) >= 0;
    }

 private:
    struct Free {
        void operator()(rte_ring* ring) const noexcept { rte_ring_free(ring); }
    };
    std::unique_ptr<rte_ring, Free> ring_;
    std::atomic<uint32_t> done_{0};
};

}  // namespace heddle::worker
