#include "control/observe.h"

#include <algorithm>
#include <set>

#include "control/device.h"
#include "packet/drop.h"

namespace heddle::control {
namespace {

void fill(const Fabric::Totals& totals, v1::PortCounters& counters) {
    counters.set_rx_frames(totals.rx_frames);
    counters.set_rx_bytes(totals.rx_bytes);
    counters.set_tx_frames(totals.tx_frames);
    counters.set_tx_bytes(totals.tx_bytes);
    counters.set_tx_packets(totals.tx_packets);
    counters.set_replicated(totals.replicated);
    counters.set_consumed(totals.consumed);
    counters.set_rx_missed(totals.rx_missed);
    uint64_t dropped = 0;
    for (const uint64_t frames : totals.drops)
        dropped += frames;
    counters.set_dropped(dropped);
}

template <typename Add>
void fill_drops(const Fabric::Totals& totals, Add add) {
    for (size_t i = 0; i < totals.drops.size(); ++i) {
        if (totals.drops[i] == 0) continue;
        const auto reason = static_cast<packet::DropReason>(i);
        v1::DropCount& drop = *add();
        drop.set_reason(std::string(name(reason)));
        drop.set_meaning(std::string(meaning(reason)));
        drop.set_frames(totals.drops[i]);
    }
}

void fill_offloads(const port::Capabilities& capabilities, v1::PortState& state) {
    if (capabilities.l4_checksum) state.add_offloads("csum");
    if (capabilities.tso4) state.add_offloads("tso4");
    if (capabilities.tso6) state.add_offloads("tso6");
    if (capabilities.uso4) state.add_offloads("uso4");
    if (capabilities.uso6) state.add_offloads("uso6");
}

constexpr const char* kDrivers[] = {"tap", "netdev", "ethdev"};  // by index in model::Device

v1::PortState observe_port(const Fabric& fabric, const Fabric::PortRuntime& port) {
    v1::PortState state;
    state.set_name(port.wanted.name);
    state.set_id(port.id);
    state.set_driver(kDrivers[port.wanted.device.index()]);
    state.set_interface(device_name(port.wanted.device));
    state.set_network(port.wanted.network);
    for (const model::TrunkVlan& vlan : port.wanted.vlans) {
        v1::TrunkVlan& out = *state.add_vlans();
        out.set_vlan(vlan.vlan);
        out.set_network(vlan.network);
    }
    state.set_up(port.up);
    state.set_down_reason(port.down_reason);
    state.set_mtu(port.mtu);
    if (port.device != nullptr) fill_offloads(port.device->capabilities(), state);
    const Fabric::Totals totals = fabric.totals(port);
    fill(totals, *state.mutable_counters());
    fill_drops(totals, [&] { return state.add_drops(); });
    for (const worker::Scheduler::QueueStatus& queue : fabric.scheduler().queues(port.id)) {
        v1::QueueState& out = *state.add_queues();
        out.set_queue(queue.queue);
        out.set_worker(queue.worker);
        out.set_load(queue.load);
        out.set_spread(queue.spread);
    }
    return state;
}

v1::NetworkState observe_network(const Fabric& fabric, const Fabric::NetworkRuntime& network) {
    const forwarding::BridgeCounters& counters = fabric.tables().bridge_counters(network.id);
    v1::NetworkState state;
    state.set_name(network.wanted.name);
    state.set_id(network.id);
    state.set_ports(network.ports);
    state.set_fdb_entries(counters.learned.load() +
                          static_cast<uint32_t>(network.static_entries.size()));
    state.set_fdb_limit(network.wanted.fdb_limit);
    state.set_fdb_limit_hits(counters.limit_hits.load());
    state.set_fdb_moves(counters.moves.load());
    return state;
}

std::vector<v1::Object> observe_fdb(const Fabric& fabric, const std::set<std::string>& networks) {
    std::vector<v1::Object> objects;
    const forwarding::Fdb::Tick now = clock_seconds();
    fabric.tables().fdb.for_each([&](const forwarding::Fdb::Entry& entry) {
        const std::string network = fabric.network_name(entry.key.bridge());
        if (!networks.empty() && !networks.contains(network)) return;
        const std::string router = fabric.routing().owner_of(entry.value.bridge_port);
        const auto attachment = router.empty() ? fabric.attachment(entry.value.bridge_port)
                                               : Fabric::Attachment{router, 0};
        if (!attachment) return;
        v1::FdbEntry& out = *objects.emplace_back().mutable_fdb_entry();
        out.set_network(network);
        out.set_mac(entry.key.mac_address().to_string());
        out.set_port(attachment->port);
        out.set_vlan(attachment->vlan);
        out.set_is_static(entry.value.is_static);
        if (!entry.value.is_static && now > entry.value.tick) {
            out.set_idle_seconds(now - entry.value.tick);
        }
    });
    return objects;
}

std::vector<v1::Object> observe_workers(const Fabric& fabric) {
    std::vector<v1::Object> objects;
    uint32_t id = 0;
    for (const worker::Scheduler::WorkerStatus& worker : fabric.scheduler().worker_status()) {
        v1::WorkerState& out = *objects.emplace_back().mutable_worker();
        out.set_worker(id++);
        out.set_busy(worker.busy);
        out.set_sleeping(worker.statistics.sleeping);
        out.set_frames(worker.statistics.frames);
        out.set_handed_over(worker.statistics.handed_over);
        out.set_cycles_per_frame(worker.cycles_per_frame);
        out.set_queues(worker.queues);
        out.set_wakeups(worker.statistics.wakeups);
        out.set_thread_id(worker.statistics.thread_id);
    }
    return objects;
}

const char* phase_name(pipeline::NeighborPhase phase) {
    switch (phase) {
        case pipeline::NeighborPhase::unknown:
            return "unknown";
        case pipeline::NeighborPhase::incomplete:
            return "incomplete";
        case pipeline::NeighborPhase::reachable:
            return "reachable";
        case pipeline::NeighborPhase::stale:
            return "stale";
        case pipeline::NeighborPhase::probe:
            return "probe";
        case pipeline::NeighborPhase::failed:
            return "failed";
    }
    return "";
}

std::vector<v1::Object> observe_neighbors(Fabric& fabric, const std::set<std::string>& networks) {
    std::vector<pipeline::Resolver::View> views = fabric.neighbors();
    std::sort(views.begin(), views.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    std::vector<v1::Object> objects;
    for (const pipeline::Resolver::View& view : views) {
        const std::string network = fabric.network_name(view.key.bridge);
        if (!networks.empty() && !networks.contains(network)) continue;
        v1::NeighborState& out = *objects.emplace_back().mutable_neighbor();
        out.set_network(network);
        out.set_address(view.key.address().to_string());
        if (!view.mac.is_zero()) out.set_mac(view.mac.to_string());
        out.set_state(view.permanent ? "permanent" : phase_name(view.phase));
        out.set_idle_seconds(view.idle);
        out.set_waiting(view.waiting);
    }
    return objects;
}

std::vector<v1::Object> observe_routing(const Routing& routing, v1::GetRequest::Kind kind,
                                        const std::set<std::string>& names) {
    std::vector<v1::Object> objects;
    const auto selected = [&](const std::string& name) {
        return names.empty() || names.contains(name);
    };
    if (kind == v1::GetRequest::ROUTERS) {
        routing.observe_routers([&](v1::RouterState&& state) {
            if (selected(state.name())) *objects.emplace_back().mutable_router() = std::move(state);
            return true;
        });
    } else if (kind == v1::GetRequest::ROUTES) {
        routing.observe_routes(names, [&](v1::RouteState&& state) {
            *objects.emplace_back().mutable_route() = std::move(state);
            return true;
        });
    } else {
        routing.observe_next_hops([&](v1::NextHopState&& state) {
            if (selected(state.router())) {
                *objects.emplace_back().mutable_next_hop() = std::move(state);
            }
            return true;
        });
    }
    return objects;
}

/// The first requested name that `known` lacks, as an error; empty if there is none.
template <typename Map>
std::string unknown_name(const std::set<std::string>& names, const Map& known, const char* kind) {
    for (const std::string& name : names) {
        if (!known.contains(name)) return std::string("there is no ") + kind + " '" + name + "'";
    }
    return {};
}

}  // namespace

tl::expected<std::vector<v1::Object>, std::string> observe(Fabric& fabric,
                                                           const v1::GetRequest& request) {
    const std::set<std::string> names(request.names().begin(), request.names().end());
    const auto selected = [&](const std::string& name) {
        return names.empty() || names.contains(name);
    };
    std::vector<v1::Object> objects;
    switch (request.kind()) {
        case v1::GetRequest::PORTS:
        case v1::GetRequest::DROPS: {
            if (auto error = unknown_name(names, fabric.ports(), "port"); !error.empty()) {
                return tl::unexpected(error);
            }
            for (const auto& [name, port] : fabric.ports()) {
                if (!selected(name)) continue;
                v1::PortState state = observe_port(fabric, *port);
                if (request.kind() == v1::GetRequest::DROPS && state.drops().empty()) continue;
                *objects.emplace_back().mutable_port() = std::move(state);
            }
            return objects;
        }
        case v1::GetRequest::NETWORKS:
        case v1::GetRequest::NEIGHBORS:
        case v1::GetRequest::FDB: {
            if (auto error = unknown_name(names, fabric.networks(), "network"); !error.empty()) {
                return tl::unexpected(error);
            }
            if (request.kind() == v1::GetRequest::FDB) return observe_fdb(fabric, names);
            if (request.kind() == v1::GetRequest::NEIGHBORS) {
                return observe_neighbors(fabric, names);
            }
            for (const auto& [name, network] : fabric.networks()) {
                if (!selected(name)) continue;
                *objects.emplace_back().mutable_network() = observe_network(fabric, *network);
            }
            return objects;
        }
        case v1::GetRequest::ROUTERS:
        case v1::GetRequest::ROUTES:
        case v1::GetRequest::NEXT_HOPS: {
            if (auto error = unknown_name(names, fabric.routing().names(), "router");
                !error.empty()) {
                return tl::unexpected(error);
            }
            return observe_routing(fabric.routing(), request.kind(), names);
        }
        case v1::GetRequest::WORKERS:
            return observe_workers(fabric);
        default:
            return tl::unexpected(std::string("unknown kind of object"));
    }
}

v1::Status observe_status(const Fabric& fabric) {
    v1::Status status;
    status.set_workers(fabric.scheduler().workers());
    uint32_t up = 0;
    for (const auto& [name, port] : fabric.ports())
        up += port->up;
    status.set_ports_up(up);
    status.set_ports_down(static_cast<uint32_t>(fabric.ports().size()) - up);
    status.set_networks(static_cast<uint32_t>(fabric.networks().size()));
    status.set_buffers_in_use(fabric.pools().in_use());
    status.set_buffers_base(fabric.buffers_ready());
    status.set_buffers_total(fabric.pools().total());
    const Fabric::Totals totals = fabric.totals();
    fill(totals, *status.mutable_totals());
    fill_drops(totals, [&] { return status.add_drops(); });
    for (const auto& [name, port] : fabric.ports()) {
        if (!port->up) status.add_warnings("port " + name + " is down: " + port->down_reason);
    }
    return status;
}

}  // namespace heddle::control
