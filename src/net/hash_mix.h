#pragma once

#include <cstdint>

namespace heddle::net {

/// Fractional bits of the golden ratio and of sqrt(2), made odd: multipliers without structure.
inline constexpr uint64_t kHashMultiplier1 = 0x9e3779b97f4a7c15;
inline constexpr uint64_t kHashMultiplier2 = 0x6a09e667f3bcc909;

/// Bijective 64 -> 64 mixer: every input bit reaches high and low output bits, so that a table may
/// index with either end. Two multiplications, about 3 ns of latency. Not resistant to an adversary
/// who chooses inputs: bound what depends on collisions.
constexpr uint64_t mix64(uint64_t value) noexcept {
    value ^= value >> 32;
    value *= kHashMultiplier1;
    value ^= value >> 29;
    value *= kHashMultiplier2;
    return value ^ (value >> 32);
}

/// Both halves of the 128-bit product, folded: mixes two words for the price of one multiplication.
constexpr uint64_t multiply_fold(uint64_t a, uint64_t b) noexcept {
    __extension__ using Product = unsigned __int128;
    const Product product = static_cast<Product>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace heddle::net
