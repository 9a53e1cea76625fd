#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "api/heddle.pb.h"

namespace heddle::control {

/// Hands each event to all who subscribed. Any thread may call anything, except that a callback
/// must not call the bus.
class EventBus {
 public:
    using Callback = std::function<void(const v1::Event&)>;

    /// `callback` runs in the publisher's thread, one event at a time, and must not block: it
    /// stands in the way of the whole control plane.
    uint64_t subscribe(Callback callback);

    /// When it returns, the callback neither runs nor will run.
    void unsubscribe(uint64_t id);

    void publish(const v1::Event& event);

 private:
    std::mutex mutex_;  // held during callbacks: this is what makes unsubscribe() final
    std::map<uint64_t, Callback> callbacks_;
    uint64_t next_id_ = 1;
};

}  // namespace heddle::control
