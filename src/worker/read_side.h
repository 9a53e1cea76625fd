#pragma once

#include <rte_rcu_qsbr.h>

#include <memory>

#include "forwarding/ids.h"

namespace heddle::worker {

/// RCU by quiescent states (rte_rcu_qsbr): workers say once per round that they hold no pointer
/// into the forwarding tables; control waits for all of them before it frees what it unpublished. A
/// sleeping worker is offline and is not waited for.
class ReadSide {
 public:
    /// Throws std::bad_alloc if there is no memory.
    ReadSide();

    // ---- Worker `id` ---------------------------------------------------------------------------
    void enter(unsigned id) noexcept {
        rte_rcu_qsbr_thread_register(qsbr_.get(), id);
        rte_rcu_qsbr_thread_online(qsbr_.get(), id);
    }
    void leave(unsigned id) noexcept {
        rte_rcu_qsbr_thread_offline(qsbr_.get(), id);
        rte_rcu_qsbr_thread_unregister(qsbr_.get(), id);
    }
    void quiescent(unsigned id) noexcept { rte_rcu_qsbr_quiescent(qsbr_.get(), id); }
    void offline(unsigned id) noexcept { rte_rcu_qsbr_thread_offline(qsbr_.get(), id); }
    void online(unsigned id) noexcept { rte_rcu_qsbr_thread_online(qsbr_.get(), id); }

    // ---- Control thread ------------------------------------------------------------------------
    /// Returns when every worker has been in a quiescent state since the call. No worker waits.
    void synchronize() noexcept;

 private:
    struct Free {
        void operator()(rte_rcu_qsbr* qsbr) const noexcept;
    };
    std::unique_ptr<rte_rcu_qsbr, Free> qsbr_;
};

}  // namespace heddle::worker
