#include "model/address_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/quote.h"
#include "model/limits.h"
#include "net/format.h"

namespace heddle::model {
namespace {

std::optional<std::string> interface_address_problem(const net::IpPrefix& prefix) {
    if (auto problem = not_a_host(prefix.address())) return problem;
    if (prefix.length() == 0) return "a subnet with prefix length 0 has everybody in it";
    return reserved_in(prefix, prefix.address());
}

std::string without_length(const std::string& text) {
    if (net::IpAddress::parse(text)) {
        return fmt::format("{} lacks its prefix length, such as /24", text);
    }
    return fmt::format(
        "expected an address with prefix length such as 10.0.0.1/24 or fd00::1/64, got {}",
        api::quote_brief(text));
}

}  // namespace

std::optional<std::string> not_a_host(const net::IpAddress& address) {
    if (address.is_unspecified()) return fmt::format("{} is no host's address", address);
    if (address.is_multicast()) return fmt::format("{} is a multicast address", address);
    if (address.is_loopback()) return fmt::format("{} is a loopback address", address);
    if (address.is_v4() && address.v4()->is_broadcast()) {
        return fmt::format("{} is the broadcast address", address);
    }
    return std::nullopt;
}

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

std::optional<net::IpAddress> host_address(const std::string& text, const std::string& path,
                                           api::ProblemList& problems) {
    const auto address = net::IpAddress::parse(text);
    if (!address) {
        problems.add(path, fmt::format("expected an IP address, got {}", api::quote_brief(text)));
        return std::nullopt;
    }
    if (const auto problem = not_a_host(*address)) {
        problems.add(path, *problem);
        return std::nullopt;
    }
    return address;
}

std::vector<net::IpPrefix> interface_addresses(
    const google::protobuf::RepeatedPtrField<std::string>& texts, const std::string& path,
    api::ProblemList& problems) {
    std::vector<net::IpPrefix> addresses;
    if (static_cast<size_t>(texts.size()) > kMaxAddresses) {
        problems.add(path, fmt::format("{} addresses, at most {}", texts.size(), kMaxAddresses));
        return addresses;
    }
    for (int i = 0; i < texts.size(); ++i) {
        const std::string where = api::element(path, static_cast<size_t>(i));
        const auto prefix = net::IpPrefix::parse(texts[i]);
        if (!prefix) {
            problems.add(where, without_length(texts[i]));
            continue;
        }
        if (const auto problem = interface_address_problem(*prefix)) {
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

}  // namespace heddle::model
