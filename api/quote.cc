#include "api/quote.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace heddle::api {
namespace {

constexpr size_t kBriefBytes = 80;

/// C0, DEL and C1: not printable, and a way to play tricks on a terminal.
bool is_control(std::string_view character) noexcept {
    const auto first = static_cast<uint8_t>(character[0]);
    if (character.size() == 1) return first < 0x20 || first == 0x7f;
    return first == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0;
}

void append_control(std::string& out, std::string_view character) {
    switch (character[0]) {
        case '\n':
            out += "\\n";
            return;
        case '\t':
            out += "\\t";
            return;
        case '\r':
            out += "\\r";
            return;
        default:
            fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                           static_cast<uint8_t>(character.back()));
    }
}

/// `also` has further characters to escape, with a backslash.
void append_escaped(std::string& out, std::string_view text, std::string_view also) {
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        const std::string_view character = text.substr(0, std::max<size_t>(length, 1));
        text.remove_prefix(character.size());
        if (length == 0) {
            out += "\\ufffd";
        } else if (is_control(character)) {
            append_control(out, character);
        } else {
            if (also.find(character[0]) != std::string_view::npos) out += '\\';
            out += character;
        }
    }
}

}  // namespace

size_t utf8_length(std::string_view text) noexcept {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
    if (text.empty()) return 0;
    if (byte(0) < 0x80) return 1;

    // RFC 3629, section 4: the second byte's range excludes overlong forms, surrogates and what is
    // beyond U+10FFFF.
    size_t length = 0;
    uint8_t low = 0x80;
    uint8_t high = 0xbf;
    if (byte(0) >= 0xc2 && byte(0) <= 0xdf) {
        length = 2;
    } else if ((byte(0) & 0xf0) == 0xe0) {
        length = 3;
        if (byte(0) == 0xe0) low = 0xa0;
        if (byte(0) == 0xed) high = 0x9f;
    } else if (byte(0) >= 0xf0 && byte(0) <= 0xf4) {
        length = 4;
        if (byte(0) == 0xf0) low = 0x90;
        if (byte(0) == 0xf4) high = 0x8f;
    }
    if (length == 0 || text.size() < length) return 0;
    if (byte(1) < low || byte(1) > high) return 0;
    for (size_t i = 2; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    return length;
}

std::string quote(std::string_view text) {
    std::string out = "\"";
    append_escaped(out, text, "\"\\");
    out += '"';
    return out;
}

std::string printable(std::string_view text) {
    std::string out;
    append_escaped(out, text, "");
    return out;
}

std::string quote_brief(std::string_view text) {
    if (text.size() <= kBriefBytes) return quote(text);
    size_t end = kBriefBytes;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80)
        --end;
    return quote(text.substr(0, end)) + "...";
}

}  // namespace heddle::api
