#include "net/ip_prefix.h"

#include <charconv>

namespace heddle::net {

template <class Address>
std::optional<Prefix<Address>> Prefix<Address>::parse(std::string_view text) noexcept {
    const size_t slash = text.find('/');
    if (slash == text.npos) return std::nullopt;
    const auto address = Address::parse(text.substr(0, slash));
    if (!address) return std::nullopt;

    const std::string_view digits = text.substr(slash + 1);
    if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
    uint8_t length = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, length);
    if (error != std::errc() || end != last || length > Address::kBits) return std::nullopt;
    return Prefix(*address, length);
}

template class Prefix<Ipv4Address>;
template class Prefix<Ipv6Address>;

std::optional<IpPrefix> IpPrefix::parse(std::string_view text) noexcept {
    if (const auto v4 = Ipv4Prefix::parse(text)) return *v4;
    if (const auto v6 = Ipv6Prefix::parse(text)) return *v6;
    return std::nullopt;
}

std::string IpPrefix::to_string() const {
    return is_v4() ? v4()->to_string() : v6()->to_string();
}

IpAddress IpPrefix::address() const noexcept {
    return is_v4() ? IpAddress(v4()->address()) : IpAddress(v6()->address());
}

unsigned IpPrefix::length() const noexcept {
    return is_v4() ? v4()->length() : v6()->length();
}

IpPrefix IpPrefix::network() const noexcept {
    return is_v4() ? IpPrefix(v4()->network()) : IpPrefix(v6()->network());
}

bool IpPrefix::has_host_bits() const noexcept {
    return is_v4() ? v4()->has_host_bits() : v6()->has_host_bits();
}

bool IpPrefix::contains(const IpAddress& address) const noexcept {
    if (const auto* prefix = v4()) return address.is_v4() && prefix->contains(*address.v4());
    return address.is_v6() && v6()->contains(*address.v6());
}

}  // namespace heddle::net
