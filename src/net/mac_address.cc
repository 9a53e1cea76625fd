#include "net/mac_address.h"

#include <charconv>

namespace heddle::net {

std::optional<MacAddress> MacAddress::parse(std::string_view text) noexcept {
    constexpr size_t kTextLength = 17;
    if (text.size() != kTextLength) return std::nullopt;
    std::array<uint8_t, 6> bytes;
    for (size_t i = 0; i < bytes.size(); ++i) {
        const char* pair = text.data() + 3 * i;
        if (i > 0 && pair[-1] != ':') return std::nullopt;
        const auto [end, error] = std::from_chars(pair, pair + 2, bytes[i], 16);
        if (error != std::errc() || end != pair + 2) return std::nullopt;
    }
    return MacAddress(bytes);
}

std::string MacAddress::to_string() const {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(17);
    for (const uint8_t byte : bytes_) {
        if (!text.empty()) text += ':';
        text += kDigits[byte >> 4];
        text += kDigits[byte & 0x0f];
    }
    return text;
}

}  // namespace heddle::net
