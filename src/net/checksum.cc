#include "net/checksum.h"

#include <cassert>
#include <cstring>

#include "net/ipv4.h"

namespace heddle::net {
namespace detail {
namespace {

/// Reads through memcpy: any alignment, and no aliasing of the message with integers. Checksum code
/// that casts pointers instead has been miscompiled (field case 1.13).
template <class T>
uint64_t load(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

}  // namespace

uint32_t sum_bytes(std::span<const std::byte> bytes) noexcept {
    const std::byte* next = bytes.data();
    size_t left = bytes.size();

    // Each 64-bit word is added as two halves, so that carries pile up in the upper half of the
    // accumulators instead of being chained from one addition to the next.
    uint64_t even = 0;
    uint64_t odd = 0;
    for (; left >= 32; left -= 32, next += 32) {
        for (size_t i = 0; i < 32; i += 8) {
            const uint64_t word = load<uint64_t>(next + i);
            even += word & 0xffffffff;
            odd += word >> 32;
        }
    }
    uint64_t sum = even + odd;
    for (; left >= 4; left -= 4, next += 4)
        sum += load<uint32_t>(next);
    if (left >= 2) {
        sum += load<uint16_t>(next);
        left -= 2;
        next += 2;
    }
    if (left != 0) {  // as if a zero byte followed
        uint16_t word = 0;
        std::memcpy(&word, next, 1);
        sum += word;
    }
    return fold_to_32(sum);
}

}  // namespace detail

be16_t ipv4_header_checksum(std::span<const std::byte> header) noexcept {
    assert(header.size() >= sizeof(Ipv4Header) && header.size() % 4 == 0);
    constexpr size_t kField = offsetof(Ipv4Header, checksum);
    return ChecksumAccumulator()
        .add(header.first(kField))
        .add(header.subspan(kField + sizeof(be16_t)))
        .checksum();
}

}  // namespace heddle::net
