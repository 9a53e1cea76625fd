#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace heddle::forwarding {

/// A large array of zeroes that costs memory only where it was written: address space from the
/// kernel, page by page as it is touched. T must be valid when all its bytes are zero.
template <typename T>
class ZeroedArray {
 public:
    enum class Pages { normal, huge };

    /// With Pages::huge the kernel is asked for transparent huge pages (fewer TLB misses for tables
    /// that are looked up at random).
    explicit ZeroedArray(size_t count, Pages pages = Pages::normal)
        : count_(count), data_(map(count * sizeof(T), pages), Unmap{count * sizeof(T)}) {}

    T& operator[](size_t index) noexcept { return data_.get()[index]; }
    const T& operator[](size_t index) const noexcept { return data_.get()[index]; }
    size_t size() const noexcept { return count_; }
    T* begin() noexcept { return data_.get(); }
    T* end() noexcept { return data_.get() + count_; }
    const T* begin() const noexcept { return data_.get(); }
    const T* end() const noexcept { return data_.get() + count_; }

 private:
    static_assert(std::is_trivially_destructible_v<T>);

    struct Unmap {
        size_t bytes;
        void operator()(T* data) const noexcept { munmap(data, bytes); }
    };

    static T* map(size_t bytes, Pages pages) {
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        if (pages == Pages::huge) madvise(memory, bytes, MADV_HUGEPAGE);
        return static_cast<T*>(memory);
    }

    size_t count_;
    std::unique_ptr<T[], Unmap> data_;
};

}  // namespace heddle::forwarding
