#pragma once

#include <rte_mbuf.h>

#include "forwarding/tables.h"
#include "packet/drop.h"

namespace heddle::pipeline {

/// Which bridge port a received frame belongs to.
struct Classified {
    forwarding::BridgePortId bridge_port = forwarding::kNoBridgePort;
    packet::DropReason reason = packet::DropReason::port_not_attached;  ///< if kNoBridgePort
};

/// Classification of a frame that carries a VLAN tag (C-tag or S-tag): IEEE 802.1Q-2018,
/// section 6.9, per port. A tag that selects the network is taken off; its priority stays in the
/// metadata.
///   - C-tag with a VLAN id the trunk carries: that network, tag off
///   - C-tag with VLAN id 0 (priority only): the untagged network, tag off
///   - any other tag: passed on as the tenant's own if the untagged network is transparent
Classified classify_tagged(const forwarding::Tables& tables, const forwarding::PortEntry& ingress,
                           rte_mbuf* frame) noexcept;

/// Puts a C-tag into a frame that leaves by a trunk, with the priority it came with. Needs headroom
/// of four bytes and an exclusive first segment (packet::ensure_headroom).
void push_vlan(rte_mbuf* frame, uint16_t vlan) noexcept;

}  // namespace heddle::pipeline
