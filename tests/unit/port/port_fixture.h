#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "port/port.h"
#include "support/eal.h"
#include "support/frames.h"

namespace heddle::test {

/// How long anything that is certain to happen may take on a busy machine.
inline constexpr std::chrono::seconds kDeadline{10};

/// Looks again and again until `condition` holds.
inline bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        poll(nullptr, 0, 1);
    }
    return true;
}

/// A test in the place of a worker: it has an arena and counters of a port.
class PortTest : public PoolTest {
 protected:
    port::IoContext io(uint16_t worker = 0) { return {pools(), arena_, counters_, worker}; }

    /// What one call of receive() returns.
    std::vector<FramePtr> receive(port::Port& port, uint16_t queue = 0,
                                  size_t at_most = port::kBurst) {
        std::array<rte_mbuf*, port::kBurst> frames;
        port::IoContext context = io();
        const uint16_t count = port.receive(queue, context, std::span(frames).first(at_most));
        return {frames.begin(), frames.begin() + count};
    }

    /// The first frame that is `wanted`; others (a kernel's own chatter) are passed over. Null at
    /// the deadline.
    FramePtr receive_until(port::Port& port, const std::function<bool(const rte_mbuf*)>& wanted) {
        FramePtr found;
        eventually([&] {
            for (uint16_t queue = 0; queue < port.queue_count(); ++queue) {
                for (FramePtr& frame : receive(port, queue)) {
                    if (!found && wanted(frame.get())) found = std::move(frame);
                }
            }
            return found != nullptr || port.failed();
        });
        return found;
    }

    void transmit(port::Port& port, FramePtr frame, uint16_t worker = 0) {
        port::IoContext context = io(worker);
        rte_mbuf* const sent = frame.release();
        port.transmit(context, {&sent, 1});
    }

    uint64_t drops(packet::DropReason reason) const {
        return counters_.drops[static_cast<size_t>(reason)].read();
    }

    packet::PortCounters counters_;

 private:
    port::ReceiveArena arena_{pools()};
};

}  // namespace heddle::test
