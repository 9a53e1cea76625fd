#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "model/router_rules.h"
#include "net/format.h"

namespace heddle::model {
namespace {

/// Who has an address, or a MAC address, in each network.
class Owners {
 public:
    explicit Owners(api::ProblemList& problems) : problems_(problems) {}

    void add(const std::string& network, const net::IpAddress& address, const std::string& owner,
             const std::string& path) {
        claim(addresses_, network, address, owner, path);
    }
    void add(const std::string& network, const net::MacAddress& mac, const std::string& owner,
             const std::string& path) {
        claim(macs_, network, mac, owner, path);
    }

 private:
    template <typename Address>
    using Map = std::map<std::pair<std::string, Address>, std::string>;

    template <typename Address>
    void claim(Map<Address>& map, const std::string& network, const Address& address,
               const std::string& owner, const std::string& path) {
        const auto [it, is_new] = map.emplace(std::pair{network, address}, owner);
        if (is_new || it->second == owner) return;
        problems_.add(path, fmt::format("{} is also that of {} in network {}", address.to_string(),
                                        it->second, network));
    }

    Map<net::IpAddress> addresses_;
    Map<net::MacAddress> macs_;
    api::ProblemList& problems_;
};

void check_owners(const Topology& topology, const ObjectPaths& paths, api::ProblemList& problems) {
    Owners owners(problems);
    for (size_t i = 0; i < topology.routers.size(); ++i) {
        const Router& router = topology.routers[i];
        const std::string path = paths.of("routers", i);
        for (size_t k = 0; k < router.interfaces.size(); ++k) {
            const RouterInterface& interface = router.interfaces[k];
            const std::string where = api::element(api::member(path, "interfaces"), k);
            for (const net::IpPrefix& address : interface.addresses) {
                owners.add(interface.network, address.address(), "router " + router.name,
                           api::member(where, "addresses"));
            }
            owners.add(interface.network, router.mac, "router " + router.name,
                       api::member(path, "mac"));
        }
    }
    for (size_t i = 0; i < topology.networks.size(); ++i) {
        const Network& network = topology.networks[i];
        for (const StaticFdbEntry& entry : network.static_fdb) {
            owners.add(network.name, entry.mac, "port " + entry.port,
                       api::member(paths.of("networks", i), "static_fdb"));
        }
    }
    for (size_t i = 0; i < topology.ports.size(); ++i) {
        const Port& port = topology.ports[i];
        const std::string path = paths.of("ports", i);
        std::set<std::string> networks;
        if (!port.network.empty()) networks.insert(port.network);
        for (const TrunkVlan& vlan : port.vlans)
            networks.insert(vlan.network);
        for (const std::string& network : networks) {
            for (const net::IpAddress& address : port.addresses) {
                owners.add(network, address, "port " + port.name, api::member(path, "addresses"));
            }
            if (port.mac) {
                owners.add(network, *port.mac, "port " + port.name, api::member(path, "mac"));
            }
        }
    }
}

/// Finds a destination that routers would pass around for ever. Which way packets go changes only
/// where a prefix begins or ends, so it is enough to follow one destination for each such place.
class LeakLoops {
 public:
    LeakLoops(const Topology& topology, const ObjectPaths& paths, api::ProblemList& problems)
        : topology_(topology), paths_(paths), problems_(problems) {
        for (size_t i = 0; i < topology.routers.size(); ++i) {
            index_[topology.routers[i].name] = i;
            for (size_t k = 0; k < topology.routers[i].routes.size(); ++k) {
                const Route& route = topology.routers[i].routes[k];
                keep_best(i, route.prefix, {k, route.distance});
            }
            for (const RouterInterface& interface : topology.routers[i].interfaces) {
                for (const net::IpPrefix& address : interface.addresses)
                    keep_best(i, address.network(), {kAttached, 0});
            }
        }
        for (size_t i = 0; i < topology.routers.size(); ++i) {
            for (const Route& route : topology.routers[i].routes) {
                const auto* leak = std::get_if<OtherRouter>(&route.target);
                const auto target = leak != nullptr ? index_.find(leak->name) : index_.end();
                if (target != index_.end()) leaks_[i].insert(target->second);
            }
        }
    }

    void run() {
        drop_dead_ends();
        if (leaks_.empty()) return;
        const std::vector<size_t> routers = starts();
        for (const net::IpAddress& destination : places()) {
            reached_.clear();
            for (const size_t router : routers) {
                if (steps_ > kMaxSteps) return;
                follow(router, destination);
            }
        }
    }

 private:
    static constexpr size_t kAttached = SIZE_MAX;
    /// Where thousands of routers lead to each other the rest is left to workers, who let a packet
    /// pass no more than a few of them.
    static constexpr size_t kMaxSteps = 3'000'000;

    struct Best {
        size_t route;  ///< index in the router, or kAttached
        uint8_t distance;
    };

    /// Leaves the routers from which a loop can be reached, and those in it.
    void drop_dead_ends() {
        for (bool changed = true; changed;) {
            changed = false;
            for (auto it = leaks_.begin(); it != leaks_.end();) {
                std::erase_if(it->second, [&](size_t to) { return !leaks_.contains(to); });
                const bool dead = it->second.empty();
                changed = changed || dead;
                it = dead ? leaks_.erase(it) : std::next(it);
            }
        }
    }

