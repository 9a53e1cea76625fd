#pragma once

#include "pipeline/context.h"

namespace heddle::pipeline {

/// Hands a frame to the resolver: at once if that is this worker's, or by way of context.punted,
/// which the worker empties after each burst. Takes ownership.
void punt(Context& context, rte_mbuf* frame) noexcept;

/// Hands ARP or neighbour discovery that concerns a router to the resolver, as far as the ingress
/// port has not had its share. `interface`: the one it was addressed to by its MAC address, or
/// kNoInterface. Takes ownership.
void punt_neighbor_message(Context& context, forwarding::InterfaceId interface,
                           rte_mbuf* frame) noexcept;

/// Looks at a frame that is about to be flooded in a bridge with routers or proxy_arp. True: it was
/// for a router, or forged, and has been dealt with. False: flood it; the resolver may have got a
/// copy.
bool watch_neighbor_message(Context& context, const forwarding::Bridge& bridge,
                            rte_mbuf* frame) noexcept;

}  // namespace heddle::pipeline
