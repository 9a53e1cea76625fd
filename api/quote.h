#pragma once

#include <string>
#include <string_view>

namespace heddle::api {

/// `text` as a JSON string, which is also a double-quoted YAML scalar: quotes, backslashes and
/// control characters (C0, DEL, C1) escaped, bytes that are not UTF-8 replaced by U+FFFD.
std::string quote(std::string_view text);

/// The same for a message to a person: what is long is cut.
std::string quote_brief(std::string_view text);

/// `text` for a terminal: as it is, except that control characters and what is not UTF-8 are
/// escaped as in quote().
std::string printable(std::string_view text);

/// Number of bytes of the UTF-8 character `text` begins with; 0 if it begins with none.
size_t utf8_length(std::string_view text) noexcept;

}  // namespace heddle::api
