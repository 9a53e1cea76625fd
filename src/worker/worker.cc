#include "worker/worker.h"

#include <pthread.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <system_error>
#include <utility>

#include "net/flow_hash.h"
#include "net/parser.h"
#include "packet/frame.h"
#include "pipeline/switching.h"

namespace heddle::worker {
namespace {

using port::kBurst;

/// After so many empty polls in a row a queue is left to epoll. More than one: a sender that is
/// just behind us would otherwise pay a wake-up for each frame.
constexpr uint8_t kEmptyPolls = 3;

/// Queues left to epoll are looked at this often while others keep the worker busy.
constexpr uint64_t kReadyCheckNs = 20'000;

/// How long a worker without frames goes on looking before it sleeps.
constexpr uint64_t kGraceNs = 0;

/// Queues without a wake-up: first and longest sleep between two looks.
constexpr uint64_t kFirstSleepNs = 20'000;
constexpr uint64_t kLongestSleepNs = 1'000'000;

constexpr uint64_t kNsPerSecond = 1'000'000'000;

uint64_t cycles(uint64_t nanoseconds) noexcept {
    return nanoseconds * (rte_get_tsc_hz() / 1'000'000) / 1000;
}

/// Readiness of the worker's own wake-up; a queue's is its address.
void* const kOwnWakeup = nullptr;

}  // namespace

Worker::Worker(uint16_t id, const Environment& environment, Options options)
    : id_(id),
      environment_(environment),
      busy_polling_(options.busy_polling),
      arena_(environment.pools),
      context_(environment.tables, environment.pools, arena_, id),
      ring_("heddle-handover-" + std::to_string(id)),
      ready_check_cycles_(cycles(kReadyCheckNs)),
      grace_cycles_(cycles(kGraceNs)),
      wakeup_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!wakeup_ || !epoll_) {
        throw std::system_error(errno, std::generic_category(), "worker wake-up");
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = kOwnWakeup;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wakeup_.get(), &event) != 0) {
        throw std::system_error(errno, std::generic_category(), "worker wake-up");
    }
    if (id_ == kResolverWorker) context_.resolver = &environment_.resolver;
    thread_ = std::thread([this] { run(); });
}

Worker::~Worker() {
    Command stop{.kind = Command::Kind::stop};
    post(stop);
    thread_.join();
}

void Worker::post(Command& command) noexcept {
    mailbox_.post(command);
    wake_if_sleeping();
}

void Worker::wake_if_sleeping() noexcept {
    // Pairs with the store in sleep(): either we see it asleep, or it sees what we enqueued.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!sleeping_.load(std::memory_order_relaxed)) return;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wakeup_.get(), &one, sizeof(one));
}

void Worker::set_busy_polling(bool on) noexcept {
    busy_polling_.store(on, std::memory_order_relaxed);
    wake_if_sleeping();
}

Worker::Statistics Worker::statistics() const noexcept {
    return {busy_cycles_.read(),
            frames_.read(),
            handed_over_.read(),
            wakeups_.read(),
            sleeping_.load(std::memory_order_relaxed),
            thread_id_.load(std::memory_order_relaxed),
            buffers_held_.load(std::memory_order_relaxed)};
}

void Worker::run() noexcept {
    pthread_setname_np(pthread_self(), ("heddle-w" + std::to_string(id_)).c_str());
    // The default slack of 50 us would stretch the short sleeps of poll-only queues.
    prctl(PR_SET_TIMERSLACK, 1000UL);
    // Gives the thread its own mempool caches; without it (no lcore left) it still works.
    const bool registered = rte_thread_register() == 0;
    thread_id_.store(static_cast<int>(syscall(SYS_gettid)), std::memory_order_relaxed);
    environment_.read_side.enter(id_);
    take_time();
    next_tick_ = context_.now;

    while (!stopping_) {
        environment_.read_side.quiescent(id_);
        take_time();
        const uint64_t round_start = context_.now;
        if (!mailbox_.empty()) [[unlikely]]
            handle_commands();
        if (round_start - last_ready_check_ > ready_check_cycles_) activate_ready(0);
        if (context_.resolver != nullptr && context_.now >= context_.resolver->next_tick())
            [[unlikely]] {
            context_.resolver->tick(context_);
            context_.egress.flush();
        }
        const unsigned moved = poll_ring() + poll_queues();
        if (moved != 0) {
            idle_since_ = 0;
            poll_only_sleep_ns_ = 0;
            busy_cycles_.add(rte_rdtsc() - round_start);
        } else if (!stopping_) {
            idle();
        }
    }

    environment_.read_side.leave(id_);
    if (registered) rte_thread_unregister();
}

