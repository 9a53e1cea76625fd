#pragma once

#include <span>

#include "pipeline/context.h"

namespace heddle::pipeline {

/// Switches a burst of at most port::kBurst frames received on one port: classifies each into a
/// bridge by its VLAN tag, learns the source address, and enqueues it for egress or drops it by
/// name. Takes ownership of the frames. Needs metadata as Port::receive() leaves it; sets
/// ingress_port and scope.
///
/// The stateless path of docs/architecture.md: two FDB lookups per frame, no session.
void switch_burst(Context& context, const forwarding::PortEntry& ingress,
                  std::span<rte_mbuf*> frames) noexcept;

}  // namespace heddle::pipeline
