#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/ip_prefix.h"
#include "net/mac_address.h"
#include "port/file_descriptor.h"
#include "port/network_namespace.h"
#include "port/port.h"

namespace heddle::port {

struct TapConfig {
    std::string interface = {};          ///< name of the Linux interface, 1 to 15 characters
    std::string network_namespace = {};  ///< where it shall be; see NetworkNamespace::open()
    std::optional<net::MacAddress> mac = {};
    std::vector<net::IpPrefix> addresses = {};
    std::vector<net::IpAddress> gateways = {};  ///< at most one per family
    uint16_t mtu = 1500;
    uint16_t queues = 1;
    bool persistent = false;
};

/// A tap device made by Heddle: its Linux end belongs to a container or process, its other end to
/// the data plane. Superframes and partial checksums pass both ways by virtio_net_hdr. Linux
/// Documentation/networking/tuntap.rst, drivers/net/tun.c.
class Tap final : public Port {
 public:
    /// Makes the device, or takes over a tap of that name which nobody has open (a persistent one
    /// left by an earlier run, with the addresses it has).
    static Result<std::unique_ptr<Tap>> open(const TapConfig& config);

    uint16_t receive(uint16_t queue, IoContext& io, std::span<rte_mbuf*> frames) noexcept override;
    void transmit(IoContext& io, std::span<rte_mbuf* const> frames) noexcept override;
    int wakeup_fd(uint16_t queue) const noexcept override { return queues_[queue].get(); }
    uint16_t queue_count() const noexcept override { return static_cast<uint16_t>(queues_.size()); }
    void refresh() noexcept override;
    std::string down_reason() const override;
    uint64_t rx_missed() noexcept override;
    Result<void> set_mtu(uint16_t mtu) override;
    void discard() noexcept override;
    const char* driver() const noexcept override { return "tap"; }

 private:
    explicit Tap(const TapConfig& config)
        : interface_(config.interface), namespace_name_(config.network_namespace) {}

    Result<void> create(const TapConfig& config, const NetworkNamespace& where);
    Result<void> take_over(const TapConfig& config, const NetworkNamespace& where);
    Result<void> negotiate();
    packet::DropReason on_transmit_error(int error) noexcept;

    std::vector<FileDescriptor> queues_;
    std::string interface_;
    std::string namespace_name_;

    /// A device taken over keeps its namespace alive: /dev/net/tun had to be opened in there. Then
    /// only this tells that the operator deleted it.
    NamespaceWatch watch_;
    uint64_t rx_missed_ = 0;  ///< last known
};

}  // namespace heddle::port
