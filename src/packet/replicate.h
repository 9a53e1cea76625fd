#pragma once

#include "packet/pools.h"

namespace heddle::packet {

/// A second frame equal to `frame`, for flooding: headers may be changed in either without the
/// other seeing it. The first segment is copied (headers live there), later ones, which hold only
/// payload nobody writes to, are shared by reference. nullptr if buffers ran out; `frame` stays the
/// caller's.
rte_mbuf* replicate(const Pools& pools, rte_mbuf* frame) noexcept;

}  // namespace heddle::packet
