#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "forwarding/tables.h"
#include "port/file_descriptor.h"
#include "port/port.h"

namespace heddle::test {

/// Waits for what must come to pass, however busy the machine; a minute is for ever.
template <typename Condition>
bool eventually(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > give_up) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
}

/// Spends some rounds of a loop, some nanoseconds each.
inline void loiter(unsigned rounds) {
    for (; rounds != 0; --rounds)
        asm volatile("");
}

/// What a frame says about itself, behind its UDP header.
struct Label {
    uint32_t source;
    uint32_t flow;
    uint64_t number;  ///< counts up within the flow, from 1
};

inline constexpr net::MacAddress kSinkMac(2, 0xff, 0, 0, 0, 1);
inline constexpr size_t kLabelOffset = 14 + 20 + 8;
inline constexpr size_t kFrameBytes = kLabelOffset + sizeof(Label);

enum class Wakeup { none, eventfd };

/// A port whose queues hold as many frames as the test offers, of `flows` flows in turn. Its
/// wake-up is as strict as port.h allows: frames that were there before arm() do not fire it.
class SourcePort : public port::Port {
 public:
    SourcePort(const packet::Pools& pools, uint32_t id, Wakeup wakeup, uint16_t queues = 1,
               uint32_t flows = 32)
        : pools_(pools), id_(id), queues_(queues) {
        for (uint16_t index = 0; index < queues; ++index) {
            queues_[index] = std::make_unique<Queue>();
            queues_[index]->numbers.resize(flows, 0);
            if (wakeup == Wakeup::eventfd)
                queues_[index]->fd = port::FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
        }
    }

    /// Any thread: puts frames into a queue.
    void offer(uint64_t frames, uint16_t index = 0) {
        Queue& queue = *queues_[index];
        offered_ += frames;
        queue.waiting.fetch_add(frames);
        if (queue.armed.load()) fire(queue);
    }
    uint64_t offered() const { return offered_; }
    uint64_t waiting(uint16_t index = 0) const { return queues_[index]->waiting.load(); }

    uint16_t receive(uint16_t index, port::IoContext& io,
                     std::span<rte_mbuf*> frames) noexcept override {
        Queue& queue = *queues_[index];
        if (queue.busy.exchange(true)) overlapped_ = true;
        const uint64_t want = std::min<uint64_t>(queue.waiting.load(), frames.size());
        uint16_t count = 0;
        while (count < want) {
            rte_mbuf* frame = packet::allocate_small(pools_);
            if (frame == nullptr) break;  // it stays in the device
            fill(queue, index, frame);
            frames[count++] = frame;
        }
        queue.waiting.fetch_sub(count);
        io.counters.rx_frames.add(count);
        queue.busy = false;
        return count;
    }
    void transmit(port::IoContext& io, std::span<rte_mbuf* const> frames) noexcept override {
        io.counters.tx_frames.add(frames.size());
        rte_pktmbuf_free_bulk(const_cast<rte_mbuf**>(frames.data()),
                              static_cast<unsigned>(frames.size()));
    }
    int wakeup_fd(uint16_t index) const noexcept override {
        return queues_[index]->fd ? queues_[index]->fd.get() : -1;
    }
    void arm(uint16_t index) noexcept override { queues_[index]->armed = true; }
    void disarm(uint16_t index) noexcept override {
        Queue& queue = *queues_[index];
        queue.armed = false;
        uint64_t ignored;
        if (queue.fd) [[maybe_unused]]
            const ssize_t bytes = read(queue.fd.get(), &ignored, 8);
    }
    uint16_t queue_count() const noexcept override { return static_cast<uint16_t>(queues_.size()); }
    void refresh() noexcept override {}
    std::string down_reason() const override { return {}; }
    port::Result<void> set_mtu(uint16_t) override { return {}; }
    const char* driver() const noexcept override { return "source"; }

    /// Two workers were in receive() of one queue at once.
    bool overlapped() const { return overlapped_; }

 private:
    struct Queue {
        std::atomic<uint64_t> waiting{0};
        std::atomic<bool> armed{false};
        std::atomic<bool> busy{false};
        port::FileDescriptor fd;
        // The owner's, without locks: only ownership protects them.
        std::vector<uint64_t> numbers;
        uint32_t next_flow = 0;
    };

    static void fire(Queue& queue) {
        const uint64_t one = 1;
        if (queue.fd) [[maybe_unused]]
            const ssize_t bytes = write(queue.fd.get(), &one, 8);
    }

