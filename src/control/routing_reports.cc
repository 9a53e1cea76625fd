// What Routing tells of itself, and what others tell it of routes.
#include <fmt/format.h>

#include <algorithm>

#include "api/problems.h"
#include "api/quote.h"
#include "control/routing.h"
#include "model/route_rules.h"
#include "net/format.h"

namespace heddle::control {

using forwarding::NextHop;
using forwarding::NextHopId;

namespace {

constexpr size_t kMaxSourceName = 15;

const char* kind_name(NextHop::Kind kind) {
    switch (kind) {
        case NextHop::Kind::none:
            return "none";
        case NextHop::Kind::adjacency:
            return "neighbor";
        case NextHop::Kind::attached:
            return "attached";
        case NextHop::Kind::receive:
            return "receive";
        case NextHop::Kind::blackhole:
            return "blackhole";
        case NextHop::Kind::reject:
            return "reject";
        case NextHop::Kind::group:
            return "group";
        case NextHop::Kind::router:
            return "router";
    }
    return "";
}

}  // namespace

// ---- Texts

const Routing::Interface* Routing::interface(forwarding::InterfaceId id) const {
    const auto found = interface_of_id_.find(id);
    return found != interface_of_id_.end() ? found->second.second : nullptr;
}

const Routing::Router* Routing::router(forwarding::RouterId id) const {
    const auto found = std::find_if(routers_.begin(), routers_.end(),
                                    [&](const auto& item) { return item.second->id == id; });
    return found != routers_.end() ? found->second.get() : nullptr;
}

std::string Routing::describe(const NextHop& hop) const {
    const auto on = [&] {
        const Interface* found = interface(hop.interface);
        return found != nullptr ? found->wanted.network : std::string("?");
    };
    switch (hop.kind) {
        case NextHop::Kind::adjacency:
            return fmt::format("via {} network {}", tables_.neighbors.at(hop.index).key.address(),
                               on());
        case NextHop::Kind::attached:
            return fmt::format("attached to network {}", on());
        case NextHop::Kind::receive:
            return fmt::format("the router itself, network {}", on());
        case NextHop::Kind::router: {
            const Router* found = router(static_cast<forwarding::RouterId>(hop.index));
            return fmt::format("router {}", found != nullptr ? found->wanted.name : "?");
        }
        default:
            return kind_name(hop.kind);
    }
}

std::string Routing::describe(const NextHops::Info& info) const {
    if (info.members.empty()) return describe(info.hop);
    std::vector<std::string> members;
    for (const NextHops::Member& member : info.members) {
        members.push_back(describe(member.hop) +
                          (member.weight == 1 ? "" : fmt::format(" weight {}", member.weight)));
    }
    return fmt::format("{}", fmt::join(members, ", "));
}

std::string Routing::source_name(NextHops::Source source) const {
    switch (source) {
        case route_source::kLocal:
            return "local";
        case route_source::kAttached:
            return "attached";
        case route_source::kStatic:
            return "static";
        default: {
            const size_t index = source - size_t{route_source::kFirstOther};
            return index < sources_.size() ? sources_[index] : "";
        }
    }
}

std::string Routing::owner_of(forwarding::BridgePortId bridge_port) const {
    const auto found = interface_of_id_.find(tables_.bridge_port(bridge_port).interface);
    return found == interface_of_id_.end() ? "" : "router " + found->second.first->wanted.name;
}

// ---- Reports

std::set<std::string> Routing::names() const {
    std::set<std::string> result;
    for (const auto& [name, router] : routers_)
        result.insert(name);
    return result;
}

void Routing::observe_routers(const std::function<bool(v1::RouterState&&)>& sink) const {
    for (const auto& [name, router] : routers_) {
        v1::RouterState state;
        state.set_name(name);
        state.set_mac(router->wanted.mac.to_string());
        state.set_interfaces(static_cast<uint32_t>(router->interfaces.size()));
        state.set_routes_ipv4(router->ipv4.size());
        state.set_routes_ipv6(router->ipv6.size());
        state.set_id(router->id);
        if (!sink(std::move(state))) return;
    }
}

void Routing::observe_routes(const std::set<std::string>& routers,
                             const std::function<bool(v1::RouteState&&)>& sink) const {
    bool more = true;
    for (const auto& [name, router] : routers_) {
        if (!routers.empty() && !routers.contains(name)) continue;
        const auto visit = [&, &router_name = name](const auto& prefix, NextHopId id, bool active) {
            if (!more) return;
            const NextHops::Info& info = next_hops_.info(id);
            v1::RouteState state;
            state.set_router(router_name);
            state.set_prefix(prefix.to_string());
            state.set_protocol(source_name(info.source));
            state.set_distance(info.distance);
            state.set_next_hop(describe(info));
            state.set_active(active);
            state.set_next_hop_id(id);
            more = sink(std::move(state));
        };
        router->ipv4.for_each(visit);
        router->ipv6.for_each(visit);
    }
}

void Routing::observe_next_hops(const std::function<bool(v1::NextHopState&&)>& sink) const {
    bool more = true;
    next_hops_.for_each([&](NextHopId id, const NextHops::Info& info) {
        if (!more) return;
        v1::NextHopState state;
        state.set_id(id);
        if (const auto found = interface_of_id_.find(info.hop.interface);
            found != interface_of_id_.end()) {
            state.set_router(found->second.first->wanted.name);
        }
        state.set_kind(kind_name(info.hop.kind));
        state.set_detail(describe(info));
        state.set_routes(info.routes);
        more = sink(std::move(state));
    });
}

// ---- Lookup

template <typename Address>
void Routing::look_up(const Router& start, const Address& address,
                      v1::LookupResponse& response) const {
    const auto say = [&](std::string step) { response.add_steps(std::move(step)); };
    const Router* current = &start;
    for (unsigned passed = 0; passed < forwarding::kMaxRouterHops; ++passed) {
        const auto longest = [&] {
            if constexpr (Address::kBits == net::Ipv4Address::kBits) {
                return current->vrf.ipv4.longest(address);
            } else {
                return current->vrf.ipv6.longest(address);
            }
        }();
        if (!longest) {
            say(fmt::format("router {}: no route; the sender is told", current->wanted.name));
            return;
        }
        const net::Prefix<Address> prefix = net::Prefix<Address>(address, longest->first).network();
        const NextHops::Info& info = next_hops_.info(longest->second);
        say(fmt::format("router {}: {} route {}: {}", current->wanted.name,
                        source_name(info.source), prefix, describe(info)));
        NextHop hop = info.hop;
        if (hop.kind == NextHop::Kind::group) {
            say("one of them, by the hash of the flow");
            return;
        }
        if (hop.kind == NextHop::Kind::router) {
            current = router(static_cast<forwarding::RouterId>(hop.index));
            if (current == nullptr) return;
            continue;
        }
        if (hop.kind != NextHop::Kind::adjacency && hop.kind != NextHop::Kind::attached) return;
        const Interface* out = interface(hop.interface);
        if (out == nullptr || out->published == nullptr) return;
        const forwarding::AdjacencyId adjacency =
            hop.kind == NextHop::Kind::adjacency
                ? hop.index
                : tables_.neighbors.find({out->published->bridge, address});
        const uint64_t link =
            adjacency == forwarding::kNoAdjacency ? 0 : tables_.neighbors.at(adjacency).link.load();
        const net::IpAddress neighbor = hop.kind == NextHop::Kind::adjacency
                                            ? tables_.neighbors.at(hop.index).key.address()
                                            : net::IpAddress(address);
        if (link == 0) {
            say(fmt::format("neighbour {}: not resolved; it is asked when a packet comes",
                            neighbor));
            return;
        }
        const net::MacAddress mac = forwarding::Adjacency::mac_of(link);
        say(fmt::format("neighbour {}: {}", neighbor, mac.to_string()));
        const forwarding::Fdb::Key key(out->published->bridge, mac.to_u64());
        const forwarding::FdbValue at = tables_.fdb.find(key, tables_.fdb.hash(key));
        const forwarding::BridgePort port = tables_.bridge_port(at.bridge_port);
        say(at.bridge_port == forwarding::kNoBridgePort
                ? fmt::format("network {}: to all ports, since none is known to have {}",
                              out->wanted.network, mac.to_string())
                : fmt::format("network {}: port {}", out->wanted.network,
                              name_of_port_(port.port)));
        return;
    }
    say("it would go round among routers");
}

v1::LookupResponse Routing::lookup(const v1::LookupRequest& request) const {
    v1::LookupResponse response;
    const auto router = routers_.find(request.router());
    const auto address = net::IpAddress::parse(request.address());
    if (router == routers_.end()) {
        response.set_problem(
            fmt::format("no router is named {}", api::quote_brief(request.router())));
    } else if (!address) {
        response.set_problem(
            fmt::format("expected an IP address, got {}", api::quote_brief(request.address())));
    } else if (const auto* v4 = address->v4()) {
        look_up(*router->second, *v4, response);
    } else {
        look_up(*router->second, *address->v6(), response);
    }
    return response;
}

// ---- Routes of others

NextHops::Source Routing::source_number(const std::string& name) {
    const auto found = std::find(sources_.begin(), sources_.end(), name);
    const auto index = static_cast<size_t>(found - sources_.begin());
    if (found == sources_.end()) {
        if (index > size_t{route_source::kLastOther} - route_source::kFirstOther) return 0;
        sources_.push_back(name);
    }
    return static_cast<NextHops::Source>(route_source::kFirstOther + index);
}

Routing::Updated Routing::update_routes(const v1::RouteUpdate& update, const std::string& path) {
    Updated result;
    api::ProblemList problems;
    const auto router = routers_.find(update.router());
    const std::string& name = update.source();
    const bool reserved = name == "local" || name == "attached" || name == "static";
    NextHops::Source source = 0;
    if (router == routers_.end()) {
        problems.add(api::member(path, "router"),
                     fmt::format("no router is named {}", api::quote_brief(update.router())));
    } else if (name.empty() || name.size() > kMaxSourceName || reserved) {
        problems.add(api::member(path, "source"),
                     fmt::format("must have 1 to {} characters and not be a source of Heddle's own",
                                 kMaxSourceName));
    } else if ((source = source_number(name)) == 0) {
        problems.add(api::member(path, "source"), "there are too many sources");
    }
    if (!problems.empty()) {
        result.problems = problems.take();
        return result;
    }
    Router& target = *router->second;
    const model::Surroundings nothing{[](const std::string&) { return nullptr; },
                                      [](const std::string&) { return nullptr; }};
    for (int i = 0; i < update.withdrawn_size(); ++i) {
        const std::string where = api::element(api::member(path, "withdrawn"), i);
        const auto prefix = model::route_prefix(update.withdrawn(i), where, problems);
        if (prefix && remove(target, *prefix, source, 0)) ++result.withdrawn;
    }
    for (int i = 0; i < update.routes_size(); ++i) {
        const v1::Route& given = update.routes(i);
        const std::string where = api::element(api::member(path, "routes"), i);
        const bool refers = !given.router().empty() ||
                            std::any_of(given.next_hops().begin(), given.next_hops().end(),
                                        [](const v1::NextHop& hop) { return !hop.port().empty(); });
        if (refers) {
            problems.add(where, "only a route of the topology can name a port or another router");
            continue;
        }
        api::ProblemList own;
        const auto route = model::validate_route(given, target.wanted, nothing, where, own);
        if (!own.empty() || !route) {
            for (const v1::Problem& problem : own.take())
                problems.add(problem.path(), problem.message());
            continue;
        }
        try {
            add(target, route->prefix, members(target, *route), source, route->distance);
            ++result.added;
        } catch (const std::bad_alloc&) {
            problems.add(where, "no room: a table is full");
        }
    }
    result.problems = problems.take();
    return result;
}

}  // namespace heddle::control
