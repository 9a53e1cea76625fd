#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "port/file_descriptor.h"
#include "port/host_stack_filter.h"
#include "port/port.h"

namespace heddle::port {

struct NetdevConfig {
    std::string interface = {};
    std::optional<uint16_t> mtu = {};  ///< default: what the interface has
    uint16_t queues = 1;
};

/// An existing Linux interface, above all the host end of a veth pair, by packet sockets. All its
/// frames are Heddle's: the host's own stack neither receives nor sends on it as long as the port
/// is open. Superframes and partial checksums pass both ways by virtio_net_hdr. packet(7); Linux
/// net/packet/af_packet.c.
class Netdev final : public Port {
 public:
    /// Sets the interface up. Refuses one that the host itself uses: with an IP address (IPv6
    /// link-local ones apart), or a member of a bridge or bond.
    static Result<std::unique_ptr<Netdev>> open(const NetdevConfig& config);

    uint16_t receive(uint16_t queue, IoContext& io, std::span<rte_mbuf*> frames) noexcept override;
    void transmit(IoContext& io, std::span<rte_mbuf* const> frames) noexcept override;
    int wakeup_fd(uint16_t queue) const noexcept override { return queues_[queue].socket.get(); }
    uint16_t queue_count() const noexcept override { return static_cast<uint16_t>(queues_.size()); }
    void refresh() noexcept override;
    std::string down_reason() const override;
    uint64_t rx_missed() noexcept override;
    Result<void> set_mtu(uint16_t mtu) override;
    const char* driver() const noexcept override { return "netdev"; }

    /// Of the interface when the port was opened or set_mtu() was called.
    uint16_t mtu() const noexcept { return mtu_; }

 private:
    Netdev(std::string interface, int index) : interface_(std::move(interface)), index_(index) {}

    /// `batch` belongs to the worker that receives, the rest does not change.
    struct alignas(64) Queue {
        FileDescriptor socket;
        unsigned batch;  ///< messages to ask for at once
    };
    struct Batch;
    unsigned receive_batch(int socket, IoContext& io, Batch& batch, unsigned wanted) noexcept;
    void on_device_error() noexcept;
    packet::DropReason on_transmit_error(int error) noexcept;

    std::string interface_;
    int index_;
    uint16_t mtu_ = 0;
    uint64_t rx_missed_ = 0;
    HostStackFilter filter_;  // removed only after the sockets are closed
    std::vector<Queue> queues_;
};

}  // namespace heddle::port
