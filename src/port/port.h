#pragma once

#include <rte_mbuf.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "packet/counters.h"
#include "packet/pools.h"
#include "port/receive_arena.h"
#include "port/result.h"

namespace heddle::port {

/// Frames per receive or transmit call.
inline constexpr uint16_t kBurst = 64;

/// What the device can finish by itself. Frames handed to Port::transmit() need nothing beyond it.
struct Capabilities {
    bool l4_checksum = false;  ///< takes L4Checksum::partial (TCP and UDP, IPv4 and IPv6)
    bool tso4 = false;
    bool tso6 = false;
    bool uso4 = false;
    bool uso6 = false;
    bool multi_segment = true;  ///< takes chained buffers
    uint16_t max_mtu = 65521;
};

/// What a worker brings to a driver: its buffers and its counters of this port.
struct IoContext {
    const packet::Pools& pools;
    ReceiveArena& arena;
    packet::PortCounters& counters;
    uint16_t worker;  ///< 0 ... workers - 1
};

/// One incarnation of a device, open until the object is destroyed. A device that vanished is down
/// for good; who wants it back makes a new object.
///
/// Concurrency: receive(), arm() and disarm() of one queue are called by one worker at a time (the
/// queue's owner; ownership moves with release/acquire ordering). transmit() is called by all
/// workers at once. up(), failed() and capabilities() may be called by anybody. Everything else
/// belongs to the control thread. The object is destroyed after all workers have gone through a
/// quiescent state without it.
class Port {
 public:
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;
    virtual ~Port() = default;

    /// Receives up to frames.size() frames of a queue, without waiting; fewer than are there when
    /// they are large, so that a burst stays in the cache. The caller owns them. Each has its
    /// metadata set (all fields but ingress_port and scope) and at least an Ethernet header in the
    /// first segment. Counts rx_frames and rx_bytes, also of frames it had to drop.
    virtual uint16_t receive(uint16_t queue, IoContext& io,
                             std::span<rte_mbuf*> frames) noexcept = 0;

    /// Sends frames in order and takes ownership of all of them. Frames need nothing the
    /// capabilities lack. Counts tx_frames, tx_bytes and tx_packets, or the reason a frame was
    /// dropped.
    virtual void transmit(IoContext& io, std::span<rte_mbuf* const> frames) noexcept = 0;

    /// File descriptor that becomes readable when the queue has frames; -1 if it must be polled. It
    /// is also reported (EPOLLERR) when the device fails, and from then on for ever: stop waiting
    /// for it once failed().
    virtual int wakeup_fd(uint16_t queue) const noexcept = 0;

    /// Makes wakeup_fd() fire for the next frame / undoes that. Frames that came before arm() may
    /// not fire: poll once after it.
    virtual void arm(uint16_t queue) noexcept { (void)queue; }
    virtual void disarm(uint16_t queue) noexcept { (void)queue; }

    virtual uint16_t queue_count() const noexcept = 0;

    const Capabilities& capabilities() const noexcept { return capabilities_; }

    /// False once the device failed for good or while its link is down.
    bool up() const noexcept { return link_up_.load(std::memory_order_relaxed) && !failed(); }

    /// The device is gone: nothing but destroying the object helps.
    bool failed() const noexcept { return failure() != 0; }

    /// Looks whether the device is still there and its link up. Control calls it about once a
    /// second and when LinkMonitor names the interface; workers notice much of it earlier by
    /// errors.
    virtual void refresh() noexcept = 0;

    /// Why up() is false, for the operator; empty while it is true.
    virtual std::string down_reason() const = 0;

    /// Frames the device lost before receive() saw them (full socket buffer, no descriptor ...).
    virtual uint64_t rx_missed() noexcept { return 0; }

    /// Packet buffers the device keeps ready for reception, beside the worker's ReceiveArena.
    virtual uint32_t buffers_held() const noexcept { return 0; }

    /// Sets the device's MTU (bytes of L3 packet).
    virtual Result<void> set_mtu(uint16_t mtu) = 0;

    /// The operator deleted the port: what was to outlive the daemon (a persistent tap) goes when
    /// the object is destroyed.
    virtual void discard() noexcept {}

    /// Name of the driver as in the schema: "tap", "netdev", "ethdev".
    virtual const char* driver() const noexcept = 0;

 protected:
    Port() = default;

    int failure() const noexcept { return failure_.load(std::memory_order_relaxed); }
    void fail(int error) noexcept { failure_.store(error, std::memory_order_relaxed); }

    bool link_up() const noexcept { return link_up_.load(std::memory_order_relaxed); }
    /// Stores only what is new: workers read the line for every burst they send.
    void set_link(bool up) noexcept {
        if (link_up() != up) link_up_.store(up, std::memory_order_relaxed);
    }

    Capabilities capabilities_;

 private:
    std::atomic<int> failure_{0};  ///< errno
    std::atomic<bool> link_up_{true};
};

}  // namespace heddle::port
