#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::control {

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4). Of "123456789" it is 0xe3069283.
uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace heddle::control
