#pragma once

#include <google/protobuf/repeated_field.h>

#include <optional>
#include <string>
#include <vector>

#include "api/problems.h"
#include "net/ip_address.h"
#include "net/ip_prefix.h"

/// Rules of IP addresses. Functions that answer a text say what is wrong, or nothing.
namespace heddle::model {

/// "IPv4" or "IPv6".
inline const char* family(bool is_v4) {
    return is_v4 ? "IPv4" : "IPv6";
}

/// An address that no host can have, whatever its subnet.
std::optional<std::string> not_a_host(const net::IpAddress& address);

/// The first and last addresses of a subnet mean the subnet itself and all of its hosts (RFC 919);
/// the first one of IPv6 is any router (RFC 4291, 2.6.1). Point-to-point subnets have neither (RFC
/// 3021, RFC 6164).
std::optional<std::string> reserved_in(const net::IpPrefix& subnet, const net::IpAddress& address);

/// The address of a host, or a problem.
std::optional<net::IpAddress> host_address(const std::string& text, const std::string& path,
                                           api::ProblemList& problems);

/// Addresses of an interface with their prefix lengths, at most kMaxAddresses, none twice.
std::vector<net::IpPrefix> interface_addresses(
    const google::protobuf::RepeatedPtrField<std::string>& texts, const std::string& path,
    api::ProblemList& problems);

}  // namespace heddle::model
