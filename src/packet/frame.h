#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "net/parser.h"
#include "packet/pools.h"

/// Small helpers on frames, that is on chains of mbufs.
///
/// A frame has one owner, who may change the rte_mbuf of each of its segments. The bytes may be
/// shared, but only as rte_pktmbuf_attach() shares them: then a segment is indirect, or others are
/// attached to it.
namespace heddle::packet {

/// The contiguous bytes a frame begins with; where metadata is parsed, all headers are among them.
inline std::span<std::byte> first_segment(rte_mbuf* frame) noexcept {
    return {rte_pktmbuf_mtod(frame, std::byte*), frame->data_len};
}
inline std::span<const std::byte> first_segment(const rte_mbuf* frame) noexcept {
    return {rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len};
}

/// True if nobody else reads the bytes of this segment, so that they may be changed.
inline bool is_exclusive(const rte_mbuf* segment) noexcept {
    return RTE_MBUF_DIRECT(segment) && rte_mbuf_refcnt_read(segment) == 1;
}

/// Walks the bytes of a frame in order, one contiguous piece at a time. Empty segments are skipped.
class ChainReader {
 public:
    /// Starts at `offset`; behind the end there is nothing to read.
    explicit ChainReader(const rte_mbuf* frame, uint32_t offset = 0) noexcept : segment_(frame) {
        while (segment_ != nullptr && offset >= segment_->data_len) {
            offset -= segment_->data_len;
            segment_ = segment_->next;
        }
        offset_ = offset;
    }

    /// The next piece, of at most `limit` bytes (at least 1); empty at the end of the frame.
    std::span<const std::byte> next(uint32_t limit) noexcept {
        if (segment_ == nullptr) return {};
        const uint32_t bytes = std::min(limit, segment_->data_len - offset_);
        const auto* begin = rte_pktmbuf_mtod_offset(segment_, const std::byte*, offset_);
        offset_ += bytes;
        while (segment_ != nullptr && offset_ == segment_->data_len) {
            segment_ = segment_->next;
            offset_ = 0;
        }
        return {begin, bytes};
    }

 private:
    const rte_mbuf* segment_;
    uint32_t offset_;
};

/// Copies the out.size() bytes at `offset`, across segments; false, with `out` undefined, if the
/// frame ends before.
[[nodiscard]] bool copy_out(const rte_mbuf* frame, uint32_t offset,
                            std::span<std::byte> out) noexcept;

/// Copies the next `bytes` of `reader`, which has so many, behind a frame of one buffer, in as many
/// more small buffers as that takes. False if none was free: the frame is then of no use, but the
/// caller's to free.
[[nodiscard]] bool append_from(ChainReader& reader, uint32_t bytes, rte_mbuf* frame,
                               const Pools& pools) noexcept;

/// Makes the first `bytes` of the frame contiguous by moving them into the first segment; segments
/// left empty are freed. False, with the frame unchanged, if the frame is shorter, or if its first
/// segment is shared or has not the room.
[[nodiscard]] bool pull(rte_mbuf* frame, uint32_t bytes) noexcept;

/// Returns the frame with at least `bytes` (at most kHeadroom) of headroom and with headers that
/// may be written: the first segment is exclusive. Where it was not so, a small buffer takes the
/// headers and becomes the head of the frame, and the pointer passed in must not be used any more.
/// Null if no buffer is free; the frame is then unchanged and still the caller's, to drop as
/// tx_no_buffer.
[[nodiscard]] rte_mbuf* ensure_headroom(rte_mbuf* frame, uint16_t bytes,
                                        const Pools& pools) noexcept;

/// Puts `bytes` of unset content in front of a frame that has the headroom and shifts the offsets
/// of its metadata. Returns where they begin.
inline std::byte* prepend(rte_mbuf* frame, uint16_t bytes) noexcept {
    metadata(frame).shift(bytes);
    return reinterpret_cast<std::byte*>(rte_pktmbuf_prepend(frame, bytes));
}

/// Parses a frame as net::parse_frame() does. Headers that straddle segments are pulled into the
/// first one; only where that was not possible the result is `incomplete`. Metadata is left alone.
net::ParsedHeaders parse_headers(rte_mbuf* frame) noexcept;

/// Notes in the metadata where the headers of a frame are.
inline void set_headers(Metadata& metadata, const net::ParsedHeaders& headers) noexcept {
    metadata.l3_offset = headers.l3_offset;
    metadata.l4_offset = headers.l4_offset;
    metadata.payload_offset = headers.payload_offset;
    metadata.ethertype = headers.ethertype;
    metadata.ip_protocol = headers.ip_protocol;
    metadata.parsed = true;
}

}  // namespace heddle::packet
