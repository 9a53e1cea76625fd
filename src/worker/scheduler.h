#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "forwarding/tables.h"
#include "packet/pools.h"
#include "worker/placement.h"
#include "worker/read_side.h"
#include "worker/rx_queue.h"
#include "worker/spread_control.h"
#include "worker/worker.h"

namespace heddle::worker {

/// The workers and which queue each of them polls.
///
/// New queues go to the least busy worker. Every interval the measured load decides: a worker that
/// is saturated gives a queue to one that is not; where a single queue is too much for one worker,
/// its flows are spread over others by hash, and stay so only if that moved more frames (see
/// SpreadControl).
///
/// Concurrency: one control thread calls everything. Nothing here makes a worker wait; some calls
/// wait for workers (at most a round, or until a handover ring has drained).
class Scheduler {
 public:
    Scheduler(forwarding::Tables& tables, const packet::Pools& pools);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    /// 1 ... forwarding::kMaxWorkers. Throws std::system_error or std::bad_alloc when the machine
    /// has no more threads or memory; those started by then stay.
    void set_workers(unsigned count);
    unsigned workers() const noexcept { return static_cast<unsigned>(workers_.size()); }
    void set_busy_polling(bool on) noexcept;

    /// Begins to poll all queues of a device. Its PortEntry must be published.
    void add_port(forwarding::PortId id, port::Port& device);

    /// Returns when no worker polls the device any more and no frame received from it is inside a
    /// handover ring. Frames may still be sent to it until it is unpublished and synchronize()
    /// returned.
    void remove_port(forwarding::PortId id);

    /// Has the worker with the resolver call `request`, and waits until it has.
    void ask_resolver(const std::function<void(pipeline::Resolver&, pipeline::Context&)>& request);
    bool resolver_has_retired() const noexcept { return resolver_.has_retired(); }
    const pipeline::Resolver::Statistics& resolver_statistics() const noexcept {
        return resolver_.statistics();
    }

    /// Waits until what is in hand-over rings now has been handled. After synchronize(): no frame
    /// is left that was looked at before.
    void drain_rings();

    /// Waits for an RCU grace period.
    void synchronize() noexcept { read_side_.synchronize(); }

    /// Measures loads since the last call and improves the placement. Call every kInterval.
    static constexpr unsigned kIntervalMs = 100;
    void tick();

    struct QueueStatus {
        uint16_t queue;
        uint16_t worker;
        double load;
        bool spread;
    };
    std::vector<QueueStatus> queues(forwarding::PortId id) const;

    struct WorkerStatus {
        Worker::Statistics statistics;
        double busy;  ///< share of the last interval
        double cycles_per_frame;
        unsigned queues;
    };
    std::vector<WorkerStatus> worker_status() const;

 private:
    struct ManagedQueue {
        ManagedQueue(forwarding::PortId port, uint16_t index, port::Port& device)
            : queue(port, index, device) {}
        RxQueue queue;
        uint16_t worker = 0;  ///< where it is, or is on its way to
        uint64_t last_cycles = 0;
        uint64_t last_frames = 0;
        double load = 0;
        double frames_per_second = 0;
        SpreadControl spread;
        std::unique_ptr<const SpreadMap> map;  ///< what queue.wanted_spread points to
    };
    struct ManagedWorker {
        std::unique_ptr<Worker> worker;
        Worker::Statistics last{};
        double busy = 0;
        double cycles_per_frame = 0;
    };

    void send(Worker& to, Command::Kind kind, RxQueue& queue, Worker* next = nullptr);
    /// Waits until all commands are done and frees them.
    void settle();
    void move(ManagedQueue& queue, uint16_t to);
    void measure();
    void improve_placement();
    void improve_spreading();
    void set_spread(ManagedQueue& queue, std::unique_ptr<const SpreadMap> map);
    std::vector<QueueLoad> loads() const;

    forwarding::Tables& tables_;
    const packet::Pools& pools_;
    ReadSide read_side_;
    pipeline::Resolver resolver_;
    bool busy_polling_ = false;
    std::vector<Worker*> by_id_;  ///< fixed size: workers index it at any time
    std::vector<ManagedWorker> workers_;
    std::vector<std::unique_ptr<ManagedQueue>> queues_;
    std::vector<std::unique_ptr<Command>> commands_;
    uint64_t last_measured_ = 0;
};

}  // namespace heddle::worker
