#include "control/event_bus.h"

#include <utility>

namespace heddle::control {

uint64_t EventBus::subscribe(Callback callback) {
    const std::lock_guard lock(mutex_);
    const uint64_t id = next_id_++;
    callbacks_.emplace(id, std::move(callback));
    return id;
}

void EventBus::unsubscribe(uint64_t id) {
    const std::lock_guard lock(mutex_);
    callbacks_.erase(id);
}

void EventBus::publish(const v1::Event& event) {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, callback] : callbacks_)
        callback(event);
}

}  // namespace heddle::control
