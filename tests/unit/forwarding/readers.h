#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "worker/read_side.h"

namespace heddle::forwarding {

/// Threads that are inside the read side of RCU as workers are, until told to stop.
class Readers {
 public:
    template <typename Round>
    void start(unsigned id, Round round) {
        threads_.emplace_back([this, id, round]() mutable {
            read_side_.enter(id);
            while (!stop_.load(std::memory_order_relaxed)) {
                round();
                read_side_.quiescent(id);
            }
            read_side_.leave(id);
        });
    }
    void synchronize() { read_side_.synchronize(); }
    void stop() {
        stop_ = true;
        for (std::thread& thread : threads_)
            thread.join();
        threads_.clear();
    }
    ~Readers() { stop(); }

 private:
    worker::ReadSide read_side_;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

}  // namespace heddle::forwarding
