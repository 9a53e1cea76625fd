#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace heddle::net {

/// An unsigned integer as it lies on the wire, most significant byte first.
///
/// Byte order is a type: nothing converts implicitly in either direction, because a conversion
/// nobody wrote is a swap nobody sees. `header.length + 4` and `header.length = 20` do not compile;
/// `header.length.value() + 4` and `header.length = be16_t(20)` do.
///
/// Alignment is 1, so that a struct made of these has the layout of the protocol without a packed
/// attribute and may lie at any address.
template <std::unsigned_integral T>
class Big {
 public:
    constexpr Big() = default;  ///< zero
    explicit constexpr Big(T host) noexcept : bytes_(std::bit_cast<Bytes>(swap_if_little(host))) {}

    /// Host order.
    constexpr T value() const noexcept { return swap_if_little(memory_order()); }

    /// The same bytes read as a native integer, without a swap: for checksums, which do not depend
    /// on byte order (RFC 1071, section 2B), and for hashes.
    constexpr T memory_order() const noexcept { return std::bit_cast<T>(bytes_); }
    static constexpr Big from_memory_order(T raw) noexcept {
        Big result;
        result.bytes_ = std::bit_cast<Bytes>(raw);
        return result;
    }

    friend constexpr bool operator==(Big a, Big b) noexcept {
        return a.memory_order() == b.memory_order();
    }

 private:
    using Bytes = std::array<uint8_t, sizeof(T)>;

    static constexpr T swap_if_little(T value) noexcept {
        if constexpr (std::endian::native == std::endian::big) {
            return value;
        } else if constexpr (sizeof(T) == 2) {
            return __builtin_bswap16(value);
        } else if constexpr (sizeof(T) == 4) {
            return __builtin_bswap32(value);
        } else {
            static_assert(sizeof(T) == 8);
            return __builtin_bswap64(value);
        }
    }

    Bytes bytes_{};
};

using be16_t = Big<uint16_t>;
using be32_t = Big<uint32_t>;
using be64_t = Big<uint64_t>;

static_assert(sizeof(be16_t) == 2 && sizeof(be32_t) == 4 && sizeof(be64_t) == 8);
static_assert(alignof(be16_t) == 1 && alignof(be32_t) == 1 && alignof(be64_t) == 1);
static_assert(std::is_trivially_copyable_v<be64_t> && std::is_standard_layout_v<be64_t>);
static_assert(!std::is_convertible_v<uint16_t, be16_t> && !std::is_convertible_v<be16_t, uint16_t>);
static_assert(be32_t(0x0a000001).value() == 0x0a000001);

}  // namespace heddle::net
