#pragma once

#include <rte_mbuf.h>

#include <cstdint>

#include "packet/counters.h"
#include "packet/segment.h"

namespace heddle::port {

/// Adds up the frames a driver sent and counts them once per burst.
class TransmitTally {
 public:
    void add(const rte_mbuf* frame) noexcept {
        ++frames_;
        bytes_ += frame->pkt_len;
        packets_ += packets(frame);
    }
    /// Of a frame that was added: it was not sent after all.
    void remove(const rte_mbuf* frame) noexcept {
        --frames_;
        bytes_ -= frame->pkt_len;
        packets_ -= packets(frame);
    }
    void count(packet::PortCounters& counters) const noexcept {
        counters.tx_frames.add(frames_);
        counters.tx_bytes.add(bytes_);
        counters.tx_packets.add(packets_);
    }

 private:
    static uint32_t packets(const rte_mbuf* frame) noexcept {
        const bool plain = packet::metadata(frame).gso == packet::Gso::none;
        return plain ? 1 : packet::segment_count(frame);
    }

    uint64_t frames_ = 0;
    uint64_t bytes_ = 0;
    uint64_t packets_ = 0;
};

}  // namespace heddle::port
