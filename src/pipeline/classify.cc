#include "pipeline/classify.h"

#include <cstring>

#include "net/ethernet.h"
#include "packet/frame.h"

namespace heddle::pipeline {
namespace {

using forwarding::kNoBridgePort;
using packet::DropReason;

constexpr uint16_t kAddressBytes = 2 * sizeof(net::MacAddress);
constexpr uint16_t kTagBytes = sizeof(net::VlanTag);
constexpr uint16_t kReservedVlan = 4095;

const net::VlanTag* tag_of(const rte_mbuf* frame) noexcept {
    return rte_pktmbuf_mtod_offset(frame, const net::VlanTag*, sizeof(net::EthernetHeader));
}

/// Takes the outer tag off by moving the addresses over it.
void pop_vlan(rte_mbuf* frame) noexcept {
    packet::Metadata& meta = packet::metadata(frame);
    meta.pcp_dei = static_cast<uint8_t>(tag_of(frame)->tci.value() >> 12);
    std::byte* start = rte_pktmbuf_mtod(frame, std::byte*);
    std::memmove(start + kTagBytes, start, kAddressBytes);
    rte_pktmbuf_adj(frame, kTagBytes);
    meta.shift(-int{kTagBytes});
}

bool transparent(const forwarding::Tables& tables, forwarding::BridgePortId id) noexcept {
    const forwarding::Bridge* bridge = tables.bridge(tables.bridge_port(id).bridge);
    return bridge != nullptr && bridge->vlan_transparent;
}

}  // namespace

Classified classify_tagged(const forwarding::Tables& tables, const forwarding::PortEntry& ingress,
                           rte_mbuf* frame) noexcept {
    if (frame->data_len < sizeof(net::EthernetHeader) + kTagBytes) {
        return {kNoBridgePort, DropReason::bad_vlan_tag};
    }
    const auto* header = rte_pktmbuf_mtod(frame, const net::EthernetHeader*);
    const net::VlanTag* tag = tag_of(frame);
    const uint16_t vid = tag->vid();
    if (header->ethertype.value() == net::ethertype::kVlan) {
        if (vid == kReservedVlan) return {kNoBridgePort, DropReason::bad_vlan_tag};
        const forwarding::BridgePortId selected = vid == 0                   ? ingress.untagged
                                                  : ingress.vlans != nullptr ? (*ingress.vlans)[vid]
                                                                             : kNoBridgePort;
        if (selected != kNoBridgePort) {
            if (net::is_vlan_tag(tag->ethertype.value()) && !transparent(tables, selected)) {
                return {kNoBridgePort, DropReason::bad_vlan_tag};
            }
            pop_vlan(frame);
            return {selected, {}};
        }
    }
    if (ingress.untagged != kNoBridgePort && transparent(tables, ingress.untagged)) {
        return {ingress.untagged, {}};
    }
    return {kNoBridgePort, ingress.untagged == kNoBridgePort && ingress.vlans == nullptr
                               ? DropReason::port_not_attached
                               : DropReason::vlan_not_allowed};
}

void push_vlan(rte_mbuf* frame, uint16_t vlan) noexcept {
    packet::prepend(frame, kTagBytes);
    std::byte* start = rte_pktmbuf_mtod(frame, std::byte*);
    std::memmove(start, start + kTagBytes, kAddressBytes);
    auto* tag = reinterpret_cast<net::be16_t*>(start + kAddressBytes);
    tag[0] = net::be16_t(net::ethertype::kVlan);
    tag[1] = net::be16_t(static_cast<uint16_t>(packet::metadata(frame).pcp_dei << 12 | vlan));
}

}  // namespace heddle::pipeline
