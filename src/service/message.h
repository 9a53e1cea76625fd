#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "net/ethernet.h"
#include "net/header_at.h"
#include "net/mac_address.h"
#include "net/parser.h"
#include "packet/frame.h"
#include "packet/pools.h"

/// What the messages of this room have in common. They are built front to back in one small buffer,
/// which holds any of them.
namespace heddle::service {

/// Puts `bytes` of unset content behind the frame, whose one buffer must have the room.
inline std::span<std::byte> append_bytes(rte_mbuf* frame, uint16_t bytes) noexcept {
    return {reinterpret_cast<std::byte*>(rte_pktmbuf_append(frame, bytes)), bytes};
}

/// The reference is valid as long as the frame.
template <net::WireFormat T>
T& append(rte_mbuf* frame, const T& header) noexcept {
    const auto at = append_bytes(frame, sizeof(T));
    std::memcpy(at.data(), &header, sizeof(T));
    return *reinterpret_cast<T*>(at.data());
}

/// A frame that consists of an Ethernet header; nullptr if no buffer is free.
inline rte_mbuf* begin_message(const net::MacAddress& source, const net::MacAddress& destination,
                               uint16_t ethertype, const packet::Pools& pools) noexcept {
    rte_mbuf* frame = packet::allocate_small(pools);
    if (frame == nullptr) return nullptr;
    append(frame, net::EthernetHeader{destination, source, net::be16_t(ethertype)});
    return frame;
}

/// Sets metadata so that any egress can send the frame. All checksums are complete.
inline rte_mbuf* finish_message(rte_mbuf* frame) noexcept {
    packet::Metadata& known = packet::metadata(frame);
    packet::set_headers(known, net::parse_frame(packet::first_segment(frame), frame->pkt_len));
    if (known.l4_offset != 0) known.l4_checksum = packet::L4Checksum::good;
    return frame;
}

}  // namespace heddle::service
