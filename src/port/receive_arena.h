#pragma once

#include <rte_mbuf.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "packet/pools.h"

namespace heddle::port {

/// Buffers of one worker that stand ready for the next read of a kernel device, whichever port it
/// is: so a port costs no buffers of its own. Each slot is a small buffer and a large one behind
/// it; a frame that fits the small one leaves the large one in place. A slot is used again first,
/// while it is still in the cache.
class ReceiveArena {
 public:
    /// Slots, that is frames per system call.
    static constexpr unsigned kSlots = 32;

    explicit ReceiveArena(const packet::Pools& pools) noexcept : pools_(pools) {}
    ~ReceiveArena();
    ReceiveArena(const ReceiveArena&) = delete;
    ReceiveArena& operator=(const ReceiveArena&) = delete;

    /// Fills the first `wanted` slots as far as buffers are free; returns how many are ready.
    unsigned prepare(unsigned wanted) noexcept;

    /// The two buffers of a ready slot, for readv() or recvmmsg(): kSlotBytes in all.
    static constexpr size_t kSlotBytes = size_t{packet::kSmallRoom} + packet::kLargeRoom;
    std::array<iovec, 2> buffers(unsigned slot) noexcept;

    /// The frame of `bytes` (1 ... kSlotBytes) read into a slot, as one or two chained segments
    /// with cleared metadata. The slot is empty afterwards, but for an unused large buffer.
    rte_mbuf* take(unsigned slot, size_t bytes) noexcept;

    /// Buffers held at present.
    unsigned held() const noexcept;

 private:
    struct Slot {
        rte_mbuf* small = nullptr;
        rte_mbuf* large = nullptr;
    };
    const packet::Pools& pools_;
    std::array<Slot, kSlots> slots_;
};

}  // namespace heddle::port
