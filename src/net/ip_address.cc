#include "net/ip_address.h"

#include <arpa/inet.h>

namespace heddle::net {
namespace {

/// inet_pton() wants a terminated string; a text with a NUL inside must not pass as its first half.
template <class Address>
std::optional<Address> parse_address(int family, std::string_view text) noexcept {
    char terminated[INET6_ADDRSTRLEN];
    if (text.size() >= sizeof(terminated) || text.find('\0') != text.npos) return std::nullopt;
    text.copy(terminated, text.size());
    terminated[text.size()] = '\0';
    Address address;
    if (inet_pton(family, terminated, &address) != 1) return std::nullopt;
    return address;
}

template <class Address>
std::string print_address(int family, const Address& address) {
    char text[INET6_ADDRSTRLEN];
    return inet_ntop(family, &address, text, sizeof(text));
}

}  // namespace

std::optional<Ipv4Address> Ipv4Address::parse(std::string_view text) noexcept {
    return parse_address<Ipv4Address>(AF_INET, text);
}

std::string Ipv4Address::to_string() const {
    return print_address(AF_INET, *this);
}

std::optional<Ipv6Address> Ipv6Address::parse(std::string_view text) noexcept {
    return parse_address<Ipv6Address>(AF_INET6, text);
}

std::string Ipv6Address::to_string() const {
    return print_address(AF_INET6, *this);
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) noexcept {
    if (const auto v4 = Ipv4Address::parse(text)) return *v4;
    if (const auto v6 = Ipv6Address::parse(text)) return *v6;
    return std::nullopt;
}

std::string IpAddress::to_string() const {
    return is_v4() ? v4()->to_string() : v6()->to_string();
}

}  // namespace heddle::net
