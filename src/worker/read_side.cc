#include "worker/read_side.h"

#include <cstdlib>
#include <new>

#include "worker/pause.h"

namespace heddle::worker {

ReadSide::ReadSide() {
    const size_t bytes = rte_rcu_qsbr_get_memsize(forwarding::kMaxWorkers);
    qsbr_.reset(static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, bytes)));
    if (qsbr_ == nullptr) throw std::bad_alloc();
    rte_rcu_qsbr_init(qsbr_.get(), forwarding::kMaxWorkers);
}

void ReadSide::Free::operator()(rte_rcu_qsbr* qsbr) const noexcept {
    std::free(qsbr);
}

void ReadSide::synchronize() noexcept {
    const uint64_t token = rte_rcu_qsbr_start(qsbr_.get());
    while (rte_rcu_qsbr_check(qsbr_.get(), token, false) == 0)
        pause_briefly();
}

}  // namespace heddle::worker
