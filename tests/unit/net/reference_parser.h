#pragma once

#include <span>
#include <string>

#include "net/parser.h"

namespace heddle::net {

/// What parse_frame() has to say about the first `head_length` bytes of `frame`, found the slow
/// way: the whole frame is walked with plain indices, the state after every header is kept together
/// with the number of bytes that had to be seen for it, and the answer is the last state that the
/// head allows.
ParsedHeaders reference_parse(std::span<const std::byte> frame, size_t head_length);

/// All fields as text, to compare and to read.
std::string describe(const ParsedHeaders& parsed);

}  // namespace heddle::net
