#pragma once

#include "forwarding/ids.h"
#include "forwarding/lpm.h"

namespace heddle::forwarding {

/// The routing tables of a router. Control changes them while workers look up.
struct Vrf {
    Vrf(RouterId router, LpmArena& arena) : id(router), ipv4(arena), ipv6(arena) {}

    RouterId id;
    Lpm<net::Ipv4Address> ipv4;
    Lpm<net::Ipv6Address> ipv6;
};

}  // namespace heddle::forwarding
