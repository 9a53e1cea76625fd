#pragma once

#include <vector>

#include "packet/metadata.h"
#include "packet/segment.h"
#include "port/port.h"
#include "support/frames.h"

namespace heddle::test {

/// What a frame was when it reached the driver.
struct SentFrame {
    Bytes bytes;
    packet::Metadata metadata;
};

/// A port without a device: keeps what it is given to send, and counts it as a driver does. For one
/// thread.
class FakePort : public port::Port {
 public:
    FakePort() = default;
    explicit FakePort(const port::Capabilities& capabilities) { capabilities_ = capabilities; }

    uint16_t receive(uint16_t, port::IoContext&, std::span<rte_mbuf*>) noexcept override {
        return 0;
    }
    void transmit(port::IoContext& io, std::span<rte_mbuf* const> frames) noexcept override {
        ++transmit_calls;
        for (rte_mbuf* frame : frames) {
            io.counters.tx_frames.add(1);
            io.counters.tx_bytes.add(frame->pkt_len);
            io.counters.tx_packets.add(packet::segment_count(frame));
            sane = sane && is_sane(frame);
            sent.push_back({bytes_of(frame), packet::metadata(frame)});
            rte_pktmbuf_free(frame);
        }
    }
    int wakeup_fd(uint16_t) const noexcept override { return -1; }
    uint16_t queue_count() const noexcept override { return 1; }
    void refresh() noexcept override {}
    std::string down_reason() const override { return up() ? "" : "as the test wishes"; }
    port::Result<void> set_mtu(uint16_t) override { return {}; }
    const char* driver() const noexcept override { return "fake"; }

    void set_up(bool up) { set_link(up); }

    std::vector<SentFrame> sent;
    bool sane = true;  ///< all frames were whole mbuf chains
    unsigned transmit_calls = 0;
};

}  // namespace heddle::test