    /// Routers of which every loop has at least one: one that leaks to a single other may be left
    /// out if that is not. So of a hub and its spokes only the hub remains.
    std::vector<size_t> starts() const {
        std::set<size_t> left_out;
        std::vector<size_t> result;
        for (const auto& [router, targets] : leaks_) {
            if (targets.size() == 1 && !left_out.contains(*targets.begin())) {
                left_out.insert(router);
            } else {
                result.push_back(router);
            }
        }
        return result;
    }

    /// An address behind each beginning and each end of a prefix.
    std::set<net::IpAddress> places() const {
        std::set<net::IpAddress> result;
        for (const auto& [router, targets] : leaks_) {
            for (const auto& [prefix, best] : best_.at(router)) {
                result.insert(prefix.address());
                if (const auto next = behind(prefix)) result.insert(*next);
            }
        }
        return result;
    }

    static std::optional<net::IpAddress> behind(const net::IpPrefix& prefix) {
        if (const auto* v4 = prefix.v4()) {
            const uint64_t next =
                v4->address().value() + (uint64_t{1} << (net::Ipv4Address::kBits - v4->length()));
            if (next > UINT32_MAX) return std::nullopt;
            return net::Ipv4Address(net::be32_t(static_cast<uint32_t>(next)));
        }
        auto bytes = prefix.v6()->address().bytes();
        const unsigned length = prefix.length();
        if (length == 0) return std::nullopt;
        unsigned carry = 1U << (7 - (length - 1) % 8);
        for (unsigned i = (length - 1) / 8 + 1; i-- > 0 && carry != 0;) {
            carry += bytes[i];
            bytes[i] = static_cast<uint8_t>(carry);
            carry >>= 8;
        }
        if (carry != 0) return std::nullopt;
        return net::Ipv6Address(bytes);
    }

    void keep_best(size_t router, const net::IpPrefix& prefix, Best best) {
        const auto [it, is_new] = best_[router].emplace(prefix, best);
        if (!is_new && best.distance < it->second.distance) it->second = best;
        lengths_[router][prefix.is_v4() ? 0 : 1].insert(prefix.length());
    }

    /// The route a router would take, or kAttached, or nothing.
    const Best* lookup(size_t router, const net::IpAddress& address) const {
        const auto lengths = lengths_.find(router);
        if (lengths == lengths_.end()) return nullptr;
        const auto& table = best_.at(router);
        const std::set<unsigned>& of_family = lengths->second[address.is_v4() ? 0 : 1];
        for (auto it = of_family.rbegin(); it != of_family.rend(); ++it) {
            const net::IpPrefix prefix =
                address.is_v4() ? net::IpPrefix(net::Ipv4Prefix(*address.v4(), *it).network())
                                : net::IpPrefix(net::Ipv6Prefix(*address.v6(), *it).network());
            const auto found = table.find(prefix);
            if (found != table.end()) return &found->second;
        }
        return nullptr;
    }

    /// Goes on until a router that was reached before: if on this way, it is a loop.
    void follow(size_t start, const net::IpAddress& destination) {
        std::vector<size_t> way;
        for (size_t router = start;;) {
            const auto [reached, is_new] = reached_.emplace(router, start);
            if (!is_new) {
                if (reached->second == start) report(router, way, destination);
                return;
            }
            ++steps_;
            const Best* best = lookup(router, destination);
            if (best == nullptr || best->route == kAttached) return;
            const Route& route = topology_.routers[router].routes[best->route];
            const auto* leak = std::get_if<OtherRouter>(&route.target);
            if (leak == nullptr) return;
            way.push_back(router);
            const auto next = index_.find(leak->name);
            if (next == index_.end()) return;  // reported as a dangling reference
            router = next->second;
        }
    }

    /// `way` leads to `router` and from there back to it.
    void report(size_t router, const std::vector<size_t>& way, const net::IpAddress& destination) {
        const size_t route = lookup(router, destination)->route;
        if (!reported_.emplace(router, route).second) return;
        std::string text;
        for (auto it = std::find(way.begin(), way.end(), router); it != way.end(); ++it)
            text += topology_.routers[*it].name + " -> ";
        const std::string path =
            api::element(api::member(paths_.of("routers", router), "routes"), route);
        problems_.add(path, fmt::format("a packet to {} would go round: {}{}", destination, text,
                                        topology_.routers[router].name));
    }

    const Topology& topology_;
    const ObjectPaths& paths_;
    api::ProblemList& problems_;
    std::unordered_map<size_t, std::map<net::IpPrefix, Best>> best_;
    std::unordered_map<size_t, std::array<std::set<unsigned>, 2>> lengths_;
    std::unordered_map<std::string, size_t> index_;
    std::map<size_t, std::set<size_t>> leaks_;  ///< router -> routers it leaks to
    std::set<std::pair<size_t, size_t>> reported_;
    std::unordered_map<size_t, size_t> reached_;  ///< router -> start of the walk, for one place
    size_t steps_ = 0;
};

}  // namespace

void check_routers_together(const Topology& topology, const ObjectPaths& paths,
                            api::ProblemList& problems) {
    check_owners(topology, paths, problems);
    LeakLoops(topology, paths, problems).run();
}

}  // namespace heddle::model