    void fill(Queue& queue, uint16_t index, rte_mbuf* frame) noexcept {
        const uint32_t flow = queue.next_flow;
        queue.next_flow = static_cast<uint32_t>((flow + 1) % queue.numbers.size());
        frame->data_len = kFrameBytes;
        frame->pkt_len = kFrameBytes;
        auto* bytes = rte_pktmbuf_mtod(frame, uint8_t*);
        std::memset(bytes, 0, kFrameBytes);
        std::memcpy(bytes, kSinkMac.bytes().data(), 6);
        const uint8_t headers[] = {2,
                                   0,
                                   0,
                                   0,
                                   static_cast<uint8_t>(id_),
                                   static_cast<uint8_t>(index),
                                   0x08,
                                   0,
                                   0x45,
                                   0,
                                   0,
                                   kFrameBytes - 14,  // IPv4
                                   0,
                                   0,
                                   0x40,
                                   0,
                                   64,
                                   17,
                                   0,
                                   0,
                                   10,
                                   0,
                                   0,
                                   static_cast<uint8_t>(id_),
                                   10,
                                   1,
                                   0,
                                   1,
                                   static_cast<uint8_t>(flow >> 8),
                                   static_cast<uint8_t>(flow),  // UDP
                                   0,
                                   53,
                                   0,
                                   kFrameBytes - 34};
        std::memcpy(bytes + 6, headers, sizeof(headers));
        const Label label{id_ << 16 | index, flow, ++queue.numbers[flow]};
        std::memcpy(bytes + kLabelOffset, &label, sizeof(label));
    }

    const packet::Pools& pools_;
    const uint32_t id_;
    std::vector<std::unique_ptr<Queue>> queues_;
    std::atomic<uint64_t> offered_{0};
    std::atomic<bool> overlapped_{false};
};

/// A port that all workers send to; checks that each flow arrives complete and in order.
class SinkPort : public port::Port {
 public:
    uint16_t receive(uint16_t, port::IoContext&, std::span<rte_mbuf*>) noexcept override {
        return 0;
    }
    void transmit(port::IoContext& io, std::span<rte_mbuf* const> frames) noexcept override {
        {
            const std::lock_guard lock(mutex_);
            for (const rte_mbuf* frame : frames) {
                Label label;
                std::memcpy(&label, rte_pktmbuf_mtod_offset(frame, const char*, kLabelOffset),
                            sizeof(label));
                uint64_t& last = last_[{label.source, label.flow}];
                if (label.number != last + 1) ++disorder_[label.source >> 16];
                last = label.number;
                ++received_of_[label.source >> 16];
            }
        }
        io.counters.tx_frames.add(frames.size());
        received_ += frames.size();
        rte_pktmbuf_free_bulk(const_cast<rte_mbuf**>(frames.data()),
                              static_cast<unsigned>(frames.size()));
    }
    int wakeup_fd(uint16_t) const noexcept override { return -1; }
    uint16_t queue_count() const noexcept override { return 0; }
    void refresh() noexcept override {}
    std::string down_reason() const override { return {}; }
    port::Result<void> set_mtu(uint16_t) override { return {}; }
    const char* driver() const noexcept override { return "sink"; }

    uint64_t received() const { return received_; }
    /// Frames that were not the next of their flow: lost, doubled or overtaken.
    uint64_t disorder() const {
        const std::lock_guard lock(mutex_);
        uint64_t sum = 0;
        for (const auto& [source, count] : disorder_)
            sum += count;
        return sum;
    }
    uint64_t disorder_of(uint32_t source) { return look_up(disorder_, source); }
    uint64_t received_of(uint32_t source) { return look_up(received_of_, source); }

 private:
    uint64_t look_up(const std::map<uint32_t, uint64_t>& counts, uint32_t source) const {
        const std::lock_guard lock(mutex_);
        const auto found = counts.find(source);
        return found == counts.end() ? 0 : found->second;
    }

    mutable std::mutex mutex_;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> last_;
    std::map<uint32_t, uint64_t> disorder_;
    std::map<uint32_t, uint64_t> received_of_;
    std::atomic<uint64_t> received_{0};
};

/// One network with a sink, whose address is known, and sources. Control's part of the tables.
class Network {
 public:
    static constexpr forwarding::PortId kSinkId = 1;

    Network() : tables(1024) {
        bridge_.id = 1;
        bridge_.fdb_limit = 1000;
        tables.publish(forwarding::BridgeId{1}, &bridge_);
        publish(kSinkId, sink);
        tables.fdb.set_static({1, kSinkMac.to_u64()}, kSinkId);
    }

    void publish(forwarding::PortId id, port::Port& device) {
        auto entry = std::make_unique<forwarding::PortEntry>();
        entry->id = id;
        entry->device = &device;
        entry->counters = &tables.counters(id, 0);
        entry->untagged = id;
        tables.publish(forwarding::BridgePortId{id}, forwarding::BridgePort{id, 1, 0, false});
        tables.publish(id, entry.get());
        entries_[id] = std::move(entry);
    }
    /// The caller waits for a grace period before it calls forget().
    void unpublish(forwarding::PortId id) {
        tables.publish(id, static_cast<const forwarding::PortEntry*>(nullptr));
        tables.publish(forwarding::BridgePortId{id}, forwarding::BridgePort{});
    }
    void forget(forwarding::PortId id) { entries_.erase(id); }

    uint64_t drops() const {
        uint64_t sum = 0;
        for (size_t id = 0; id < 200; ++id) {
            for (unsigned worker = 0; worker < 8; ++worker) {
                for (const packet::Counter& drop :
                     tables.counters(static_cast<forwarding::PortId>(id), worker).drops)
                    sum += drop.read();
            }
        }
        return sum;
    }

    forwarding::Tables tables;
    SinkPort sink;

 private:
    forwarding::Bridge bridge_;
    std::map<forwarding::PortId, std::unique_ptr<forwarding::PortEntry>> entries_;
};

}  // namespace heddle::test
