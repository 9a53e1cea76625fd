#include "model/tap_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/quote.h"
#include "model/limits.h"
#include "model/mac_rules.h"
#include "model/names.h"
#include "net/format.h"

namespace heddle::model {
namespace {

const char* family(bool is_v4) {
    return is_v4 ? "IPv4" : "IPv6";
}

/// An address that no host can have, whatever its subnet.
std::optional<std::string> not_a_host(const net::IpAddress& address) {
    if (address.is_unspecified()) return fmt::format("{} is no host's address", address);
    if (address.is_multicast()) return fmt::format("{} is a multicast address", address);
    if (address.is_loopback()) return fmt::format("{} is a loopback address", address);
    if (address.is_v4() && address.v4()->is_broadcast()) {
        return fmt::format("{} is the broadcast address", address);
    }
    return std::nullopt;
}

/// The first and last addresses of a subnet mean the subnet itself and all of its hosts (RFC 919);
/// the first one of IPv6 is any router (RFC 4291, 2.6.1). Point-to-point subnets have neither (RFC
/// 3021, RFC 6164).
std::optional<std::string> reserved_in(const net::IpPrefix& subnet, const net::IpAddress& address) {
    if (subnet.length() + 1 >= address.bits()) return std::nullopt;
    if (subnet.network().address() == address) {
        return fmt::format("{} is the address of the subnet {} itself", address, subnet.network());
    }
    if (const auto* v4 = address.v4()) {
        const uint32_t hosts = ~net::Ipv4Address::mask(subnet.length()).value();
        if ((v4->value() & hosts) == hosts) {
            return fmt::format("{} is the broadcast address of {}", address, subnet.network());
        }
    }
    return std::nullopt;
}

std::optional<std::string> address_problem(const net::IpPrefix& prefix) {
    if (const auto problem = not_a_host(prefix.address())) return problem;
    if (prefix.length() == 0) return "a subnet with prefix length 0 has everybody in it";
    return reserved_in(prefix, prefix.address());
}

std::vector<net::IpPrefix> validate_addresses(const v1::Tap& tap, const std::string& path,
                                              api::ProblemList& problems) {
    std::vector<net::IpPrefix> addresses;
    if (static_cast<size_t>(tap.addresses_size()) > kMaxAddresses) {
        problems.add(path,
                     fmt::format("{} addresses, at most {}", tap.addresses_size(), kMaxAddresses));
        return addresses;
    }
    for (int i = 0; i < tap.addresses_size(); ++i) {
        const std::string& text = tap.addresses(i);
        const std::string where = api::element(path, static_cast<size_t>(i));
        const auto prefix = net::IpPrefix::parse(text);
        if (!prefix) {
            problems.add(where, net::IpAddress::parse(text)
                                    ? fmt::format("{} lacks its prefix length, such as /24", text)
                                    : fmt::format("expected an address with prefix length such as "
                                                  "10.0.0.1/24 or fd00::1/64, got {}",
                                                  api::quote_brief(text)));
            continue;
        }
        if (const auto problem = address_problem(*prefix)) {
            problems.add(where, *problem);
            continue;
        }
        const auto same = [&](const net::IpPrefix& other) {
            return other.address() == prefix->address();
        };
        if (std::any_of(addresses.begin(), addresses.end(), same)) {
            problems.add(where, fmt::format("{} is given twice", prefix->address()));
            continue;
        }
        addresses.push_back(*prefix);
    }
    return addresses;
}

std::optional<std::string> gateway_problem(const net::IpAddress& gateway,
                                           const std::vector<net::IpPrefix>& addresses) {
    if (const auto problem = not_a_host(gateway)) return problem;
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
    result.addresses = validate_addresses(tap, api::member(path, "addresses"), problems);
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
