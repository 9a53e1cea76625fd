#include "worker/handover_ring.h"

#include <rte_lcore.h>

#include <new>

namespace heddle::worker {

HandoverRing::HandoverRing(const std::string& name)
    : ring_(rte_ring_create(name.c_str(), kSize, static_cast<int>(SOCKET_ID_ANY), RING_F_SC_DEQ)) {
    if (ring_ == nullptr) throw std::bad_alloc();
}

}  // namespace heddle::worker
