#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace heddle::net {

using Bytes = std::vector<std::byte>;

inline Bytes bytes(std::initializer_list<int> values) {
    Bytes result;
    for (const int value : values)
        result.push_back(static_cast<std::byte>(value));
    return result;
}

/// The same numbers on every run.
using Random = std::mt19937_64;

inline uint64_t below(Random& random, uint64_t limit) {
    return random() % limit;
}

inline Bytes random_bytes(Random& random, size_t length) {
    Bytes result(length);
    for (auto& byte : result)
        byte = static_cast<std::byte>(random());
    return result;
}

}  // namespace heddle::net
