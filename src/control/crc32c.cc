#include "control/crc32c.h"

#include <array>

namespace heddle::control {
namespace {

constexpr uint32_t kReversedPolynomial = 0x82f63b78;

constexpr std::array<uint32_t, 256> make_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < table.size(); ++byte) {
        uint32_t remainder = byte;
        for (int bit = 0; bit < 8; ++bit) {
            remainder = (remainder >> 1U) ^ ((remainder & 1U) != 0 ? kReversedPolynomial : 0);
        }
        table[byte] = remainder;
    }
    return table;
}

constexpr auto kTable = make_table();

}  // namespace

uint32_t crc32c(std::string_view bytes) noexcept {
    uint32_t crc = ~0U;
    for (const char byte : bytes) {
        crc = (crc >> 8U) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xffU];
    }
    return ~crc;
}

}  // namespace heddle::control
