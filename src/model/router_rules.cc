#include "model/router_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/quote.h"
#include "model/address_rules.h"
#include "model/checks.h"
#include "model/mac_rules.h"
#include "model/names.h"
#include "model/route_rules.h"
#include "net/format.h"
#include "net/hash_mix.h"

namespace heddle::model {
namespace {

/// The same after every restart and on every host, so that neighbours need not learn it anew.
net::MacAddress mac_of_name(const std::string& name) {
    uint64_t hash = 0x48656464'6c65ULL;
    for (const char c : name)
        hash = net::mix64(hash ^ static_cast<unsigned char>(c));
    constexpr uint8_t kLocallyAdministered = 0x02;
    return {kLocallyAdministered,
            static_cast<uint8_t>(hash),
            static_cast<uint8_t>(hash >> 8),
            static_cast<uint8_t>(hash >> 16),
            static_cast<uint8_t>(hash >> 24),
            static_cast<uint8_t>(hash >> 32)};
}

bool overlap(const net::IpPrefix& a, const net::IpPrefix& b) {
    return a.contains(b.address()) || b.contains(a.address());
}

class RouterValidation {
 public:
    RouterValidation(const v1::Router& given, const Surroundings& surroundings, std::string path,
                     api::ProblemList& problems)
        : given_(given), surroundings_(surroundings), path_(std::move(path)), problems_(problems) {}

    Router run() {
        result_.name = given_.name();
        check(object_name_problem(given_.name()), api::member(path_, "name"), problems_);
        result_.mac = mac_of_name(given_.name());
        if (!given_.mac().empty()) {
            if (const auto mac = unicast_mac(given_.mac(), api::member(path_, "mac"), problems_)) {
                result_.mac = *mac;
            }
        }
        interfaces();
        routes();
        return std::move(result_);
    }

 private:
    void interfaces() {
        std::set<std::string> networks;
        for (int i = 0; i < given_.interfaces_size(); ++i) {
            const v1::RouterInterface& given = given_.interfaces(i);
            const std::string where =
                api::element(api::member(path_, "interfaces"), static_cast<size_t>(i));
            if (given.network().empty()) {
                problems_.add(api::member(where, "network"), "must be given");
            } else if (!networks.insert(given.network()).second) {
                problems_.add(api::member(where, "network"),
                              fmt::format("the router has an interface on {} already; an interface "
                                          "can have several addresses",
                                          given.network()));
            }
            result_.interfaces.push_back(interface(given, where));
        }
    }

    RouterInterface interface(const v1::RouterInterface& given, const std::string& where) {
        RouterInterface result;
        result.network = given.network();
        const std::string path = api::member(where, "addresses");
        if (given.addresses().empty()) problems_.add(path, "must be given");
        result.addresses = interface_addresses(given.addresses(), path, problems_);
        for (const net::IpPrefix& address : result.addresses)
            check_subnet(address, result, path);
        const auto is_v6 = [](const net::IpPrefix& address) { return address.is_v6(); };
        const Network* network = surroundings_.find_network(given.network());
        if (network != nullptr && network->mtu < kLeastIpv6Mtu &&
            std::any_of(result.addresses.begin(), result.addresses.end(), is_v6)) {
            problems_.add(path,
                          fmt::format("IPv6 needs an mtu of at least {}, that of network {} is {}",
                                      kLeastIpv6Mtu, network->name, network->mtu));
        }
        switch (given.reverse_path()) {
            case v1::RouterInterface::OFF:
                break;
            case v1::RouterInterface::LOOSE:
                result.reverse_path = ReversePath::loose;
                break;
            case v1::RouterInterface::STRICT:
                result.reverse_path = ReversePath::strict;
                break;
            default:
                problems_.add(api::member(where, "reverse_path"), "must be OFF, LOOSE or STRICT");
        }
        if (given.has_router_advertisement()) {
            result.advertisement = advertisement(given.router_advertisement(),
                                                 api::member(where, "router_advertisement"));
        }
        return result;
    }

    /// Within an interface a subnet may have several addresses; otherwise subnets are disjoint.
    void check_subnet(const net::IpPrefix& address, const RouterInterface& own,
                      const std::string& path) {
        if (address.address().is_v6() && address.address().is_link_local()) {
            problems_.add(path, fmt::format("{}: the link-local address is made from the MAC "
                                            "address",
                                            address.address()));
        }
        const auto refuse = [&](const net::IpPrefix& other, const std::string& network) {
            problems_.add(path, fmt::format("subnet {} overlaps {} of the interface on {}",
                                            address.network(), other.network(), network));
        };
        for (const net::IpPrefix& other : own.addresses) {
            if (&other >= &address) break;
            if (overlap(address, other) && other.network() != address.network()) {
                refuse(other, own.network);
            }
        }
        for (const RouterInterface& interface : result_.interfaces) {
            for (const net::IpPrefix& other : interface.addresses) {
                if (overlap(address, other)) refuse(other, interface.network);
            }
        }
    }

    RouterAdvertisement advertisement(const v1::RouterAdvertisement& given,
                                      const std::string& where) {
        RouterAdvertisement result;
        result.managed = given.managed();
        result.other_config = given.other_config();
        result.autonomous = !given.no_autonomous();
        result.interval = checked<uint16_t>(
            given.has_interval() ? given.interval() : kDefaultAdvertisementInterval,
            kAdvertisementInterval, api::member(where, "interval"), problems_);
        const uint32_t lifetime = given.has_lifetime() ? given.lifetime() : 3U * result.interval;
        if (lifetime != 0 && (lifetime < result.interval || lifetime > kLongestRouterLifetime)) {
            problems_.add(api::member(where, "lifetime"),
                          fmt::format("must be 0 or {} (the interval) to {}, is {}",
                                      result.interval, kLongestRouterLifetime, lifetime));
        }
        result.lifetime = static_cast<uint16_t>(lifetime);
        return result;
    }

    void routes() {
        std::set<std::pair<net::IpPrefix, uint8_t>> seen;
        for (int i = 0; i < given_.routes_size(); ++i) {
            const std::string where =
                api::element(api::member(path_, "routes"), static_cast<size_t>(i));
            auto route = validate_route(given_.routes(i), result_, surroundings_, where, problems_);
            if (!route) continue;
            if (!seen.emplace(route->prefix, route->distance).second) {
                problems_.add(api::member(where, "prefix"),
                              fmt::format("a second route to {} with distance {}", route->prefix,
                                          route->distance));
                continue;
            }
            result_.routes.push_back(std::move(*route));
        }
    }

    const v1::Router& given_;
    const Surroundings& surroundings_;
    const std::string path_;
    api::ProblemList& problems_;
    Router result_;
};

}  // namespace

Router validate_router(const v1::Router& router, const Surroundings& surroundings,
                       const std::string& path, api::ProblemList& problems) {
    return RouterValidation(router, surroundings, path, problems).run();
}

}  // namespace heddle::model
