#include "port/ethdev.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <optional>

namespace heddle::port {
namespace {

constexpr uint16_t kDescriptors = 1024;  ///< per queue, where the driver does not know better
constexpr uint16_t kFewestDescriptors = 128;

/// DPDK's port ids that are Heddle's. Control thread only.
std::bitset<RTE_MAX_ETHPORTS> claimed;

std::string dpdk_text(int error) {
    return rte_strerror(error < 0 ? -error : error);
}

/// "net_pcap0" of "net_pcap0,rx_pcap=in.pcap"; nothing if no bus knows such a name.
std::optional<std::string> device_name(const std::string& devargs) {
    if (devargs.empty()) return std::nullopt;
    rte_devargs parsed{};
    if (rte_devargs_parse(&parsed, devargs.c_str()) != 0) return std::nullopt;
    std::string name = parsed.name;
    rte_devargs_reset(&parsed);
    return name;
}

/// A device may have several ports, as a NIC with representors has; one that is not ours yet.
std::optional<uint16_t> find_unclaimed(const std::string& devargs) {
    rte_dev_iterator iterator;
    uint16_t id;
    RTE_ETH_FOREACH_MATCHING_DEV(id, devargs.c_str(), &iterator) {
        if (claimed.test(id)) continue;
        rte_eth_iterator_cleanup(&iterator);
        return id;
    }
    return std::nullopt;
}

bool is_shared(const rte_device* device) {
    uint16_t id;
    RTE_ETH_FOREACH_DEV(id) {
        rte_eth_dev_info info;
        if (rte_eth_dev_info_get(id, &info) == 0 && info.device == device) return true;
    }
    return false;
}

rte_eth_conf configuration(const rte_eth_dev_info& device, uint16_t mtu, uint16_t queues) {
    rte_eth_conf wanted{};
    wanted.rxmode.mtu = mtu;
    constexpr uint64_t kReceive =
        RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_SCATTER;
    wanted.rxmode.offloads = device.rx_offload_capa & kReceive;
    // Only of virtio it is certain that merged segments can be told apart again (gso_size).
    if (std::strstr(device.driver_name, "virtio") != nullptr) {
        wanted.rxmode.offloads |= device.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TCP_LRO;
        wanted.rxmode.max_lro_pkt_size = device.max_lro_pkt_size;
    }
    constexpr uint64_t kTransmit = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
                                   RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO |
                                   RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    wanted.txmode.offloads = device.tx_offload_capa & kTransmit;
    const uint64_t rss =
        device.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
    if (queues > 1 && rss != 0) {
        wanted.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        wanted.rx_adv_conf.rss_conf.rss_hf = rss;
    }
    wanted.intr_conf.lsc = (*device.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
    wanted.intr_conf.rmv = (*device.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
    return wanted;
}

/// Descriptors per receive queue. A NIC holds a buffer for each; together its queues get at most a
/// quarter of those that are free, so that one device cannot starve the daemon.
uint16_t receive_descriptors(uint16_t preferred, uint16_t queues, const packet::Pools& pools) {
    uint32_t descriptors = preferred != 0 ? preferred : kDescriptors;
    const uint32_t quarter = rte_mempool_avail_count(pools.small()) / 4;
    while (descriptors > kFewestDescriptors && descriptors * queues > quarter)
        descriptors /= 2;
    return static_cast<uint16_t>(descriptors);
}

}  // namespace

Result<std::unique_ptr<Ethdev>> Ethdev::open(const EthdevConfig& config,
                                             const packet::Pools& pools) {
    const auto failed = [&config](const std::string& why) {
        return tl::unexpected(fmt::format("ethdev {}: {}", config.devargs, why));
    };
    const auto name = device_name(config.devargs);
    if (!name)
        return failed("DPDK knows no such device; is its name right and its driver installed?");
    uint16_t id;
    if (rte_eth_dev_get_port_by_name(name->c_str(), &id) == 0 && claimed.test(id)) {
        return failed("the device is a port already");
    }
    auto found = find_unclaimed(config.devargs);  // what EAL probed at its start
    if (!found) {
        if (rte_eth_dev_count_total() >= RTE_MAX_ETHPORTS) {
            return failed(fmt::format("DPDK has no room for it: this build takes {} devices",
                                      RTE_MAX_ETHPORTS));
        }
        if (const int error = rte_dev_probe(config.devargs.c_str()); error != 0) {
            return failed("DPDK cannot open the device: " + dpdk_text(error));
        }
        found = find_unclaimed(config.devargs);
    }
    if (!found) return failed("the device is no network device");

    claimed.set(*found);
    std::unique_ptr<Ethdev> port(new Ethdev(*name, *found));
    if (auto done = port->configure(config, pools); !done) return failed(done.error());
    return port;
}

Ethdev::~Ethdev() {
    rte_eth_dev_callback_unregister(id_, RTE_ETH_EVENT_INTR_LSC, on_event, this);
    rte_eth_dev_callback_unregister(id_, RTE_ETH_EVENT_INTR_RMV, on_event, this);
    rte_eth_dev_info info;
    const bool known = rte_eth_dev_info_get(id_, &info) == 0;
    rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
    if (known && !is_shared(info.device)) rte_dev_remove(info.device);
    claimed.reset(id_);
}

Result<void> Ethdev::configure(const EthdevConfig& config, const packet::Pools& pools) {
    rte_eth_dev_info device;
    if (const int error = rte_eth_dev_info_get(id_, &device); error != 0) {
        return tl::unexpected("cannot ask for its abilities: " + dpdk_text(error));
    }
    if (config.queues == 0 || config.workers == 0) {
        return tl::unexpected(std::string("it needs at least one queue and one worker"));
    }
    if (config.mtu > device.max_mtu) {
        return tl::unexpected(fmt::format("its MTU is at most {}", device.max_mtu));
    }
    rx_queues_ = std::min({config.queues, device.max_rx_queues, kMaxRxQueues});
    tx_queues_ = std::min({config.workers, device.max_tx_queues, kMaxWorkers});
    if (rx_queues_ == 0 || tx_queues_ == 0) {
        return tl::unexpected(std::string("it cannot both receive and send"));
    }
    // Queue q serves the workers q, q + tx_queues_, ...
    for (uint16_t q = 0; q < tx_queues_; ++q)
        queues_[q].shared = q + tx_queues_ < config.workers;

    const uint32_t free_before = rte_mempool_avail_count(pools.small());
    rte_eth_conf wanted = configuration(device, config.mtu, rx_queues_);
    wanted.intr_conf.rxq = 1;
    if (!start(wanted, device, pools)) {
        // Nothing says beforehand whether a device can do receive interrupts.
        wanted.intr_conf.rxq = 0;
        rte_eth_dev_stop(id_);
        if (auto done = start(wanted, device, pools); !done) return done;
    }
    // Drivers do not tell. Exact unless workers are busy at this moment.
    const uint32_t free_now = rte_mempool_avail_count(pools.small());
    buffers_held_ = free_before - std::min(free_before, free_now);
    set_capabilities(device);
    if (wanted.intr_conf.rxq != 0) {
        find_wakeups();
    } else {
        wakeup_fds_.fill(-1);
    }
    // Both run in EAL's interrupt thread; devices without such interrupts are looked at by
    // refresh().
    rte_eth_dev_callback_register(id_, RTE_ETH_EVENT_INTR_LSC, on_event, this);
    rte_eth_dev_callback_register(id_, RTE_ETH_EVENT_INTR_RMV, on_event, this);
    rte_eth_promiscuous_enable(id_);  // virtual devices have no filter to switch off
    refresh();
    return {};
}

Result<void> Ethdev::start(const rte_eth_conf& wanted, const rte_eth_dev_info& device,
                           const packet::Pools& pools) {
    const auto failed = [](const std::string& what, int error) {
        return tl::unexpected(fmt::format("cannot {}: {}", what, dpdk_text(error)));
    };
    if (const int error = rte_eth_dev_configure(id_, rx_queues_, tx_queues_, &wanted); error != 0) {
        return failed(fmt::format("configure it for {} receive and {} transmit queues and MTU {}",
                                  rx_queues_, tx_queues_, wanted.rxmode.mtu),
                      error);
    }
    uint16_t rx_ring = receive_descriptors(device.default_rxportconf.ring_size, rx_queues_, pools);
    uint16_t tx_ring = device.default_txportconf.ring_size != 0
                           ? device.default_txportconf.ring_size
                           : kDescriptors;
    if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx_ring, &tx_ring); error != 0) {
        return failed("size its rings", error);
    }
    const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(id_));
    rte_eth_rxconf rx = device.default_rxconf;
    rx.offloads = wanted.rxmode.offloads;
    for (uint16_t q = 0; q < rx_queues_; ++q) {
        const int error = rte_eth_rx_queue_setup(id_, q, rx_ring, socket, &rx, pools.small());
        if (error != 0) return failed(fmt::format("set up receive queue {}", q), error);
    }
    rte_eth_txconf tx = device.default_txconf;
    tx.offloads = wanted.txmode.offloads;
    for (uint16_t q = 0; q < tx_queues_; ++q) {
        const int error = rte_eth_tx_queue_setup(id_, q, tx_ring, socket, &tx);
        if (error != 0) return failed(fmt::format("set up transmit queue {}", q), error);
    }
    if (const int error = rte_eth_dev_start(id_); error != 0) return failed("start it", error);
    return {};
}

