#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace heddle::pipeline {
struct Context;
class Resolver;
}  // namespace heddle::pipeline

namespace heddle::worker {

struct RxQueue;
class Worker;

/// What control asks of a worker. It stays control's, which frees it once `done` is set.
struct Command {
    enum class Kind : uint8_t {
        attach,   ///< own and poll `queue` from now on
        detach,   ///< let go of `queue`; if `next` is set, pass the command on to it as an `attach`
        look,     ///< poll `queue` although nothing is ready: control changed what happens to it
        resolve,  ///< call `request` with the resolver; for the worker that has it
        stop      ///< leave the loop
    };
    Kind kind = Kind::attach;
    RxQueue* queue = nullptr;
    Worker* next = nullptr;
    const std::function<void(pipeline::Resolver&, pipeline::Context&)>* request = nullptr;
    std::atomic<bool> done{false};
    Command* link = nullptr;  ///< the mailbox's
};

/// Commands for one worker, in order. post(): any thread, lock-free. take_all(): the worker.
class Mailbox {
 public:
    void post(Command& command) noexcept {
        command.link = head_.load(std::memory_order_relaxed);
        while (!head_.compare_exchange_weak(command.link, &command, std::memory_order_seq_cst,
                                            std::memory_order_relaxed)) {
        }
    }

    bool empty() const noexcept { return head_.load(std::memory_order_seq_cst) == nullptr; }

    /// The oldest first, linked by `link`; nullptr if there is none.
    Command* take_all() noexcept {
        Command* newest = head_.exchange(nullptr, std::memory_order_acquire);
        Command* oldest = nullptr;
        while (newest != nullptr) {
            Command* next = newest->link;
            newest->link = oldest;
            oldest = newest;
            newest = next;
        }
        return oldest;
    }

 private:
    std::atomic<Command*> head_{nullptr};
};

}  // namespace heddle::worker
