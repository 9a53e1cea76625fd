#pragma once

#include <rte_mbuf.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>

#include "packet/counters.h"
#include "packet/frame.h"
#include "packet/segment.h"
#include "port/vnet_header.h"

/// What the drivers of kernel devices (tap, netdev) share when they send.
namespace heddle::port {

/// Frames with more segments are refused (tx_error): GRO of 64 KB makes about 45, 536-byte MSS 122.
inline constexpr unsigned kMaxSegments = 256;

/// What a failed write means that is not about the device: no room just now, or a frame it refused.
inline packet::DropReason transmit_drop_reason(int error) noexcept {
    const bool full = error == EAGAIN || error == ENOBUFS || error == ENOMEM;
    return full ? packet::DropReason::tx_full : packet::DropReason::tx_error;
}

/// Writes the vnet header of a frame and the iovecs of header and frame for writev() or sendmsg().
/// Returns how many of `out` were used; 0 if there are too few.
///
/// The header goes into the headroom, where it costs no iovec of its own; but not in front of bytes
/// that a clone shares, since another worker may be doing the same there: then it goes to `spare`.
inline unsigned gather(rte_mbuf* frame, VnetHeader& spare, std::span<iovec> out) noexcept {
    if (frame->nb_segs + 1u > out.size()) return 0;
    const VnetHeader header = to_vnet_header(frame);
    char* data = rte_pktmbuf_mtod(frame, char*);
    unsigned used = 0;
    if (packet::is_exclusive(frame) && rte_pktmbuf_headroom(frame) >= sizeof(header)) {
        std::memcpy(data - sizeof(header), &header, sizeof(header));
        out[used++] = {data - sizeof(header), sizeof(header) + frame->data_len};
    } else {
        spare = header;
        out[used++] = {&spare, sizeof(spare)};
        out[used++] = {data, frame->data_len};
    }
    for (rte_mbuf* segment = frame->next; segment != nullptr; segment = segment->next) {
        out[used++] = {rte_pktmbuf_mtod(segment, void*), segment->data_len};
    }
    return used;
}

}  // namespace heddle::port
