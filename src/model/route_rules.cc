#include "model/route_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/quote.h"
#include "model/address_rules.h"
#include "model/checks.h"
#include "net/format.h"

namespace heddle::model {
namespace {

const RouterInterface* interface_on(const Router& router, const std::string& network) {
    const auto found =
        std::find_if(router.interfaces.begin(), router.interfaces.end(),
                     [&](const RouterInterface& each) { return each.network == network; });
    return found != router.interfaces.end() ? &*found : nullptr;
}

/// Builds the next hops of one route.
class NextHops {
 public:
    NextHops(const net::IpPrefix& prefix, const Router& router, const Surroundings& surroundings,
             api::ProblemList& problems)
        : prefix_(prefix), router_(router), surroundings_(surroundings), problems_(problems) {}

    void add(const v1::NextHop& given, const std::string& path) {
        refused_ = false;
        NextHop hop;
        if (given.has_weight()) {
            hop.weight =
                checked<uint8_t>(given.weight(), kWeight, api::member(path, "weight"), problems_);
        }
        if (given.port().empty() == given.address().empty()) {
            refuse(path, "a next hop is an address or a port");
        } else if (!given.port().empty()) {
            if (!given.network().empty()) {
                refuse(api::member(path, "network"), "a port has its own");
            }
            by_port(given.port(), api::member(path, "port"), hop);
        } else {
            by_address(given, path, hop);
        }
        if (refused_) return;
        const auto same = [&](const NextHop& other) {
            return other.network == hop.network && other.address == hop.address;
        };
        if (std::any_of(hops_.begin(), hops_.end(), same)) {
            refuse(path, fmt::format("{} is given twice", hop.address));
            return;
        }
        hops_.push_back(hop);
    }

    std::vector<NextHop> take() { return std::move(hops_); }

 private:
    void refuse(const std::string& path, std::string message) {
        refused_ = true;
        problems_.add(path, std::move(message));
    }

    void by_port(const std::string& name, const std::string& path, NextHop& hop) {
        const Port* port = surroundings_.find_port(name);
        refused_ = port == nullptr;
        if (refused_) return;
        if (interface_on(router_, port->network) == nullptr) {
            refuse(path, fmt::format("the router has no interface on the network of port {}",
                                     api::quote_brief(name)));
            return;
        }
        hop.network = port->network;
        const auto fits = [&](const net::IpAddress& each) {
            return each.is_v4() == prefix_.is_v4();
        };
        const auto address = std::find_if(port->addresses.begin(), port->addresses.end(), fits);
        if (address == port->addresses.end()) {
            refuse(path, fmt::format("port {} states no mac and {} address of its host",
                                     api::quote_brief(name), family(prefix_.is_v4())));
            return;
        }
        hop.address = *address;
    }

    void by_address(const v1::NextHop& given, const std::string& path, NextHop& hop) {
        const std::string where = api::member(path, "address");
        const auto address = host_address(given.address(), where, problems_);
        refused_ = !address;
        if (refused_) return;
        hop.address = *address;
        if (address->is_v4() != prefix_.is_v4()) {
            refuse(where, fmt::format("{} is no next hop of an {} prefix", *address,
                                      family(prefix_.is_v4())));
            return;
        }
        if (address->is_v6() && address->is_link_local()) {
            link_local(given, path, hop);
            return;
        }
        const net::IpPrefix* subnet = nullptr;
        const RouterInterface* interface = nullptr;
        for (const RouterInterface& each : router_.interfaces) {
            for (const net::IpPrefix& own : each.addresses) {
                if (own.address() == *address) {
                    refuse(where, fmt::format("{} is the router's own address", *address));
                    return;
                }
                if (!own.contains(*address)) continue;
                subnet = &own;
                interface = &each;
            }
        }
        if (subnet == nullptr) {
            refuse(where, fmt::format("{} is in no subnet of the router's interfaces", *address));
            return;
        }
        if (const auto problem = reserved_in(*subnet, *address)) refuse(where, *problem);
        hop.network = interface->network;
        if (!given.network().empty() && given.network() != hop.network) {
            refuse(api::member(path, "network"),
                   fmt::format("{} is in network {}", *address, hop.network));
        }
    }

