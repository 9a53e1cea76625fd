#pragma once

#include "pipeline/context.h"

namespace heddle::pipeline {

/// Puts the tag of a bridge port in front of a frame and hands it to the egress.
void send_tagged(Context& context, const forwarding::BridgePort& to, rte_mbuf* frame) noexcept;

/// Hands a frame to the egress of a bridge port, tagged as the port wants it. Takes ownership.
inline void send(Context& context, const forwarding::BridgePort& to, rte_mbuf* frame) noexcept {
    if (to.vlan != 0) return send_tagged(context, to, frame);
    context.egress.enqueue(to.port, frame);
}

/// Sends a frame to all ports of a bridge but the one it came by, as far as isolation allows.
/// `from` is kNoBridgePort for a frame of a router's. Takes ownership; the frame's ingress_port is
/// charged, without a limit for an originated frame.
void flood(Context& context, const forwarding::Bridge& bridge, forwarding::BridgePortId from,
           rte_mbuf* frame) noexcept;

}  // namespace heddle::pipeline
