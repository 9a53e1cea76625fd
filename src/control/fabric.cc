#include "control/fabric.h"

#include <fmt/format.h>
#include <rte_cycles.h>

#include <algorithm>
#include <utility>

#include "control/device.h"
#include "control/transaction.h"

namespace heddle::control {

using forwarding::BridgeId;
using forwarding::BridgePortId;

/// The workers' clock for FDB entries (see Worker::take_time).
forwarding::Fdb::Tick clock_seconds() {
    return static_cast<forwarding::Fdb::Tick>(rte_rdtsc() / rte_get_tsc_hz());
}

Fabric::Fabric(const packet::Pools& pools, Report report)
    : pools_(pools),
      report_(std::move(report)),
      scheduler_(tables_, pools),
      port_of_id_(forwarding::kMaxPorts, nullptr),
      routing_(tables_, scheduler_, bridge_port_ids_, [this](forwarding::PortId id) {
          return port_of_id_[id] != nullptr ? port_of_id_[id]->wanted.name : std::string("?");
      }) {}

Fabric::~Fabric() {
    for (auto& [name, port] : ports_) {
        if (port->device != nullptr) close_device(*port);
    }
}

Fabric::Outcome Fabric::apply(const model::Topology& wanted, const PathOfPort& path_of_port,
                              bool tolerant) {
    return Transaction(*this, wanted, path_of_port, tolerant).run();
}

// ---- Publishing

void Fabric::publish_port(PortRuntime& port) {
    auto entry = std::make_unique<forwarding::PortEntry>();
    entry->id = port.id;
    entry->mtu = port.mtu;
    entry->device = port.device.get();
    entry->counters = &tables_.counters(port.id, 0);
    std::unique_ptr<forwarding::VlanMap> vlans;
    for (const auto& [vlan, membership] : port.memberships) {
        if (vlan == model::kUntagged) {
            entry->untagged = membership.id;
            continue;
        }
        if (vlans == nullptr) vlans = std::make_unique<forwarding::VlanMap>();
        (*vlans)[vlan] = membership.id;
    }
    entry->vlans = std::move(vlans);
    tables_.publish(port.id, entry.get());
    retire(std::exchange(port.entry, std::move(entry)));
}

void Fabric::publish_changes() {
    dirty_networks_.merge(routing_.take_dirty_networks());
    publish_dirty_bridges();
    if (garbage_.empty() && !routing_.has_garbage()) return;
    scheduler_.synchronize();
    garbage_.clear();
    routing_.release();
}

Routing::Updated Fabric::update_routes(const v1::RouteUpdate& update, const std::string& path) {
    Routing::Updated result = routing_.update_routes(update, path);
    publish_changes();
    return result;
}

std::vector<pipeline::Resolver::View> Fabric::neighbors() {
    std::vector<pipeline::Resolver::View> views;
    // Room beforehand: the worker allocates nothing.
    views.reserve(tables_.neighbors.size() + 1024);
    scheduler_.ask_resolver([&](pipeline::Resolver& resolver, pipeline::Context& context) {
        resolver.for_each(context, [&](const pipeline::Resolver::View& view) {
            if (views.size() < views.capacity()) views.push_back(view);
        });
    });
    return views;
}

void Fabric::publish_dirty_bridges() {
    if (dirty_networks_.empty()) return;
    // One pass over all ports rather than one per network.
    std::map<std::string, std::vector<BridgePortId>> flood;
    std::map<std::string, unsigned> members;
    auto routers = routing_.interfaces_by_network();
    for (const auto& [name, port] : ports_) {
        for (const auto& [vlan, membership] : port->memberships) {
            ++members[membership.network];
            // Flooding to a port that is down would only count drops.
            if (port->up) flood[membership.network].push_back(membership.id);
        }
    }
    for (const std::string& name : dirty_networks_) {
        const auto found = networks_.find(name);
        if (found == networks_.end()) continue;
        NetworkRuntime& network = *found->second;
        auto bridge = std::make_unique<forwarding::Bridge>();
        bridge->id = network.id;
        bridge->fdb_limit = network.wanted.fdb_limit;
        bridge->vlan_transparent = network.wanted.vlan_transparent;
        bridge->group_forward_mask = network.wanted.group_forward_mask;
        bridge->flood = std::move(flood[name]);
        bridge->routers = std::move(routers[name]);
        bridge->proxy_arp = network.wanted.proxy_arp;
        if (!bridge->routers.empty()) {
            bridge->router = bridge->routers.front();
            bridge->router_mac = tables_.interface(bridge->router)->mac.to_u64();
        }
        network.ports = members[name];
        tables_.publish(network.id, bridge.get());
        retire(std::exchange(network.bridge, std::move(bridge)));
    }
    dirty_networks_.clear();
}

void Fabric::mark_dirty(const PortRuntime& port) {
    for (const auto& [vlan, membership] : port.memberships) {
        dirty_networks_.insert(membership.network);
    }
}

// ---- Addresses

void Fabric::forget_addresses(const std::function<bool(const forwarding::Fdb::Entry&)>& which) {
    tables_.fdb.retire_if(which, 0, SIZE_MAX, [&](const forwarding::Fdb::Entry& entry) {
        if (entry.value.is_static) return;
        tables_.bridge_counters(entry.key.bridge()).learned.fetch_sub(1);
    });
    if (tables_.fdb.has_retired()) {
        scheduler_.synchronize();
        tables_.fdb.release();
    }
}

void Fabric::age_addresses() {
    const bool any_learned = std::any_of(networks_.begin(), networks_.end(), [&](const auto& item) {
        return tables_.bridge_counters(item.second->id).learned.load() != 0;
    });
    if (!any_learned) return;
    const uint32_t now = clock_seconds();
    std::vector<uint32_t> ageing_time(forwarding::kMaxBridges, UINT32_MAX);
    for (const auto& [name, network] : networks_) {
        ageing_time[network->id] = network->wanted.ageing_time;
    }
    forget_addresses([&](const forwarding::Fdb::Entry& entry) {
        // A worker may have stamped it in a second that began after `now` was read.
        return !entry.value.is_static && entry.value.tick < now &&
               now - entry.value.tick >= ageing_time[entry.key.bridge()];
    });
}

// ---- Devices

void Fabric::adopt_device(PortRuntime& port, std::unique_ptr<port::Port> device) {
    port.device = std::move(device);
    port.mtu = effective_mtu(port.wanted, *port.device);
    publish_port(port);
    scheduler_.add_port(port.id, *port.device);
    port.device->refresh();
    set_up(port, port.device->up(), port.device->down_reason());
}

void Fabric::close_device(PortRuntime& port) {
    scheduler_.remove_port(port.id);
    std::unique_ptr<port::Port> device = std::move(port.device);
    publish_port(port);
    scheduler_.synchronize();
    port.rx_missed_before += device->rx_missed();
}

void Fabric::set_up(PortRuntime& port, bool up, const std::string& reason) {
    const bool changed = up != port.up || reason != port.down_reason;
    if (up != port.up) mark_dirty(port);
    port.up = up;
    port.down_reason = reason;
    if (changed) report_("port", port.wanted.name, up ? "up" : "down: " + reason);
}

void Fabric::look_after(PortRuntime& port) {
    if (port.device != nullptr) {
        port.device->refresh();
        set_up(port, port.device->up(), port.device->down_reason());
        if (!port.device->failed()) return;
        close_device(port);
    }
    auto device = open_device(port.wanted, pools_);
    if (device) {
        adopt_device(port, std::move(*device));
    } else if (port.down_reason.empty()) {
        set_up(port, false, device.error());
    }
}

void Fabric::maintain() {
    for (auto& [name, port] : ports_)
        look_after(*port);
    publish_changes();
    if (const auto news = routing_.maintain()) report_("router", news->first, news->second);
    ++maintenance_rounds_;
    if (maintenance_rounds_ % kAgeingRounds == 0) age_addresses();
    for (auto& [name, port] : ports_)
        report_oversize(*port);
}

void Fabric::report_oversize(PortRuntime& port) {
    if (port.oversize_quiet != 0 && --port.oversize_quiet != 0) return;
    uint64_t dropped = 0;  // not by totals(), which asks the device, too
    for (unsigned worker = 0; worker < most_workers_; ++worker) {
        dropped += tables_.counters(port.id, worker).dropped(packet::DropReason::tx_mtu);
    }
    const uint64_t news = dropped - std::exchange(port.oversize_reported, dropped);
    if (news == 0) return;
    port.oversize_quiet = kOversizeRounds;
    const PortRuntime* from = port_of_id_[tables_.last_oversize_from(port.id).load()];
    report_("port", port.wanted.name,
            fmt::format("{} frames exceeded its MTU of {} and were dropped, the last from port {}",
                        news, port.mtu, from == nullptr ? "(deleted)" : from->wanted.name));
}

void Fabric::interface_changed(const std::string& interface) {
    for (auto& [name, port] : ports_) {
        if (interface_of(port->wanted.device) == interface) look_after(*port);
    }
    publish_changes();
}

// ---- Reports

Fabric::Totals& Fabric::Totals::operator+=(const Totals& other) {
    rx_frames += other.rx_frames;
    rx_bytes += other.rx_bytes;
    tx_frames += other.tx_frames;
    tx_bytes += other.tx_bytes;
    tx_packets += other.tx_packets;
    replicated += other.replicated;
    consumed += other.consumed;
    rx_missed += other.rx_missed;
    for (size_t i = 0; i < drops.size(); ++i)
        drops[i] += other.drops[i];
    return *this;
}

Fabric::Totals Fabric::totals(const PortRuntime& port) const {
    Totals sum = totals(port.id);
    sum.rx_missed = port.rx_missed_before + (port.device ? port.device->rx_missed() : 0);
    return sum;
}

Fabric::Totals Fabric::totals(forwarding::PortId id) const {
    Totals sum;
    for (unsigned worker = 0; worker < most_workers_; ++worker) {
        const packet::PortCounters& counters = tables_.counters(id, worker);
        Totals part;
        part.rx_frames = counters.rx_frames.read();
        part.rx_bytes = counters.rx_bytes.read();
        part.tx_frames = counters.tx_frames.read();
        part.tx_bytes = counters.tx_bytes.read();
        part.tx_packets = counters.tx_packets.read();
        part.replicated = counters.replicated.read();
        part.consumed = counters.consumed.read();
        for (size_t i = 0; i < part.drops.size(); ++i)
            part.drops[i] = counters.drops[i].read();
        sum += part;
    }
    return sum;
}

Fabric::Totals Fabric::totals() const {
    Totals sum = retired_;
    sum += totals(forwarding::kNoPort);  // of frames that Heddle itself made
    for (const auto& [name, port] : ports_)
        sum += totals(*port);
    return sum;
}

uint32_t Fabric::buffers_ready() const {
    uint32_t buffers = 0;
    for (const auto& worker : scheduler_.worker_status())
        buffers += worker.statistics.buffers_held;
    for (const auto& [name, port] : ports_) {
        if (port->device != nullptr) buffers += port->device->buffers_held();
    }
    return buffers;
}

std::optional<Fabric::Attachment> Fabric::attachment(BridgePortId id) const {
    const forwarding::BridgePort bridge_port = tables_.bridge_port(id);
    const PortRuntime* port = port_of_id_[bridge_port.port];
    if (port == nullptr) return std::nullopt;
    return Attachment{port->wanted.name, bridge_port.vlan};
}

std::string Fabric::network_name(BridgeId id) const {
    const auto found = network_of_id_.find(id);
    return found == network_of_id_.end() ? std::string() : found->second;
}

}  // namespace heddle::control
