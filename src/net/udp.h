#pragma once

#include <cstdint>

#include "net/big_endian.h"

namespace heddle::net {

/// RFC 768.
struct UdpHeader {
    be16_t source_port;
    be16_t destination_port;
    be16_t length;  ///< header and payload, at least 8
    be16_t
        checksum;  ///< 0: the sender computed none; forbidden over IPv6 but for tunnels (RFC 6935)
};
static_assert(sizeof(UdpHeader) == 8 && alignof(UdpHeader) == 1);

}  // namespace heddle::net