void Ethdev::set_capabilities(const rte_eth_dev_info& device) noexcept {
    const auto has = [&device](uint64_t offloads) {
        return (device.tx_offload_capa & offloads) == offloads;
    };
    offloads_ = has(RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM);
    // pcap and null take any chain, though they do not say so.
    flatten_ = !has(RTE_ETH_TX_OFFLOAD_MULTI_SEGS) &&
               std::strcmp(device.driver_name, "net_pcap") != 0 &&
               std::strcmp(device.driver_name, "net_null") != 0;
    const bool tso = offloads_ && !flatten_ && has(RTE_ETH_TX_OFFLOAD_TCP_TSO);
    // RTE_ETH_TX_OFFLOAD_UDP_TSO is segmentation (USO) in some drivers and fragmentation (UFO) in
    // others, so it is never used.
    capabilities_ = {
        .l4_checksum = offloads_,
        .tso4 = tso && has(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM),
        .tso6 = tso,
        .multi_segment = !flatten_,
        .max_mtu = std::min(device.max_mtu, Capabilities().max_mtu),
    };
}

void Ethdev::find_wakeups() noexcept {
    for (uint16_t q = 0; q < rx_queues_; ++q) {
        wakeup_fds_[q] = -1;
        if (rte_eth_dev_rx_intr_enable(id_, q) != 0) continue;
        rte_eth_dev_rx_intr_disable(id_, q);
        const int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(id_, q);
        if (fd < 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) continue;
        wakeup_fds_[q] = fd;
    }
}