    void link_local(const v1::NextHop& given, const std::string& path, NextHop& hop) {
        const std::string where = api::member(path, "network");
        hop.network = given.network();
        if (given.network().empty()) {
            refuse(where, "must be given for a link-local address");
        } else if (interface_on(router_, given.network()) == nullptr) {
            refuse(where, fmt::format("the router has no interface on {}",
                                      api::quote_brief(given.network())));
        }
    }

    const net::IpPrefix& prefix_;
    const Router& router_;
    const Surroundings& surroundings_;
    api::ProblemList& problems_;
    std::vector<NextHop> hops_;
    bool refused_ = false;  ///< the next hop in hand
};

/// What stands in the way of a route to this prefix.
std::optional<std::string> prefix_problem(const net::IpPrefix& prefix) {
    if (prefix.has_host_bits()) {
        return fmt::format("{} has bits behind its prefix length; did you mean {}?", prefix,
                           prefix.network());
    }
    const net::IpAddress address = prefix.address();
    const bool multicast = address.is_multicast();
    if (multicast || (prefix.length() > 0 && address.is_loopback())) {
        return fmt::format("{} is not routed: {} addresses", prefix,
                           multicast ? "multicast" : "loopback");
    }
    if (prefix.length() >= 10 && address.is_v6() && address.is_link_local()) {
        return fmt::format("{} is not routed: link-local addresses", prefix);
    }
    return std::nullopt;
}

}  // namespace

std::optional<net::IpPrefix> route_prefix(const std::string& text, const std::string& path,
                                          api::ProblemList& problems) {
    const auto prefix = net::IpPrefix::parse(text);
    if (!prefix) {
        problems.add(path, text.empty() ? std::string("must be given")
                                        : fmt::format("expected a prefix such as 10.0.0.0/8 or "
                                                      "2001:db8::/32, got {}",
                                                      api::quote_brief(text)));
        return std::nullopt;
    }
    if (!check(prefix_problem(*prefix), path, problems)) return std::nullopt;
    return prefix;
}

std::optional<Route> validate_route(const v1::Route& given, const Router& router,
                                    const Surroundings& surroundings, const std::string& path,
                                    api::ProblemList& problems) {
    Route route;
    const auto prefix = route_prefix(given.prefix(), api::member(path, "prefix"), problems);
    if (given.has_distance()) {
        route.distance =
            checked<uint8_t>(given.distance(), kDistance, api::member(path, "distance"), problems);
    }
    const int targets = int{given.next_hops_size() != 0} + int{given.blackhole()} +
                        int{given.reject()} + int{!given.router().empty()};
    if (targets != 1) {
        problems.add(path, "a route has exactly one of next_hops, blackhole, reject, router");
    }
    if (!prefix) return std::nullopt;
    route.prefix = *prefix;
    if (given.blackhole()) {
        route.target = Blackhole{};
    } else if (given.reject()) {
        route.target = Reject{};
    } else if (!given.router().empty()) {
        if (given.router() == router.name) {
            problems.add(api::member(path, "router"), "is the router itself");
        }
        route.target = OtherRouter{given.router()};
    } else {
        const std::string where = api::member(path, "next_hops");
        if (static_cast<size_t>(given.next_hops_size()) > kMaxNextHops) {
            problems.add(where, fmt::format("{} next hops, at most {}", given.next_hops_size(),
                                            kMaxNextHops));
            return route;
        }
        NextHops hops(route.prefix, router, surroundings, problems);
        for (int i = 0; i < given.next_hops_size(); ++i) {
            hops.add(given.next_hops(i), api::element(where, static_cast<size_t>(i)));
        }
        route.target = hops.take();
    }
    return route;
}

}  // namespace heddle::model
