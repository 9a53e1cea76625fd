#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "forwarding/tables.h"
#include "packet/pools.h"
#include "pipeline/context.h"
#include "pipeline/resolver.h"
#include "port/file_descriptor.h"
#include "port/receive_arena.h"
#include "worker/command.h"
#include "worker/handover_ring.h"
#include "worker/read_side.h"
#include "worker/rx_queue.h"

namespace heddle::worker {

/// A thread that moves packets, run to completion: it polls the queues it owns, takes each burst
/// through the pipeline to the drivers, and sleeps when there is nothing to do.
///
///   busy      queues that had frames lately are polled each round; the others are watched by epoll
///   grace     nothing came: look again for a short while, as the next frame may be close
///   armed     wake-ups on, one more look (a frame may have come in between), then epoll_wait;
///   queues
///             without a wake-up (virtual devices) are looked at after 20 us, then less often, up
///             to 1 ms
///
/// Concurrency: post() and the const members may be called by any thread; everything else runs in
/// the worker's own thread. A round is an RCU read section (ReadSide).
class Worker {
 public:
    struct Environment {
        forwarding::Tables& tables;
        const packet::Pools& pools;
        ReadSide& read_side;
        const std::vector<Worker*>& workers;  ///< all that may be handed frames, by id
        pipeline::Resolver& resolver;         ///< worker kResolverWorker has it
    };

    /// There is always one of this id.
    static constexpr uint16_t kResolverWorker = 0;

    struct Options {
        bool busy_polling = false;  ///< never sleep
    };

    /// Starts the thread. Throws std::system_error or std::bad_alloc when the machine has no more.
    Worker(uint16_t id, const Environment& environment, Options options);

    /// The worker must have no queues left.
    ~Worker();

    uint16_t id() const noexcept { return id_; }
    HandoverRing& ring() noexcept { return ring_; }

    /// Queues a command and wakes the worker if it sleeps.
    void post(Command& command) noexcept;
    void wake_if_sleeping() noexcept;

    void set_busy_polling(bool on) noexcept;

    /// Since its start; a reader takes differences.
    struct Statistics {
        uint64_t busy_cycles;  ///< TSC cycles of rounds that moved frames
        uint64_t frames;       ///< received from ports
        uint64_t handed_over;  ///< received from other workers
        uint64_t wakeups;      ///< times it slept and woke
        bool sleeping;
        int thread_id;
        unsigned buffers_held;  ///< ready for reception, when it was last idle
    };
    Statistics statistics() const noexcept;

 private:
    void run() noexcept;
    void handle_commands() noexcept;
    void attach(RxQueue& queue) noexcept;
    void detach(RxQueue& queue) noexcept;
    void activate(RxQueue& queue) noexcept;

    unsigned poll_queues() noexcept;
    /// How many frames came. Nothing if it did not look, because other workers are behind with
    /// frames of this queue: then some may be waiting, and the queue must not be left to its
    /// wake-up.
    std::optional<unsigned> poll(RxQueue& queue) noexcept;
    unsigned poll_ring() noexcept;
    void hand_over_punted() noexcept;
    /// Ends a burst: what it left to be sent and to be resolved.
    void flush() noexcept;

    static bool is_settled(const RxQueue& queue) noexcept;
    /// Adopts a changed spread map once no frame of the old one is under way. False: not yet, do
    /// not poll.
    bool settle_spread(RxQueue& queue) noexcept;
    bool spread_targets_have_room(const RxQueue& queue) const noexcept;
    /// Hands the frames of other workers' flows over; returns how many remained in `frames`.
    unsigned hand_over(RxQueue& queue, const SpreadMap& map, std::span<rte_mbuf*> frames) noexcept;

    void activate_ready(int timeout_ns) noexcept;
    void idle() noexcept;
    int until_resolver(int timeout_ns) const noexcept;
    void sleep() noexcept;
    void take_time() noexcept;

    const uint16_t id_;
    Environment environment_;
    std::atomic<bool> busy_polling_;
    port::ReceiveArena arena_;
    pipeline::Context context_;
    HandoverRing ring_;
    Mailbox mailbox_;
    const uint64_t ready_check_cycles_;
    const uint64_t grace_cycles_;
    port::FileDescriptor wakeup_;
    port::FileDescriptor epoll_;

    // The worker's own.
    std::vector<RxQueue*> active_;  ///< polled each round, the poll-only ones among them
    size_t poll_only_ = 0;
    bool held_back_ = false;  ///< in the last round a queue was not looked at
    uint64_t next_tick_ = 0;
    uint64_t last_ready_check_ = 0;
    uint64_t idle_since_ = 0;
    uint64_t poll_only_sleep_ns_ = 0;
    bool stopping_ = false;

    // Written by the worker, read by anyone.
    std::atomic<bool> sleeping_{false};
    packet::Counter busy_cycles_;
    packet::Counter frames_;
    packet::Counter handed_over_;
    packet::Counter wakeups_;
    std::atomic<int> thread_id_{0};
    std::atomic<unsigned> buffers_held_{0};

    std::thread thread_;
};

}  // namespace heddle::worker
