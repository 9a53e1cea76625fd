// What workers do with an Ethdev.

#include <rte_pause.h>

#include <algorithm>
#include <array>

#include "net/ethernet.h"
#include "packet/frame.h"
#include "port/ethdev.h"
#include "port/ethdev_flags.h"
#include "port/transmit_tally.h"

namespace heddle::port {
namespace {

using packet::DropReason;

/// Attempts in a row in which a full transmit queue took nothing, before the rest is dropped. A NIC
/// frees descriptors within a microsecond; a ring whose reader is this very thread never does.
constexpr unsigned kStalls = 4;

/// A copy of the frame in one segment, in place of the frame; null, with the frame untouched, if
/// there is no buffer for it.
rte_mbuf* flatten(rte_mbuf* frame, const packet::Pools& pools) noexcept {
    const uint32_t length = frame->pkt_len;
    rte_mbuf* flat =
        rte_pktmbuf_alloc(length <= packet::kSmallRoom ? pools.small() : pools.large());
    if (flat == nullptr) return nullptr;
    flat->data_off = packet::kHeadroom;
    const auto bytes = std::span(rte_pktmbuf_mtod(flat, std::byte*), length);
    if (length > rte_pktmbuf_tailroom(flat) || !packet::copy_out(frame, 0, bytes)) {
        rte_pktmbuf_free(flat);
        return nullptr;
    }
    flat->data_len = static_cast<uint16_t>(length);
    flat->pkt_len = length;
    packet::metadata(flat) = packet::metadata(frame);
    rte_pktmbuf_free(frame);
    return flat;
}

/// Holds a lock that may not be needed.
class OptionalLock {
 public:
    OptionalLock(rte_spinlock_t& lock, bool needed) noexcept : lock_(needed ? &lock : nullptr) {
        if (lock_ != nullptr) rte_spinlock_lock(lock_);
    }
    ~OptionalLock() {
        if (lock_ != nullptr) rte_spinlock_unlock(lock_);
    }
    OptionalLock(const OptionalLock&) = delete;
    OptionalLock& operator=(const OptionalLock&) = delete;

 private:
    rte_spinlock_t* lock_;
};

}  // namespace

uint16_t Ethdev::receive(uint16_t queue, IoContext& io, std::span<rte_mbuf*> frames) noexcept {
    const uint16_t count =
        rte_eth_rx_burst(id_, queue, frames.data(), static_cast<uint16_t>(frames.size()));
    if (count == 0) return 0;
    uint64_t bytes = 0;
    uint16_t kept = 0;
    for (uint16_t i = 0; i < count; ++i) {
        rte_mbuf* frame = frames[i];
        bytes += frame->pkt_len;
        DropReason drop = DropReason::rx_runt;
        if (frame->data_len >= sizeof(net::EthernetHeader) ||
            packet::pull(frame, sizeof(net::EthernetHeader))) [[likely]] {
            const auto taken = from_receive_flags(frame);
            if (taken) [[likely]] {
                frames[kept++] = frame;
                continue;
            }
            drop = taken.error();
        }
        io.counters.drop(drop);
        rte_pktmbuf_free(frame);
    }
    io.counters.rx_frames.add(count);
    io.counters.rx_bytes.add(bytes);
    return kept;
}

void Ethdev::transmit(IoContext& io, std::span<rte_mbuf* const> frames) noexcept {
    while (!frames.empty()) {
        const auto some = frames.first(std::min<size_t>(frames.size(), kBurst));
        frames = frames.subspan(some.size());
        std::array<rte_mbuf*, kBurst> ready;
        size_t count = 0;
        TransmitTally tally;  // the device owns and may free what it took, so it is added up before
        for (rte_mbuf* frame : some) {
            if (offloads_ || flatten_) [[unlikely]]
                frame = prepare(io, frame);
            if (frame == nullptr) continue;
            tally.add(frame);
            ready[count++] = frame;
        }
        const auto queue = static_cast<uint16_t>(io.worker % tx_queues_);
        if (offloads_) {
            // Drivers want pseudo-header sums of different kinds; a frame it stops at is refused.
            for (size_t good = 0; good < count;) {
                good += rte_eth_tx_prepare(id_, queue, &ready[good],
                                           static_cast<uint16_t>(count - good));
                if (good == count) break;
                io.counters.drop(DropReason::tx_error);
                tally.remove(ready[good]);
                rte_pktmbuf_free(ready[good]);
                std::copy(&ready[good + 1], &ready[count], &ready[good]);
                --count;
            }
        }
        const uint16_t sent = burst(queue, std::span(ready).first(count));
        for (size_t i = sent; i < count; ++i) {
            tally.remove(ready[i]);
            rte_pktmbuf_free(ready[i]);
        }
        if (sent < count) io.counters.drop(DropReason::tx_full, count - sent);
        tally.count(io.counters);
    }
}

/// Makes the frame one the device can take. Null if it had to be dropped.
rte_mbuf* Ethdev::prepare(IoContext& io, rte_mbuf* frame) noexcept {
    rte_mbuf* prepared = frame;
    if (flatten_ && frame->nb_segs > 1) {
        prepared = flatten(frame, io.pools);
    } else if (offloads_ && needs_transmit_flags(packet::metadata(frame))) {
        prepared = packet::ensure_headroom(frame, 0, io.pools);
    }
    if (prepared == nullptr) {
        io.counters.drop(DropReason::tx_no_buffer);
        rte_pktmbuf_free(frame);
        return nullptr;
    }
    if (offloads_ && needs_transmit_flags(packet::metadata(prepared))) {
        set_transmit_flags(prepared);
    }
    return prepared;
}

/// Hands frames over in order; returns how many the device took.
uint16_t Ethdev::burst(uint16_t queue, std::span<rte_mbuf*> frames) noexcept {
    TransmitQueue& own = queues_[queue];
    const OptionalLock lock(own.lock, own.shared);
    const auto count = static_cast<uint16_t>(frames.size());
    uint16_t sent = 0;
    for (unsigned stalls = 0; sent < count && stalls < kStalls;) {
        const uint16_t taken =
            rte_eth_tx_burst(id_, queue, frames.data() + sent, static_cast<uint16_t>(count - sent));
        sent = static_cast<uint16_t>(sent + taken);
        if (taken == 0) {
            ++stalls;
            rte_pause();
        }
    }
    return sent;
}

}  // namespace heddle::port
