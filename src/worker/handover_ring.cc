#include "worker/handover_ring.h"

#include <rte_lcore.h>

#include <new>

namespace heddle::worker {

HandoverRing::HandoverRing(const std::string& name)
    : ring_(rte_ring_create(name.c_str(), kSize, static_cast<int>(SOCKET_ID_ANY),
                            (kRelaxedTail ? RING_F_MP_RTS_ENQ : 0) | RING_F_SC_DEQ)) {
    if (ring_ == nullptr) throw std::bad_alloc();
    // How far heads may run ahead of the tail before producers wait after all: never.
    if (kRelaxedTail) rte_ring_set_prod_htd_max(ring_.get(), kSize);
}

}  // namespace heddle::worker
