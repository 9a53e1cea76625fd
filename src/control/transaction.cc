#include "control/transaction.h"

#include <fmt/format.h>
#include <rte_cycles.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "control/cpu_count.h"
#include "control/device.h"

namespace heddle::control {
namespace {

using forwarding::BridgePort;
using forwarding::BridgePortId;
using forwarding::Fdb;

/// After a pause a port may flood this long a burst at once.
constexpr uint32_t kStormBurstMs = 100;

/// ICMP errors a second and port, and at once.
constexpr uint32_t kIcmpErrors = 1000;
constexpr uint32_t kIcmpErrorBurst = 100;

/// What the resolver may be asked to look at, a second and port, and at once.
constexpr uint32_t kResolverFrames = 5000;
constexpr uint32_t kResolverBurst = 1000;

uint64_t cycles_per_frame(uint32_t frames_per_second) {
    return frames_per_second == 0 ? 0 : rte_get_tsc_hz() / frames_per_second;
}

}  // namespace

Transaction::Transaction(Fabric& fabric, const model::Topology& wanted,
                         const Fabric::PathOfPort& path_of_port, bool tolerant)
    : fabric_(fabric), wanted_(wanted), path_of_port_(path_of_port), tolerant_(tolerant) {
    for (size_t i = 0; i < wanted.ports.size(); ++i)
        index_of_port_[wanted.ports[i].name] = i;
}

Fabric::Outcome Transaction::run() {
    open_free_devices();
    if (!outcome_.problems.empty()) return std::move(outcome_);
    apply_settings();
    if (!outcome_.problems.empty()) return std::move(outcome_);
    close_departing();
    update_networks();
    update_ports();
    update_routers();
    fabric_.publish_changes();
    forget_ended();
    update_static_entries();
    start_devices();
    fabric_.publish_changes();
    fabric_.routing_.announce();
    return std::move(outcome_);
}

void Transaction::open_free_devices() {
    std::set<std::string> taken;
    for (const auto& [name, port] : fabric_.ports_) {
        if (port->device != nullptr) taken.insert(device_identity(port->wanted.device));
    }
    for (size_t i = 0; i < wanted_.ports.size(); ++i) {
        const model::Port& wanted = wanted_.ports[i];
        const auto existing = fabric_.ports_.find(wanted.name);
        const bool has_device =
            existing != fabric_.ports_.end() && existing->second->device != nullptr;
        if (has_device && !needs_reopening(existing->second->wanted, wanted)) continue;
        needs_device_.insert(wanted.name);
        if (taken.contains(device_identity(wanted.device))) continue;  // later, in start_devices()
        auto device = open_device(wanted, fabric_.pools_);
        if (device) {
            opened_[wanted.name] = std::move(*device);
            continue;
        }
        open_errors_[wanted.name] = device.error();
        // A port that is there already and merely still lacks its device does not refuse the
        // document.
        const bool known =
            existing != fabric_.ports_.end() &&
            device_identity(existing->second->wanted.device) == device_identity(wanted.device);
        if (tolerant_ || known) continue;
        v1::Problem& problem = outcome_.problems.emplace_back();
        problem.set_path(path_of_port_(i));
        problem.set_message(device.error());
    }
}

void Transaction::apply_settings() {
    const unsigned workers = wanted_.settings.workers.value_or(default_workers());
    fabric_.most_workers_ = std::max(fabric_.most_workers_, workers);
    try {
        fabric_.scheduler_.set_workers(workers);
    } catch (const std::exception& error) {
        v1::Problem& problem = outcome_.problems.emplace_back();
        problem.set_path("settings.workers");
        problem.set_message(fmt::format("cannot run {} workers: {}", workers, error.what()));
        return;
    }
    fabric_.scheduler_.set_busy_polling(wanted_.settings.polling == model::Polling::busy);
}

void Transaction::close_departing() {
    for (auto it = fabric_.ports_.begin(); it != fabric_.ports_.end();) {
        Fabric::PortRuntime& port = *it->second;
        const bool goes = !index_of_port_.contains(it->first);
        if (goes) {
            fabric_.mark_dirty(port);
            fabric_.tables_.publish(port.id, static_cast<const forwarding::PortEntry*>(nullptr));
            fabric_.retire(std::shared_ptr<const void>(std::move(port.entry)));
            if (port.device != nullptr) {
                port.device->discard();
                fabric_.scheduler_.remove_port(port.id);
            }
            for (const auto& [vlan, membership] : port.memberships) {
                ended_memberships_.insert(membership.id);
            }
            departing_.push_back(std::move(it->second));
            it = fabric_.ports_.erase(it);
            continue;
        }
        if (needs_device_.contains(it->first) && port.device != nullptr) {
            const model::Port& wanted = wanted_.ports[index_of_port_[it->first]];
            if (!continues(port.wanted.device, wanted.device)) port.device->discard();
            fabric_.close_device(port);
            port.up = false;
        }
        ++it;
    }
}

void Transaction::update_networks() {
    std::set<std::string> names;
    for (const model::Network& wanted : wanted_.networks) {
        names.insert(wanted.name);
        std::unique_ptr<Fabric::NetworkRuntime>& network = fabric_.networks_[wanted.name];
        if (network == nullptr) {
            network = std::make_unique<Fabric::NetworkRuntime>();
            network->id = static_cast<forwarding::BridgeId>(fabric_.bridge_ids_.take());
            fabric_.network_of_id_[network->id] = wanted.name;
        } else if (network->wanted == wanted) {
            continue;
        }
        network->wanted = wanted;
        fabric_.dirty_networks_.insert(wanted.name);
    }
    for (auto it = fabric_.networks_.begin(); it != fabric_.networks_.end();) {
        if (names.contains(it->first)) {
            ++it;
            continue;
        }
        fabric_.tables_.publish(it->second->id, static_cast<const forwarding::Bridge*>(nullptr));
        fabric_.retire(std::shared_ptr<const void>(std::move(it->second->bridge)));
        ended_bridges_.insert(it->second->id);
        it = fabric_.networks_.erase(it);
    }
}

void Transaction::update_ports() {
    for (const model::Port& wanted : wanted_.ports) {
        std::unique_ptr<Fabric::PortRuntime>& port = fabric_.ports_[wanted.name];
        const bool is_new = port == nullptr;
        if (is_new) {
            port = std::make_unique<Fabric::PortRuntime>();
            port->id = static_cast<forwarding::PortId>(fabric_.port_ids_.take());
            fabric_.port_of_id_[port->id] = port.get();
        } else if (port->wanted == wanted) {
            continue;
        }
        const model::Port before = std::exchange(port->wanted, wanted);
        if (is_new) {
            fabric_.tables_.icmp_limit(port->id).configure(cycles_per_frame(kIcmpErrors),
                                                           kIcmpErrorBurst);
            fabric_.tables_.resolver_limit(port->id).configure(cycles_per_frame(kResolverFrames),
                                                               kResolverBurst);
        }
        if (is_new || before.storm_limit_pps != wanted.storm_limit_pps) {
            fabric_.tables_.storm_limit(port->id).configure(
                cycles_per_frame(wanted.storm_limit_pps),
                uint64_t{wanted.storm_limit_pps} * kStormBurstMs / 1000);
        }
        if (port->device != nullptr) {
            if (before.mtu != wanted.mtu) {
                const uint16_t mtu = wanted.mtu.value_or(port->mtu);
                if (const auto set = port->device->set_mtu(mtu); !set) {
                    v1::Problem& warning = outcome_.warnings.emplace_back();
                    warning.set_path(path_of_port_(index_of_port_[wanted.name]) + ".mtu");
                    warning.set_message(set.error());
                } else {
                    port->mtu = mtu;
                }
            }
        } else {
            port->mtu = wanted.mtu.value_or(1500);
        }
        update_memberships(*port);
        fabric_.publish_port(*port);
    }
}

void Transaction::update_memberships(Fabric::PortRuntime& port) {
    std::map<uint16_t, std::string> wanted;
    if (!port.wanted.network.empty()) wanted[model::kUntagged] = port.wanted.network;
    for (const model::TrunkVlan& vlan : port.wanted.vlans)
        wanted[vlan.vlan] = vlan.network;

    fabric_.mark_dirty(port);
    std::erase_if(port.memberships, [&](const auto& item) {
        const auto& [vlan, membership] = item;
        const auto stays = wanted.find(vlan);
        if (stays != wanted.end() && stays->second == membership.network) return false;
        ended_memberships_.insert(membership.id);
        return true;
    });
    for (const auto& [vlan, network] : wanted) {
        auto [it, added] = port.memberships.try_emplace(vlan);
        if (added) it->second = {network, fabric_.bridge_port_ids_.take()};
        fabric_.tables_.publish(it->second.id, BridgePort{port.id, fabric_.networks_[network]->id,
                                                          vlan, port.wanted.isolated});
    }
    fabric_.mark_dirty(port);
}

void Transaction::update_routers() {
    const api::Problems warnings = fabric_.routing_.update(
        {wanted_,
         [&](const std::string& name) {
             const Fabric::NetworkRuntime& network = *fabric_.networks_.at(name);
             return Routing::Surroundings::Network{network.id, network.wanted.mtu};
         },
         [&](const std::string& port, const std::string& network) {
             BridgePortId found = forwarding::kNoBridgePort;
             for (const auto& [vlan, membership] : fabric_.ports_.at(port)->memberships) {
                 if (membership.network != network) continue;
                 if (found != forwarding::kNoBridgePort) return forwarding::kNoBridgePort;
                 found = membership.id;
             }
             return found;
         }});
    outcome_.warnings.insert(outcome_.warnings.end(), warnings.begin(), warnings.end());
    ended_memberships_.merge(fabric_.routing_.take_ended_bridge_ports());
}

void Transaction::forget_ended() {
    fabric_.routing_.forget_bridges(ended_bridges_);
    if (!ended_memberships_.empty() || !ended_bridges_.empty()) {
        // No worker can learn behind them any more: the grace period after unpublishing is over.
        fabric_.forget_addresses([&](const Fdb::Entry& entry) {
            return ended_memberships_.contains(entry.value.bridge_port) ||
                   ended_bridges_.contains(entry.key.bridge());
        });
        for (auto& [name, network] : fabric_.networks_) {
            std::erase_if(network->static_entries, [&](const auto& item) {
                return ended_memberships_.contains(item.second);
            });
        }
    }
    for (const BridgePortId id : ended_memberships_) {
        fabric_.tables_.publish(id, BridgePort{});
        fabric_.bridge_port_ids_.give_back(id);
    }
    for (const forwarding::BridgeId id : ended_bridges_) {
        fabric_.tables_.reset_counters(id);
        fabric_.network_of_id_.erase(id);
        fabric_.bridge_ids_.give_back(id);
    }
    std::vector<forwarding::PortId> departed;
    for (const auto& port : departing_)
        departed.push_back(port->id);
    fabric_.routing_.forget_ports(departed);
    for (const auto& port : departing_) {
        port->rx_missed_before += port->device ? port->device->rx_missed() : 0;
        port->device.reset();
        fabric_.retired_ += fabric_.totals(*port);
        fabric_.tables_.reset_port_counters(port->id);
        fabric_.port_of_id_[port->id] = nullptr;
        fabric_.port_ids_.give_back(port->id);
    }
}

void Transaction::start_devices() {
    for (const std::string& name : needs_device_) {
        Fabric::PortRuntime& port = *fabric_.ports_[name];
        auto opened = opened_.find(name);
        if (opened != opened_.end()) {
            fabric_.adopt_device(port, std::move(opened->second));
            continue;
        }
        auto device =
            open_errors_.contains(name)
                ? port::Result<std::unique_ptr<port::Port>>(tl::unexpected(open_errors_[name]))
                : open_device(port.wanted, fabric_.pools_);
        if (device) {
            fabric_.adopt_device(port, std::move(*device));
            continue;
        }
        fabric_.set_up(port, false, device.error());
        v1::Problem& warning = outcome_.warnings.emplace_back();
        warning.set_path(path_of_port_(index_of_port_[name]));
        warning.set_message(device.error() + "; the port stays down until the device is there");
    }
}

void Transaction::update_static_entries() {
    for (auto& [name, network] : fabric_.networks_) {
        std::map<net::MacAddress, BridgePortId> wanted;
        for (const model::StaticFdbEntry& entry : network->wanted.static_fdb) {
            wanted[entry.mac] = fabric_.ports_[entry.port]->memberships[entry.vlan].id;
        }
        if (wanted == network->static_entries) continue;
        fabric_.forget_addresses([&, id = network->id](const Fdb::Entry& entry) {
            return entry.key.bridge() == id && entry.value.is_static &&
                   !wanted.contains(entry.key.mac_address());
        });
        for (const auto& [mac, bridge_port] : wanted) {
            const Fdb::Key key(network->id, mac.to_u64());
            if (const auto learned = fabric_.tables_.fdb.set_static(key, bridge_port)) {
                fabric_.tables_.bridge_counters(network->id).learned.fetch_sub(*learned);
            } else {
                v1::Problem& warning = outcome_.warnings.emplace_back();
                warning.set_path(fmt::format("network {}", name));
                warning.set_message("the FDB is full: no room for " + mac.to_string());
            }
        }
        network->static_entries = std::move(wanted);
    }
}

}  // namespace heddle::control
