#pragma once

#include <fmt/format.h>

#include "net/ip_address.h"
#include "net/ip_prefix.h"
#include "net/mac_address.h"

// fmt formatters of the value types, apart from them so that headers of the data path do not pull
// in fmt. They take the format specification of strings: "{:>17}".

namespace heddle::net {

template <class T>
struct ToStringFormatter : fmt::formatter<fmt::string_view> {
    template <class Context>
    auto format(const T& value, Context& context) const {
        return fmt::formatter<fmt::string_view>::format(value.to_string(), context);
    }
};

}  // namespace heddle::net

template <>
struct fmt::formatter<heddle::net::MacAddress>
    : heddle::net::ToStringFormatter<heddle::net::MacAddress> {};
template <>
struct fmt::formatter<heddle::net::Ipv4Address>
    : heddle::net::ToStringFormatter<heddle::net::Ipv4Address> {};
template <>
struct fmt::formatter<heddle::net::Ipv6Address>
    : heddle::net::ToStringFormatter<heddle::net::Ipv6Address> {};
template <>
struct fmt::formatter<heddle::net::IpAddress>
    : heddle::net::ToStringFormatter<heddle::net::IpAddress> {};
template <class Address>
struct fmt::formatter<heddle::net::Prefix<Address>>
    : heddle::net::ToStringFormatter<heddle::net::Prefix<Address>> {};
template <>
struct fmt::formatter<heddle::net::IpPrefix>
    : heddle::net::ToStringFormatter<heddle::net::IpPrefix> {};