void Worker::take_time() noexcept {
    context_.now = rte_rdtsc();
    if (context_.now >= next_tick_) {
        context_.tick = static_cast<forwarding::Fdb::Tick>(context_.now / rte_get_tsc_hz());
        next_tick_ = (uint64_t{context_.tick} + 1) * rte_get_tsc_hz();
    }
}

// ---- Commands

void Worker::handle_commands() noexcept {
    for (Command* command = mailbox_.take_all(); command != nullptr;) {
        Command* following = command->link;  // the command is its sender's again once done
        switch (command->kind) {
            case Command::Kind::attach:
                attach(*command->queue);
                command->done.store(true, std::memory_order_release);
                break;
            case Command::Kind::detach:
                detach(*command->queue);
                if (command->next != nullptr) {
                    command->kind = Command::Kind::attach;
                    command->next->post(*command);
                } else {
                    command->done.store(true, std::memory_order_release);
                }
                break;
            case Command::Kind::look:
                activate(*command->queue);
                command->done.store(true, std::memory_order_release);
                break;
            case Command::Kind::resolve:
                (*command->request)(*context_.resolver, context_);
                context_.egress.flush();
                command->done.store(true, std::memory_order_release);
                break;
            case Command::Kind::stop:
                stopping_ = true;
                break;
        }
        command = following;
    }
}

