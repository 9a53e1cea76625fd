#pragma once

#include <array>
#include <cstdint>

#include "forwarding/tables.h"
#include "packet/pools.h"
#include "packet/segment.h"
#include "port/port.h"

namespace heddle::pipeline {

/// The last step of every frame: gathers a burst per egress port, and when it is flushed resolves
/// what the port cannot do by itself (segmentation, checksums), checks the MTU and hands over to
/// the driver. Frames of one ingress queue to one port leave in the order they were enqueued.
class Egress {
 public:
    Egress(forwarding::Tables& tables, const packet::Pools& pools, port::ReceiveArena& arena,
           uint16_t worker);

    /// Takes ownership. The frame is as it shall be on the wire, but for checksums and segments.
    void enqueue(forwarding::PortId port, rte_mbuf* frame) noexcept {
        Buffer& buffer = buffers_[port];
        if (!buffer.listed) {
            buffer.listed = true;
            dirty_[dirty_count_++] = port;
        }
        buffer.frames[buffer.count++] = frame;
        if (buffer.count == port::kBurst) flush_port(port, buffer);
    }

    /// Sends all that was enqueued. Called at the end of each burst.
    void flush() noexcept {
        for (size_t i = 0; i < dirty_count_; ++i) {
            Buffer& buffer = buffers_[dirty_[i]];
            buffer.listed = false;
            if (buffer.count != 0) flush_port(dirty_[i], buffer);
        }
        dirty_count_ = 0;
    }

 private:
    struct Buffer {
        uint16_t count;
        bool listed;  ///< in dirty_
        rte_mbuf* frames[port::kBurst];
    };

    void flush_port(forwarding::PortId id, Buffer& buffer) noexcept;

    /// Segments a superframe and sends the segments.
    void transmit_segmented(port::Port& device, port::IoContext& io, rte_mbuf* frame) noexcept;

    forwarding::Tables& tables_;
    const packet::Pools& pools_;
    port::ReceiveArena& arena_;
    const uint16_t worker_;
    forwarding::ZeroedArray<Buffer> buffers_;
    std::array<forwarding::PortId, forwarding::kMaxPorts> dirty_;
    size_t dirty_count_ = 0;
    std::array<rte_mbuf*, packet::kMaxSegments> segments_;
};

}  // namespace heddle::pipeline
