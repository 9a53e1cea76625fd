#include "model/tap_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/quote.h"
#include "model/address_rules.h"
#include "model/limits.h"
#include "model/mac_rules.h"
#include "model/names.h"
#include "net/format.h"

namespace heddle::model {
namespace {

std::optional<std::string> gateway_problem(const net::IpAddress& gateway,
                                           const std::vector<net::IpPrefix>& addresses) {
    if (auto problem = not_a_host(gateway)) return problem;
    const net::IpPrefix* subnet = nullptr;
    for (const net::IpPrefix& address : addresses) {
        if (address.address() == gateway) return "is the interface's own address";
        if (address.contains(gateway)) subnet = &address;
    }
    if (subnet != nullptr) return reserved_in(*subnet, gateway);
    if (gateway.is_v6() && gateway.is_link_local()) return std::nullopt;
    return fmt::format("{} is in no subnet of the interface's addresses", gateway);
}

std::vector<net::IpAddress> validate_gateways(const v1::Tap& tap,
                                              const std::vector<net::IpPrefix>& addresses,
                                              const std::string& path, api::ProblemList& problems) {
    std::vector<net::IpAddress> gateways;
    for (int i = 0; i < tap.gateways_size(); ++i) {
        const std::string where = api::element(path, static_cast<size_t>(i));
        const auto gateway = net::IpAddress::parse(tap.gateways(i));
        if (!gateway) {
            problems.add(where, fmt::format("expected an IP address, got {}",
                                            api::quote_brief(tap.gateways(i))));
            continue;
        }
        const auto same_family = [&](const net::IpAddress& other) {
            return other.is_v4() == gateway->is_v4();
        };
        if (std::any_of(gateways.begin(), gateways.end(), same_family)) {
            problems.add(where, fmt::format("a second {} gateway", family(gateway->is_v4())));
            continue;
        }
        if (const auto problem = gateway_problem(*gateway, addresses)) {
            problems.add(where, *problem);
            continue;
        }
        gateways.push_back(*gateway);
    }
    return gateways;
}

}  // namespace

Tap validate_tap(const v1::Tap& tap, uint32_t mtu, const std::string& path,
                 api::ProblemList& problems) {
    Tap result;
    result.persistent = tap.persistent();
    if (!tap.namespace_().empty()) {
        if (const auto problem = netns_problem(tap.namespace_())) {
            problems.add(api::member(path, "namespace"), *problem);
        } else {
            result.netns = netns_path(tap.namespace_());
        }
    }
    if (!tap.mac().empty()) {
        result.mac = unicast_mac(tap.mac(), api::member(path, "mac"), problems);
    }
    result.addresses =
        interface_addresses(tap.addresses(), api::member(path, "addresses"), problems);
    result.gateways =
        validate_gateways(tap, result.addresses, api::member(path, "gateways"), problems);

    const auto is_v6 = [](const net::IpPrefix& address) { return address.is_v6(); };
    if (mtu < kLeastIpv6Mtu &&
        std::any_of(result.addresses.begin(), result.addresses.end(), is_v6)) {
        problems.add(
            api::member(path, "addresses"),
            fmt::format("IPv6 needs an mtu of at least {}, the port's is {}", kLeastIpv6Mtu, mtu));
    }
    return result;
}

}  // namespace heddle::model
