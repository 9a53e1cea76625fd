#include "control/log_limit.h"

#include <utility>

namespace heddle::control {

bool LogLimit::make_room(Clock::time_point now) {
    if (states_.size() < kMaxKeys) return true;
    std::erase_if(states_, [&](const auto& entry) { return now - entry.second.last >= interval_; });
    return states_.size() < kMaxKeys;
}

std::optional<uint64_t> LogLimit::admit(const std::string& key, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(key);
    if (found == states_.end()) {
        if (!make_room(now)) return std::nullopt;
        states_.emplace(key, State{now});
        return 0;
    }
    State& state = found->second;
    if (now - state.last < interval_) {
        ++state.suppressed;
        return std::nullopt;
    }
    state.last = now;
    return std::exchange(state.suppressed, 0);
}

}  // namespace heddle::control
