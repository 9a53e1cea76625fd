#include "control/routing.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/route_rules.h"
#include "net/format.h"
#include "net/neighbor_discovery.h"

namespace heddle::control {

using forwarding::AdjacencyId;
using forwarding::BridgePort;
using forwarding::InterfaceId;
using forwarding::kNoNextHop;
using forwarding::NeighborKey;
using forwarding::NextHop;
using forwarding::NextHopId;
using forwarding::RouterInterface;

namespace {

forwarding::ReversePath compiled(model::ReversePath reverse_path) {
    switch (reverse_path) {
        case model::ReversePath::off:
            return forwarding::ReversePath::off;
        case model::ReversePath::loose:
            return forwarding::ReversePath::loose;
        case model::ReversePath::strict:
            return forwarding::ReversePath::strict;
    }
    return forwarding::ReversePath::off;
}

net::IpPrefix host_prefix(const net::IpAddress& address) {
    if (const auto* v4 = address.v4()) return net::Ipv4Prefix(*v4, net::Ipv4Address::kBits);
    return net::Ipv6Prefix(*address.v6(), net::Ipv6Address::kBits);
}

}  // namespace

Routing::Routing(forwarding::Tables& tables, worker::Scheduler& scheduler, IdPool& bridge_port_ids,
                 NameOfPort name_of_port)
    : tables_(tables),
      scheduler_(scheduler),
      bridge_port_ids_(bridge_port_ids),
      name_of_port_(std::move(name_of_port)),
      next_hops_(tables) {}

Routing::~Routing() = default;

// ---- Applying a configuration

api::Problems Routing::update(const Surroundings& surroundings) {
    problems_.clear();
    std::set<std::string> names;
    for (const model::Router& wanted : surroundings.wanted.routers)
        names.insert(wanted.name);
    for (auto it = routers_.begin(); it != routers_.end();) {
        const auto router = it++;
        if (!names.contains(router->first)) remove_router(router);
    }
    for (const model::Router& wanted : surroundings.wanted.routers) {
        std::unique_ptr<Router>& router = routers_[wanted.name];
        if (router == nullptr) {
            const auto id = static_cast<forwarding::RouterId>(router_ids_.take());
            router = std::make_unique<Router>(id, tables_.lpm_arena, next_hops_);
            tables_.publish_vrf(id, &router->vrf);
        }
        update_interfaces(*router, wanted, surroundings);
    }
    update_hosts(surroundings);
    // Only now: routes lead to interfaces of this and to tables of other routers.
    for (const model::Router& wanted : surroundings.wanted.routers) {
        Router& router = *routers_[wanted.name];
        if (router.wanted == wanted) continue;
        update_routes(router, wanted);
        router.wanted = wanted;
    }
    return std::exchange(problems_, {});
}

void Routing::remove_router(std::map<std::string, std::unique_ptr<Router>>::iterator router) {
    for (auto& [network, interface] : router->second->interfaces)
        remove_interface(*router->second, interface);
    tables_.publish_vrf(router->second->id, nullptr);
    retired_routers_.push_back(std::move(router->second));
    routers_.erase(router);
}

void Routing::update_interfaces(Router& router, const model::Router& wanted,
                                const Surroundings& surroundings) {
    std::set<std::string> networks;
    for (const model::RouterInterface& interface : wanted.interfaces)
        networks.insert(interface.network);
    for (auto it = router.interfaces.begin(); it != router.interfaces.end();) {
        const auto interface = it++;
        if (networks.contains(interface->first)) continue;
        remove_interface(router, interface->second);
        router.interfaces.erase(interface);
    }
    for (const model::RouterInterface& given : wanted.interfaces) {
        Interface& interface = router.interfaces[given.network];
        const bool is_new = interface.id == forwarding::kNoInterface;
        if (is_new) {
            interface.id = static_cast<InterfaceId>(interface_ids_.take());
            interface.bridge_port = bridge_port_ids_.take();
            interface_of_id_[interface.id] = {&router, &interface};
        } else if (interface.wanted.addresses != given.addresses) {
            remove_attached(router, interface);
        }
        const bool moved = is_new || interface.wanted.addresses != given.addresses;
        interface.wanted = given;
        publish(router, interface, wanted, surroundings);
        if (moved) add_attached(router, interface);
    }
}

void Routing::publish(Router& router, Interface& interface, const model::Router& wanted,
                      const Surroundings& surroundings) {
    const Surroundings::Network network = surroundings.network(interface.wanted.network);
    auto object = std::make_unique<RouterInterface>();
    object->id = interface.id;
    object->router = router.id;
    object->bridge = network.bridge;
    object->mtu = network.mtu;
    object->mac = wanted.mac;
    object->reverse_path = compiled(interface.wanted.reverse_path);
    object->link_local = net::link_local_address(wanted.mac);
    for (const net::IpPrefix& address : interface.wanted.addresses) {
        if (const auto* v4 = address.v4()) object->add_address(*v4);
        if (const auto* v6 = address.v6()) object->addresses6.push_back(*v6);
    }
    if (const auto& advertisement = interface.wanted.advertisement) {
        object->advertises = true;
        object->advertisement.managed = advertisement->managed;
        object->advertisement.other_config = advertisement->other_config;
        object->advertisement.autonomous = advertisement->autonomous;
        object->advertisement.interval = advertisement->interval;
        object->advertisement.lifetime = advertisement->lifetime;
    }
    const RouterInterface* before = interface.published.get();
    if (before != nullptr && *before == *object) return;
    const bool other_mac = before == nullptr || before->mac != object->mac;
    tables_.publish_interface(interface.id, object.get());
    if (other_mac) {
        if (before != nullptr) {
            // The address a router had leads nowhere from now on; a new bridge port has the new
            // one.
            ended_bridge_ports_.insert(interface.bridge_port);
            interface.bridge_port = bridge_port_ids_.take();
        }
        tables_.publish(interface.bridge_port,
                        BridgePort{.bridge = object->bridge, .interface = interface.id});
        const forwarding::Fdb::Key key(object->bridge, object->mac.to_u64());
        if (const auto learned = tables_.fdb.set_static(key, interface.bridge_port)) {
            tables_.bridge_counters(object->bridge).learned.fetch_sub(*learned);
        } else {
            v1::Problem& problem = problems_.emplace_back();
            problem.set_path(fmt::format("router {}", wanted.name));
            problem.set_message("the FDB is full: no room for its MAC address");
        }
    }
    unannounced_.push_back(interface.id);
    dirty_networks_.insert(interface.wanted.network);
    if (interface.published != nullptr) garbage_.emplace_back(std::move(interface.published));
    interface.published = std::move(object);
}

void Routing::announce() {
    if (unannounced_.empty()) return;
    scheduler_.ask_resolver([this](pipeline::Resolver& resolver, pipeline::Context& context) {
        for (const InterfaceId id : unannounced_)
            resolver.announce(context, id);
    });
    unannounced_.clear();
}

void Routing::remove_interface(Router& router, Interface& interface) {
    remove_routes_by(router, interface.id);
    tables_.publish_interface(interface.id, nullptr);
    ended_bridge_ports_.insert(interface.bridge_port);
    dirty_networks_.insert(interface.wanted.network);
    interface_of_id_.erase(interface.id);
    retired_interfaces_.push_back(interface.id);
    if (interface.published != nullptr) garbage_.emplace_back(std::move(interface.published));
}

std::map<std::string, std::vector<InterfaceId>> Routing::interfaces_by_network() const {
    std::map<std::string, std::vector<InterfaceId>> result;
    for (const auto& [name, router] : routers_) {
        for (const auto& [network, interface] : router->interfaces)
            result[network].push_back(interface.id);
    }
    return result;
}

void Routing::update_hosts(const Surroundings& surroundings) {
    std::set<std::string> watched;
    for (const model::Network& network : surroundings.wanted.networks) {
        if (network.proxy_arp) watched.insert(network.name);
    }
    for (const auto& [name, router] : routers_) {
        for (const auto& [network, interface] : router->interfaces)
            watched.insert(network);
    }
    std::map<NeighborKey, Host> hosts;
    for (const model::Port& port : surroundings.wanted.ports) {
        if (!port.mac) continue;
        const auto add = [&](const std::string& network) {
            if (!watched.contains(network)) return;
            const Host host{*port.mac, surroundings.bridge_port_of(port.name, network)};
            const forwarding::BridgeId bridge = surroundings.network(network).bridge;
            for (const net::IpAddress& address : port.addresses)
                hosts[NeighborKey(bridge, address)] = host;
        };
        add(port.network);
        for (const model::TrunkVlan& vlan : port.vlans)
            add(vlan.network);
    }
    // Routers on one network know each other.
    for (const auto& [name, router] : routers_) {
        for (const auto& [network, interface] : router->interfaces) {
            const RouterInterface& own = *interface.published;
            const Host host{own.mac, interface.bridge_port};
            hosts[NeighborKey(own.bridge, own.link_local)] = host;
            for (const net::IpPrefix& address : interface.wanted.addresses)
                hosts[NeighborKey(own.bridge, address.address())] = host;
        }
    }
    if (hosts == hosts_) return;
    scheduler_.ask_resolver([&](pipeline::Resolver& resolver, pipeline::Context& context) {
        for (const auto& [key, host] : hosts_) {
            if (!hosts.contains(key)) resolver.clear_permanent(context, key);
        }
        for (const auto& [key, host] : hosts) {
            const auto before = hosts_.find(key);
            if (before == hosts_.end() || before->second != host) {
                resolver.set_permanent(context, key, host.mac, host.bridge_port);
            }
        }
    });
    hosts_ = std::move(hosts);
}

// ---- Routes

void Routing::add(Router& router, const net::IpPrefix& prefix,
                  const std::vector<NextHops::Member>& hops, NextHops::Source source,
                  uint8_t distance) {
    const auto add_to = [&](auto& rib, const auto& typed) {
        const NextHopId before = rib.find(typed, source, distance);
        const NextHopId id = next_hops_.take(hops, source, distance, before);
        if (id == kNoNextHop) throw std::bad_alloc();
        if (id == before) return next_hops_.drop(id);  // it is as it was
        try {
            rib.add(typed, id);
        } catch (...) {
            next_hops_.drop(id);
            throw;
        }
    };
    if (const auto* v4 = prefix.v4()) {
        add_to(router.ipv4, *v4);
    } else {
        add_to(router.ipv6, *prefix.v6());
    }
}

bool Routing::remove(Router& router, const net::IpPrefix& prefix, NextHops::Source source,
                     uint8_t distance) {
    if (const auto* v4 = prefix.v4()) return router.ipv4.remove(*v4, source, distance);
    return router.ipv6.remove(*prefix.v6(), source, distance);
}

void Routing::add_attached(Router& router, const Interface& interface) {
    for (const net::IpPrefix& address : interface.wanted.addresses) {
        const NextHop attached{NextHop::Kind::attached, interface.id, 0};
        const NextHop receive{NextHop::Kind::receive, interface.id, 0};
        add(router, address.network(), {{attached}}, route_source::kAttached, 0);
        add(router, host_prefix(address.address()), {{receive}}, route_source::kLocal, 0);
        // The subnet-router anycast address: RFC 4291, section 2.6.1.
        if (address.is_v6() && address.length() + 1 < net::Ipv6Address::kBits) {
            add(router, host_prefix(address.network().address()), {{receive}}, route_source::kLocal,
                0);
        }
    }
}

void Routing::remove_attached(Router& router, const Interface& interface) {
    for (const net::IpPrefix& address : interface.wanted.addresses) {
        remove(router, address.network(), route_source::kAttached, 0);
        remove(router, host_prefix(address.address()), route_source::kLocal, 0);
        if (address.is_v6()) {
            remove(router, host_prefix(address.network().address()), route_source::kLocal, 0);
        }
    }
}

void Routing::remove_routes_by(Router& router, InterfaceId interface) {
    const auto leads_there = [&](NextHopId id) {
        const NextHops::Info& info = next_hops_.info(id);
        return info.hop.interface == interface ||
               std::any_of(info.members.begin(), info.members.end(),
                           [&](const NextHops::Member& member) {
                               return member.hop.interface == interface;
                           });
    };
    const auto remove_from = [&](auto& rib) {
        std::vector<std::pair<typename std::remove_reference_t<decltype(rib)>::Prefix, NextHopId>>
            found;
        rib.for_each([&](const auto& prefix, NextHopId id, bool) {
            if (leads_there(id)) found.emplace_back(prefix, id);
        });
        for (const auto& [prefix, id] : found) {
            const NextHops::Source source = next_hops_.info(id).source;
            const uint8_t distance = next_hops_.info(id).distance;
            rib.remove(prefix, source, distance);
        }
    };
    remove_from(router.ipv4);
    remove_from(router.ipv6);
}

AdjacencyId Routing::pin(const NeighborKey& key) {
    if (const auto found = pinned_.find(key); found != pinned_.end()) return found->second;
    AdjacencyId id = forwarding::kNoAdjacency;
    scheduler_.ask_resolver([&](pipeline::Resolver& resolver, pipeline::Context& context) {
        id = resolver.pin(context, key);
    });
    if (id != forwarding::kNoAdjacency) pinned_.emplace(key, id);
    return id;
}

std::vector<NextHops::Member> Routing::members(const Router& router, const model::Route& route) {
    if (std::holds_alternative<model::Blackhole>(route.target)) {
        return {{NextHop{NextHop::Kind::blackhole, forwarding::kNoInterface, 0}}};
    }
    if (std::holds_alternative<model::Reject>(route.target)) {
        return {{NextHop{NextHop::Kind::reject, forwarding::kNoInterface, 0}}};
    }
    if (const auto* other = std::get_if<model::OtherRouter>(&route.target)) {
        return {{NextHop{NextHop::Kind::router, forwarding::kNoInterface,
                         routers_.at(other->name)->id}}};
    }
    std::vector<NextHops::Member> result;
    for (const model::NextHop& hop : std::get<std::vector<model::NextHop>>(route.target)) {
        const Interface& interface = router.interfaces.at(hop.network);
        const AdjacencyId adjacency = pin(NeighborKey(interface.published->bridge, hop.address));
        if (adjacency == forwarding::kNoAdjacency) throw std::bad_alloc();
        result.push_back({NextHop{NextHop::Kind::adjacency, interface.id, adjacency}, hop.weight});
    }
    return result;
}

void Routing::add_static(Router& router, const model::Route& route) {
    try {
        add(router, route.prefix, members(router, route), route_source::kStatic, route.distance);
    } catch (const std::bad_alloc&) {
        v1::Problem& problem = problems_.emplace_back();
        problem.set_path(fmt::format("router {}", router.wanted.name));
        problem.set_message(
            fmt::format("no room for the route to {}: a table is full", route.prefix));
    }
}

void Routing::update_routes(Router& router, const model::Router& wanted) {
    using Key = std::pair<net::IpPrefix, uint8_t>;
    std::map<Key, const model::Route*> before;
    for (const model::Route& route : router.wanted.routes)
        before.emplace(Key{route.prefix, route.distance}, &route);
    // First what is new or other, so that a packet finds the old way or the new one.
    for (const model::Route& route : wanted.routes) {
        const auto found = before.find(Key{route.prefix, route.distance});
        add_static(router, route);
        if (found != before.end()) before.erase(found);
    }
    for (const auto& [key, route] : before)
        remove(router, key.first, route_source::kStatic, key.second);
}

// ---- What is over

void Routing::forget_bridges(const std::set<forwarding::BridgeId>& bridges) {
    if (bridges.empty()) return;
    scheduler_.ask_resolver([&](pipeline::Resolver& resolver, pipeline::Context& context) {
        for (const forwarding::BridgeId bridge : bridges)
            resolver.forget_bridge(context, bridge);
    });
    std::erase_if(pinned_, [&](const auto& item) { return bridges.contains(item.first.bridge); });
    std::erase_if(hosts_, [&](const auto& item) { return bridges.contains(item.first.bridge); });
}

void Routing::forget_ports(const std::vector<forwarding::PortId>& ports) {
    if (ports.empty()) return;
    scheduler_.ask_resolver([&](pipeline::Resolver& resolver, pipeline::Context& context) {
        for (const forwarding::PortId port : ports)
            resolver.forget_port(context, port);
    });
}

bool Routing::has_garbage() const {
    return !garbage_.empty() || !retired_routers_.empty() || !retired_interfaces_.empty() ||
           next_hops_.has_retired() || tables_.lpm_arena.has_retired();
}

void Routing::release() {
    if (!retired_interfaces_.empty()) {
        // Frames name interfaces by id: those on their way to the resolver, and those that wait
        // there.
        scheduler_.drain_rings();
        scheduler_.ask_resolver([this](pipeline::Resolver& resolver, pipeline::Context& context) {
            for (const InterfaceId id : retired_interfaces_)
                resolver.forget_interface(context, id);
        });
    }
    // This drops their routes; the next hops that only they led to are out of reach already.
    for (const auto& router : retired_routers_)
        router_ids_.give_back(router->id);
    retired_routers_.clear();
    for (const InterfaceId id : retired_interfaces_)
        interface_ids_.give_back(id);
    retired_interfaces_.clear();
    next_hops_.release();
    tables_.lpm_arena.reclaim();
    garbage_.clear();
}

void Routing::reclaim_neighbors() {
    std::set<AdjacencyId> used;
    next_hops_.for_each([&](NextHopId, const NextHops::Info& info) {
        if (info.hop.kind == NextHop::Kind::adjacency) used.insert(info.hop.index);
    });
    std::vector<AdjacencyId> unused;
    std::erase_if(pinned_, [&](const auto& item) {
        const bool goes = !used.contains(item.second);
        if (goes) unused.push_back(item.second);
        return goes;
    });
    if (unused.empty() && !scheduler_.resolver_has_retired()) return;
    std::vector<AdjacencyId> retired;
    scheduler_.ask_resolver([&](pipeline::Resolver& resolver, pipeline::Context&) {
        for (const AdjacencyId id : unused)
            resolver.unpin(id);
        retired = resolver.take_retired();
    });
    if (retired.empty()) return;
    scheduler_.synchronize();
    scheduler_.drain_rings();
    scheduler_.ask_resolver([&](pipeline::Resolver& resolver, pipeline::Context& context) {
        resolver.release(context, retired);
    });
}

std::optional<std::pair<std::string, std::string>> Routing::maintain() {
    reclaim_neighbors();
    const auto& statistics = scheduler_.resolver_statistics();
    const uint64_t conflicts = statistics.conflicts.load();
    const uint64_t news = conflicts - std::exchange(conflicts_told_, conflicts);
    const auto found = interface_of_id_.find(statistics.conflict_at.load());
    if (news == 0 || found == interface_of_id_.end()) return std::nullopt;
    return std::pair{found->second.first->wanted.name,
                     fmt::format("somebody else in network {} claims its address ({} messages)",
                                 found->second.second->wanted.network, news)};
}

}  // namespace heddle::control
