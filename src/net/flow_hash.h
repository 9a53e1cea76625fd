#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "net/parser.h"

namespace heddle::net {

/// Hash that keeps the packets of a flow together when flows are spread over workers, queues or
/// next hops: of addresses, protocol and ports for TCP and UDP, of addresses and protocol for the
/// rest of IP, of MAC addresses and ethertype for everything else. The two directions of a flow
/// hash differently.
///
/// Fragments hash on addresses only, whether they show ports or not, so that all fragments of a
/// datagram go one way (field case 1.25). The protocol is left out, too: later IPv6 fragments do
/// not tell it when an extension header stands in front of it.
///
/// All 32 bits are equally good. `seed` makes collisions unpredictable to those who choose the
/// packets. `parsed` comes from parsing `head`; it may be malformed or incomplete.
uint32_t flow_hash(std::span<const std::byte> head, const ParsedHeaders& parsed,
                   uint64_t seed = 0) noexcept;

}  // namespace heddle::net
