#include "packet/frame.h"

#include <cstring>

namespace heddle::packet {
namespace {

/// Enough for what is met in practice in front of a payload. parse_headers() pulls so much at once
/// and gives up on longer headers that straddle segments.
constexpr uint32_t kPulledHeaders = 512;

/// Frees the segment behind `segment`.
void unlink_next(rte_mbuf* frame, rte_mbuf* segment) noexcept {
    rte_mbuf* next = segment->next;
    segment->next = next->next;
    --frame->nb_segs;
    next->next = nullptr;
    rte_pktmbuf_free_seg(next);
}

}  // namespace

bool copy_out(const rte_mbuf* frame, uint32_t offset, std::span<std::byte> out) noexcept {
    if (offset > frame->pkt_len || frame->pkt_len - offset < out.size()) return false;
    ChainReader reader(frame, offset);
    while (!out.empty()) {
        const auto piece = reader.next(static_cast<uint32_t>(out.size()));
        std::memcpy(out.data(), piece.data(), piece.size());
        out = out.subspan(piece.size());
    }
    return true;
}

bool pull(rte_mbuf* frame, uint32_t bytes) noexcept {
    if (bytes <= frame->data_len) return true;
    if (bytes > frame->pkt_len || !is_exclusive(frame) ||
        bytes - frame->data_len > rte_pktmbuf_tailroom(frame)) {
        return false;
    }
    while (frame->data_len < bytes) {
        rte_mbuf* next = frame->next;
        const auto moved = std::min<uint32_t>(bytes - frame->data_len, next->data_len);
        std::memcpy(rte_pktmbuf_mtod_offset(frame, std::byte*, frame->data_len),
                    rte_pktmbuf_mtod(next, const std::byte*), moved);
        frame->data_len = static_cast<uint16_t>(frame->data_len + moved);
        next->data_off = static_cast<uint16_t>(next->data_off + moved);
        next->data_len = static_cast<uint16_t>(next->data_len - moved);
        if (next->data_len == 0) unlink_next(frame, frame);
    }
    return true;
}

bool append_from(ChainReader& reader, uint32_t bytes, rte_mbuf* frame,
                 const Pools& pools) noexcept {
    rte_mbuf* tail = frame;
    frame->pkt_len += bytes;
    while (bytes != 0) {
        uint16_t room = rte_pktmbuf_tailroom(tail);
        if (room == 0) {
            rte_mbuf* next = rte_pktmbuf_alloc(pools.small());
            if (next == nullptr) return false;
            next->data_off = 0;  // only the first buffer of a frame needs headroom
            tail->next = next;
            ++frame->nb_segs;
            tail = next;
            room = rte_pktmbuf_tailroom(tail);
        }
        const auto piece = reader.next(std::min<uint32_t>(bytes, room));
        std::memcpy(rte_pktmbuf_mtod_offset(tail, std::byte*, tail->data_len), piece.data(),
                    piece.size());
        tail->data_len = static_cast<uint16_t>(tail->data_len + piece.size());
        bytes -= static_cast<uint32_t>(piece.size());
    }
    return true;
}

rte_mbuf* ensure_headroom(rte_mbuf* frame, uint16_t bytes, const Pools& pools) noexcept {
    if (is_exclusive(frame) && rte_pktmbuf_headroom(frame) >= bytes) return frame;
    rte_mbuf* head = allocate_small(pools);
    if (head == nullptr) return nullptr;

    // Copying all of a small first segment keeps the frame from growing by a buffer; of a large one
    // only what may be headers is copied.
    constexpr uint16_t kHeaders = 256;
    const Metadata& known = metadata(frame);
    const uint16_t headers = std::max({kHeaders, known.payload_offset, known.inner_payload_offset});
    const uint16_t copied =
        frame->data_len <= kSmallRoom ? frame->data_len : std::min(headers, kSmallRoom);
    std::memcpy(rte_pktmbuf_mtod(head, std::byte*), rte_pktmbuf_mtod(frame, const std::byte*),
                copied);
    metadata(head) = known;
    head->data_len = copied;
    head->pkt_len = frame->pkt_len;
    head->nb_segs = static_cast<uint16_t>(frame->nb_segs + 1);
    head->next = frame;

    frame->data_off = static_cast<uint16_t>(frame->data_off + copied);
    frame->data_len = static_cast<uint16_t>(frame->data_len - copied);
    frame->nb_segs = 1;
    if (frame->data_len == 0) unlink_next(head, head);
    return head;
}

net::ParsedHeaders parse_headers(rte_mbuf* frame) noexcept {
    auto headers = net::parse_frame(first_segment(frame), frame->pkt_len);
    if (headers.incomplete && pull(frame, std::min(frame->pkt_len, kPulledHeaders))) [[unlikely]] {
        headers = net::parse_frame(first_segment(frame), frame->pkt_len);
    }
    return headers;
}

}  // namespace heddle::packet