void Worker::attach(RxQueue& queue) noexcept {
    // Frames of its flows that the last owner handed to us come first.
    const uint32_t position = ring_.position();
    while (!ring_.passed(position))
        poll_ring();
    queue.device.disarm(queue.index);
    queue.owner.store(id_, std::memory_order_relaxed);
    activate(queue);
    const int fd = queue.device.wakeup_fd(queue.index);
    if (fd < 0) {
        ++poll_only_;
        return;
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &queue;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Worker::activate(RxQueue& queue) noexcept {
    queue.empty_polls = 0;
    if (queue.active) return;
    queue.active = true;
    active_.push_back(&queue);
}

void Worker::detach(RxQueue& queue) noexcept {
    const int fd = queue.device.wakeup_fd(queue.index);
    if (fd < 0) {
        --poll_only_;
    } else {
        epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    }
    std::erase(active_, &queue);
    queue.active = false;
}

// ---- Moving frames

unsigned Worker::poll_queues() noexcept {
    unsigned moved = 0;
    held_back_ = false;
    for (size_t i = 0; i < active_.size();) {
        RxQueue& queue = *active_[i];
        std::optional<unsigned> frames = poll(queue);
        if (frames == 0u && ++queue.empty_polls >= kEmptyPolls) {
            queue.empty_polls = kEmptyPolls;
            if (queue.device.wakeup_fd(queue.index) >= 0) {
                // What came before the wake-up was armed may not fire it: look once more.
                queue.device.arm(queue.index);
                frames = poll(queue);
                if (frames == 0u) {
                    queue.active = false;
                    active_[i] = active_.back();
                    active_.pop_back();
                    continue;
                }
                queue.device.disarm(queue.index);
            }
        }
        if (frames != 0u) queue.empty_polls = 0;
        held_back_ = held_back_ || !frames;
        moved += frames.value_or(0);
        ++i;
    }
    return moved;
}

std::optional<unsigned> Worker::poll(RxQueue& queue) noexcept {
    if (!settle_spread(queue)) return std::nullopt;
    const forwarding::PortEntry* entry = environment_.tables.port(queue.port);
    if (entry == nullptr || queue.device.failed()) return 0;
    const SpreadMap* map = queue.spread.load(std::memory_order_relaxed);
    if (map != nullptr && !spread_targets_have_room(queue)) return std::nullopt;

    std::array<rte_mbuf*, kBurst> burst;
    port::IoContext io{environment_.pools, arena_, entry->counters[id_], id_};
    const uint64_t start = rte_rdtsc();
    const uint16_t received = queue.device.receive(queue.index, io, burst);
    if (received == 0) return 0;
    context_.now = start;
    std::span<rte_mbuf*> frames(burst.data(), received);
    if (map != nullptr) frames = frames.first(hand_over(queue, *map, frames));
    pipeline::switch_burst(context_, *entry, frames);
    flush();

    frames_.add(received);
    queue.frames.add(received);
    queue.cycles.store(queue.cycles.load(std::memory_order_relaxed) + rte_rdtsc() - start,
                       std::memory_order_relaxed);
    return received;
}

unsigned Worker::poll_ring() noexcept {
    if (ring_.empty()) return 0;
    std::array<rte_mbuf*, kBurst> burst;
    const unsigned received = ring_.pop(burst);
    // Runs of one ingress port: frames of several owners' queues lie in the ring side by side.
    for (unsigned begin = 0; begin < received;) {
        const forwarding::PortId ingress = packet::metadata(burst[begin]).ingress_port;
        if (packet::metadata(burst[begin]).punt != packet::Punt::none) {
            context_.resolver->handle(context_, burst[begin++]);
            continue;
        }
        unsigned end = begin + 1;
        while (end < received && packet::metadata(burst[end]).ingress_port == ingress &&
               packet::metadata(burst[end]).punt == packet::Punt::none)
            ++end;
        const std::span<rte_mbuf*> run(&burst[begin], end - begin);
        if (const forwarding::PortEntry* entry = environment_.tables.port(ingress)) {
            pipeline::switch_burst(context_, *entry, run);
        } else {
            for (rte_mbuf* frame : run) {
                pipeline::drop(context_, ingress, packet::DropReason::port_gone, frame);
            }
        }
        begin = end;
    }
    flush();
    ring_.finished(received);
    handed_over_.add(received);
    return received;
}

void Worker::flush() noexcept {
    if (context_.punted_count != 0) [[unlikely]]
        hand_over_punted();
    context_.egress.flush();
}

void Worker::hand_over_punted() noexcept {
    Worker& to = *environment_.workers[kResolverWorker];
    const std::span<rte_mbuf*> frames(context_.punted.data(), context_.punted_count);
    for (rte_mbuf*& frame : frames) {
        if (to.ring().push({&frame, 1})) continue;
        pipeline::drop(context_, packet::metadata(frame).ingress_port,
                       packet::DropReason::handover_full, frame);
    }
    context_.punted_count = 0;
    to.wake_if_sleeping();
}

// ---- Spreading

bool Worker::is_settled(const RxQueue& queue) noexcept {
    return queue.wanted_spread.load(std::memory_order_acquire) ==
           queue.spread.load(std::memory_order_relaxed);
}

bool Worker::settle_spread(RxQueue& queue) noexcept {
    if (is_settled(queue)) [[likely]]
        return true;
    // A flow must not be handled by two workers at once: first all frames under the present map
    // have to be through. That takes microseconds; meanwhile the device holds the new ones.
    for (uint64_t left = queue.spread_to; left != 0; left &= left - 1) {
        const auto target = static_cast<size_t>(std::countr_zero(left));
        if (!environment_.workers[target]->ring().passed(queue.spread_position[target])) {
            return false;
        }
    }
    queue.spread_to = 0;
    queue.spread_targets = 0;
    const SpreadMap* map = queue.wanted_spread.load(std::memory_order_acquire);
    if (map != nullptr) {
        for (const uint8_t target : map->worker)
            queue.spread_targets |= uint64_t{1} << target;
        queue.spread_targets &= ~(uint64_t{1} << id_);
    }
    queue.spread.store(map, std::memory_order_release);
    return true;
}

bool Worker::spread_targets_have_room(const RxQueue& queue) const noexcept {
    for (uint64_t left = queue.spread_targets; left != 0; left &= left - 1) {
        const auto target = static_cast<size_t>(std::countr_zero(left));
        if (!environment_.workers[target]->ring().has_room(kBurst)) return false;
    }
    return true;
}

unsigned Worker::hand_over(RxQueue& queue, const SpreadMap& map,
                           std::span<rte_mbuf*> frames) noexcept {
    // Kept small for the usual few workers: one pass per target over the burst's worker ids.
    std::array<uint8_t, kBurst> target;
    uint64_t others = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
        rte_mbuf* frame = frames[i];
        packet::Metadata& meta = packet::metadata(frame);
        const std::span<const std::byte> head = packet::first_segment(std::as_const(frame));
        meta.flow_hash = net::flow_hash(head, net::parse_frame(head, frame->pkt_len));
        meta.has_hash = true;
        meta.ingress_port = queue.port;
        target[i] = map.of(meta.flow_hash);
        if (target[i] != id_) others |= uint64_t{1} << target[i];
    }
    if (others == 0) return static_cast<unsigned>(frames.size());

    std::array<rte_mbuf*, kBurst> outgoing;
    for (uint64_t left = others; left != 0; left &= left - 1) {
        const auto to = static_cast<size_t>(std::countr_zero(left));
        size_t count = 0;
        for (size_t i = 0; i < frames.size(); ++i) {
            if (target[i] == to) outgoing[count++] = frames[i];
        }
        Worker& worker = *environment_.workers[to];
        const std::span<rte_mbuf*> out(outgoing.data(), count);
        if (!worker.ring().push(out)) {
            // Other producers filled the ring since spread_targets_have_room().
            environment_.tables.counters(queue.port, id_)
                .drop(packet::DropReason::handover_full, count);
            rte_pktmbuf_free_bulk(out.data(), static_cast<unsigned>(count));
            continue;
        }
        queue.spread_to |= uint64_t{1} << to;
        queue.spread_position[to] = worker.ring().position();
        worker.wake_if_sleeping();
    }
    size_t kept = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
        if (target[i] == id_) frames[kept++] = frames[i];
    }
    return static_cast<unsigned>(kept);
}

