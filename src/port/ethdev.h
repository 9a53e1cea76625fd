#pragma once

#include <rte_ethdev.h>
#include <rte_spinlock.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "port/port.h"

namespace heddle::port {

/// Receive queues a port may have.
inline constexpr uint16_t kMaxRxQueues = 64;

/// Workers a daemon may have.
inline constexpr uint16_t kMaxWorkers = 64;

struct EthdevConfig {
    /// As DPDK takes them: "0000:3b:00.0", "net_pcap0,rx_pcap=in.pcap", "net_null0,no-rx=1" ...
    std::string devargs = {};
    uint16_t mtu = 1500;
    uint16_t queues = 1;             ///< receive queues; fewer if the device has not as many
    uint16_t workers = kMaxWorkers;  ///< threads that will send: IoContext::worker is below it
};

/// Any device DPDK has a driver for: a NIC, or a virtual one such as pcap, null, ring, memif,
/// af_xdp or virtio_user. At most RTE_MAX_ETHPORTS (32 in Debian's build) of them.
///
/// Queues hand out mbufs of `pools`: that is what guarantees every frame its private area.
class Ethdev final : public Port {
 public:
    static Result<std::unique_ptr<Ethdev>> open(const EthdevConfig& config,
                                                const packet::Pools& pools);
    ~Ethdev() override;

    uint16_t receive(uint16_t queue, IoContext& io, std::span<rte_mbuf*> frames) noexcept override;
    void transmit(IoContext& io, std::span<rte_mbuf* const> frames) noexcept override;
    int wakeup_fd(uint16_t queue) const noexcept override { return wakeup_fds_[queue]; }
    void arm(uint16_t queue) noexcept override;
    void disarm(uint16_t queue) noexcept override;
    uint16_t queue_count() const noexcept override { return rx_queues_; }
    void refresh() noexcept override;
    std::string down_reason() const override;
    uint64_t rx_missed() noexcept override;
    uint32_t buffers_held() const noexcept override { return buffers_held_; }
    Result<void> set_mtu(uint16_t mtu) override;
    const char* driver() const noexcept override { return "ethdev"; }

 private:
    Ethdev(std::string name, uint16_t port_id) : name_(std::move(name)), id_(port_id) {}

    Result<void> configure(const EthdevConfig& config, const packet::Pools& pools);
    Result<void> start(const rte_eth_conf& wanted, const rte_eth_dev_info& device,
                       const packet::Pools& pools);
    void set_capabilities(const rte_eth_dev_info& device) noexcept;
    void find_wakeups() noexcept;
    static int on_event(uint16_t port_id, rte_eth_event_type event, void* self, void*) noexcept;

    rte_mbuf* prepare(IoContext& io, rte_mbuf* frame) noexcept;
    uint16_t burst(uint16_t queue, std::span<rte_mbuf*> frames) noexcept;

    /// Of a transmit queue. A queue with a single worker, as every queue is unless the device has
    /// fewer of them than there are workers, never takes its lock.
    struct alignas(64) TransmitQueue {
        rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;
        bool shared = false;
    };

    std::string name_;
    uint16_t id_;
    uint16_t rx_queues_ = 0;
    uint16_t tx_queues_ = 0;
    uint32_t buffers_held_ = 0;
    bool offloads_ = false;  ///< the device finishes checksums
    bool flatten_ = false;   ///< the device takes frames of one segment only
    std::array<int, kMaxRxQueues> wakeup_fds_;
    std::array<TransmitQueue, kMaxWorkers> queues_;
};

}  // namespace heddle::port
