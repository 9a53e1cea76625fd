#include "worker/scheduler.h"

#include <rte_cycles.h>

#include <algorithm>
#include <utility>

#include "worker/pause.h"

namespace heddle::worker {
Scheduler::Scheduler(forwarding::Tables& tables, const packet::Pools& pools)
    : tables_(tables), pools_(pools), by_id_(forwarding::kMaxWorkers, nullptr) {
    last_measured_ = rte_rdtsc();
}

Scheduler::~Scheduler() {
    while (!queues_.empty())
        remove_port(queues_.back()->queue.port);
}

void Scheduler::set_workers(unsigned count) {
    while (workers_.size() < count) {
        const auto id = static_cast<uint16_t>(workers_.size());
        ManagedWorker added;
        added.worker = std::make_unique<Worker>(
            id, Worker::Environment{tables_, pools_, read_side_, by_id_, resolver_},
            Worker::Options{busy_polling_});
        by_id_[id] = added.worker.get();
        workers_.push_back(std::move(added));
    }
    if (workers_.size() == count) return;

    // Take everything off the workers that go: spread flows first, then queues, then what is still
    // in their rings.
    for (auto& queue : queues_) {
        if (queue->map != nullptr) set_spread(*queue, nullptr);
        queue->spread.reset();
    }
    for (auto& queue : queues_) {
        if (queue->worker < count) continue;
        std::vector<QueueLoad> staying = loads();
        std::erase_if(staying, [&](const QueueLoad& load) { return load.worker >= count; });
        move(*queue, place(staying, count));
    }
    settle();
    drain_rings();
    while (workers_.size() > count) {
        by_id_[workers_.size() - 1] = nullptr;
        workers_.pop_back();
    }
}

void Scheduler::set_busy_polling(bool on) noexcept {
    busy_polling_ = on;
    for (ManagedWorker& managed : workers_)
        managed.worker->set_busy_polling(on);
}

void Scheduler::add_port(forwarding::PortId id, port::Port& device) {
    for (uint16_t index = 0; index < device.queue_count(); ++index) {
        auto queue = std::make_unique<ManagedQueue>(id, index, device);
        queue->worker = place(loads(), workers());
        queue->queue.owner = queue->worker;
        send(*workers_[queue->worker].worker, Command::Kind::attach, queue->queue);
        queues_.push_back(std::move(queue));
    }
    settle();
}

void Scheduler::remove_port(forwarding::PortId id) {
    for (auto& queue : queues_) {
        if (queue->queue.port != id) continue;
        if (queue->map != nullptr) set_spread(*queue, nullptr);
        send(*workers_[queue->worker].worker, Command::Kind::detach, queue->queue);
    }
    settle();
    drain_rings();
    std::erase_if(queues_, [&](const auto& queue) { return queue->queue.port == id; });
}

void Scheduler::send(Worker& to, Command::Kind kind, RxQueue& queue, Worker* next) {
    auto command = std::make_unique<Command>();
    command->kind = kind;
    command->queue = &queue;
    command->next = next;
    to.post(*command);
    commands_.push_back(std::move(command));
}

void Scheduler::ask_resolver(
    const std::function<void(pipeline::Resolver&, pipeline::Context&)>& request) {
    auto command = std::make_unique<Command>();
    command->kind = Command::Kind::resolve;
    command->request = &request;
    by_id_[Worker::kResolverWorker]->post(*command);
    commands_.push_back(std::move(command));
    settle();
}

void Scheduler::settle() {
    for (const auto& command : commands_) {
        while (!command->done.load(std::memory_order_acquire))
            pause_briefly();
    }
    commands_.clear();
}

void Scheduler::move(ManagedQueue& queue, uint16_t to) {
    if (queue.map != nullptr) set_spread(queue, nullptr);
    queue.spread.reset();  // what it measured was on another worker
    send(*workers_[queue.worker].worker, Command::Kind::detach, queue.queue,
         workers_[to].worker.get());
    queue.worker = to;
    settle();
}

void Scheduler::set_spread(ManagedQueue& queue, std::unique_ptr<const SpreadMap> map) {
    queue.queue.wanted_spread.store(map.get(), std::memory_order_release);
    // The owner adopts it once nothing of the old one is under way.
    send(*workers_[queue.worker].worker, Command::Kind::look, queue.queue);
    settle();
    while (queue.queue.spread.load(std::memory_order_acquire) != map.get())
        pause_briefly();
    synchronize();
    queue.map = std::move(map);
}

void Scheduler::drain_rings() {
    for (const ManagedWorker& managed : workers_) {
        const uint32_t position = managed.worker->ring().position();
        while (!managed.worker->ring().passed(position))
            pause_briefly();
    }
}

// ---- Measuring and deciding

void Scheduler::tick() {
    measure();
    improve_placement();
    improve_spreading();
}

void Scheduler::measure() {
    const uint64_t now = rte_rdtsc();
    const double elapsed = static_cast<double>(now - last_measured_);
    const double seconds = elapsed / static_cast<double>(rte_get_tsc_hz());
    last_measured_ = now;
    for (ManagedWorker& managed : workers_) {
        const Worker::Statistics current = managed.worker->statistics();
        const auto busy = static_cast<double>(current.busy_cycles - managed.last.busy_cycles);
        const auto frames = static_cast<double>(current.frames - managed.last.frames +
                                                current.handed_over - managed.last.handed_over);
        managed.busy = std::min(1.0, busy / elapsed);
        managed.cycles_per_frame = frames > 0 ? busy / frames : 0;
        managed.last = current;
    }
    for (auto& queue : queues_) {
        const uint64_t cycles = queue->queue.cycles.load(std::memory_order_relaxed);
        const uint64_t frames = queue->queue.frames.read();
        queue->load = std::min(1.0, static_cast<double>(cycles - queue->last_cycles) / elapsed);
        queue->frames_per_second = static_cast<double>(frames - queue->last_frames) / seconds;
        queue->last_cycles = cycles;
        queue->last_frames = frames;
    }
}

void Scheduler::improve_placement() {
    const auto decision = rebalance(loads(), workers());
    if (decision) move(*queues_[decision->queue], decision->to);
}

void Scheduler::improve_spreading() {
    if (workers() < 2) return;
    SpreadControl::Measurement measured;
    for (const ManagedWorker& managed : workers_)
        measured.worker_busy.push_back(managed.busy);
    for (auto& queue : queues_) {
        measured.frames_per_second = queue->frames_per_second;
        measured.queue_load = queue->load;
        measured.owner = queue->worker;
        switch (queue->spread.step(measured)) {
            case SpreadControl::Decision::keep:
                break;
            case SpreadControl::Decision::stop:
                set_spread(*queue, nullptr);
                break;
            case SpreadControl::Decision::spread:
                set_spread(*queue, SpreadControl::make_map(measured, queue->spread.share()));
                break;
        }
    }
}

std::vector<QueueLoad> Scheduler::loads() const {
    std::vector<QueueLoad> loads;
    for (size_t i = 0; i < queues_.size(); ++i) {
        loads.push_back({i, queues_[i]->worker, queues_[i]->load});
    }
    return loads;
}

std::vector<Scheduler::QueueStatus> Scheduler::queues(forwarding::PortId id) const {
    std::vector<QueueStatus> result;
    for (const auto& queue : queues_) {
        if (queue->queue.port != id) continue;
        result.push_back({queue->queue.index, queue->worker, queue->load, queue->map != nullptr});
    }
    return result;
}

std::vector<Scheduler::WorkerStatus> Scheduler::worker_status() const {
    std::vector<WorkerStatus> result;
    for (size_t id = 0; id < workers_.size(); ++id) {
        const auto owned = std::count_if(queues_.begin(), queues_.end(),
                                         [&](const auto& queue) { return queue->worker == id; });
        result.push_back({workers_[id].worker->statistics(), workers_[id].busy,
                          workers_[id].cycles_per_frame, static_cast<unsigned>(owned)});
    }
    return result;
}

}  // namespace heddle::worker