int Ethdev::on_event(uint16_t port_id, rte_eth_event_type event, void* self, void*) noexcept {
    auto* port = static_cast<Ethdev*>(self);
    if (event == RTE_ETH_EVENT_INTR_RMV) {
        port->fail(ENODEV);
        return 0;
    }
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(port_id, &link) == 0) port->set_link(link.link_status != 0);
    return 0;
}

void Ethdev::arm(uint16_t queue) noexcept {
    if (wakeup_fds_[queue] >= 0) rte_eth_dev_rx_intr_enable(id_, queue);
}

void Ethdev::disarm(uint16_t queue) noexcept {
    if (wakeup_fds_[queue] < 0) return;
    rte_eth_dev_rx_intr_disable(id_, queue);
    uint64_t interrupts;
    [[maybe_unused]] const ssize_t drained =
        read(wakeup_fds_[queue], &interrupts, sizeof(interrupts));
}

void Ethdev::refresh() noexcept {
    if (failed()) return;
    if (rte_eth_dev_is_removed(id_) == 1) {
        fail(ENODEV);
        return;
    }
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(id_, &link) == 0) set_link(link.link_status != 0);
}

std::string Ethdev::down_reason() const {
    if (up()) return {};
    return failed() ? "device " + name_ + " was removed" : "device " + name_ + " has no link";
}

uint64_t Ethdev::rx_missed() noexcept {
    rte_eth_stats statistics{};
    if (rte_eth_stats_get(id_, &statistics) != 0) return 0;
    return statistics.imissed + statistics.rx_nombuf;
}

Result<void> Ethdev::set_mtu(uint16_t mtu) {
    int error = rte_eth_dev_set_mtu(id_, mtu);
    if (error == -EBUSY) {  // some drivers lay out their rings anew
        rte_eth_dev_stop(id_);
        error = rte_eth_dev_set_mtu(id_, mtu);
        const int started = rte_eth_dev_start(id_);
        if (error == 0) error = started;
    }
    // A virtual device without the operation has no limit of its own.
    if (error == 0 || error == -ENOTSUP) return {};
    return tl::unexpected(
        fmt::format("ethdev {}: cannot set the MTU {}: {}", name_, mtu, dpdk_text(error)));
}

}  // namespace heddle::port
