#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "net/ethernet.h"
#include "packet/frame.h"

namespace heddle::port {

/// A VLAN tag that a kernel or NIC took out of a frame; TPID 0 if there was none.
struct StrippedTag {
    uint16_t tpid = 0;
    uint16_t tci = 0;
};

/// Puts the tag back behind the addresses, where every other frame has its tags. Needs an exclusive
/// first segment with 4 bytes of headroom, which all receive buffers have.
inline void insert_tag(rte_mbuf* frame, const StrippedTag& tag) noexcept {
    packet::prepend(frame, sizeof(net::VlanTag));
    auto* begin = rte_pktmbuf_mtod(frame, std::byte*);
    constexpr size_t kAddresses = 2 * sizeof(net::MacAddress);
    std::memmove(begin, begin + sizeof(net::VlanTag), kAddresses);
    const std::array<net::be16_t, 2> inserted{net::be16_t(tag.tpid), net::be16_t(tag.tci)};
    std::memcpy(begin + kAddresses, inserted.data(), sizeof(inserted));
}

}  // namespace heddle::port
