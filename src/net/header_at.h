#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace heddle::net {

/// What header_at() may lay over received bytes: no padding, no alignment, any bit pattern valid.
template <class T>
concept WireFormat = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
                     alignof(T) == 1;

/// The T at `offset`, or null if it would not lie within `bytes` as a whole. Any offset is allowed.
///
/// All scalars of a WireFormat type are bytes, hence neither alignment nor strict aliasing is
/// violated.
template <WireFormat T>
const T* header_at(std::span<const std::byte> bytes, size_t offset) noexcept {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(bytes.data() + offset);
}

template <WireFormat T>
T* header_at(std::span<std::byte> bytes, size_t offset) noexcept {
    return const_cast<T*>(header_at<T>(std::span<const std::byte>(bytes), offset));
}

/// The bytes of a header, for checksums and for appending it to a frame.
template <WireFormat T>
std::span<const std::byte> bytes_of(const T& header) noexcept {
    return std::as_bytes(std::span(&header, 1));
}

}  // namespace heddle::net