// ---- Waiting

void Worker::activate_ready(int timeout_ns) noexcept {
    last_ready_check_ = context_.now;
    std::array<epoll_event, 64> events;
    timespec timeout{timeout_ns / static_cast<long>(kNsPerSecond),
                     timeout_ns % static_cast<long>(kNsPerSecond)};
    const int count = epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   timeout_ns < 0 ? nullptr : &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
        if (events[i].data.ptr == kOwnWakeup) {
            uint64_t ignored;
            [[maybe_unused]] const ssize_t bytes = read(wakeup_.get(), &ignored, sizeof(ignored));
            continue;
        }
        RxQueue& queue = *static_cast<RxQueue*>(events[i].data.ptr);
        if (queue.active) continue;
        if (queue.device.failed()) {
            // Its descriptor would be ready for ever. Control takes the queue away.
            epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, queue.device.wakeup_fd(queue.index), nullptr);
            continue;
        }
        queue.device.disarm(queue.index);
        activate(queue);
    }
}

void Worker::idle() noexcept {
    if (held_back_) {  // frames wait for another worker, who may need this CPU
        sched_yield();
        return;
    }
    if (active_.size() > poll_only_ || busy_polling_.load(std::memory_order_relaxed)) return;
    if (idle_since_ == 0) idle_since_ = context_.now;
    if (context_.now - idle_since_ < grace_cycles_) {
        activate_ready(0);
        return;
    }
    sleep();
}

/// Shortens a sleep so that the resolver's timers run in time. -1 is for ever.
int Worker::until_resolver(int timeout_ns) const noexcept {
    const uint64_t due = context_.resolver->next_tick();
    if (due == UINT64_MAX) return timeout_ns;
    constexpr uint64_t kLongestNs = kNsPerSecond;
    const uint64_t now = rte_rdtsc();
    const uint64_t left_us = due > now ? (due - now) / (rte_get_tsc_hz() / 1'000'000) : 0;
    const auto left = static_cast<int>(std::min(left_us * 1000 + 1000, kLongestNs));
    return timeout_ns < 0 ? left : std::min(timeout_ns, left);
}

void Worker::sleep() noexcept {
    buffers_held_.store(arena_.held(), std::memory_order_relaxed);
    sleeping_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // see wake_if_sleeping()
    if (mailbox_.empty() && ring_.empty()) {
        int timeout_ns = -1;
        if (poll_only_ != 0) {
            poll_only_sleep_ns_ =
                std::clamp(2 * poll_only_sleep_ns_, kFirstSleepNs, kLongestSleepNs);
            timeout_ns = static_cast<int>(poll_only_sleep_ns_);
        }
        if (context_.resolver != nullptr) timeout_ns = until_resolver(timeout_ns);
        environment_.read_side.offline(id_);
        activate_ready(timeout_ns);
        environment_.read_side.online(id_);
        wakeups_.add(1);
    }
    sleeping_.store(false, std::memory_order_relaxed);
}

}  // namespace heddle::worker
