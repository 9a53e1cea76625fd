#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace heddle::control {

/// Keeps what happens a thousand times a second from becoming a thousand lines a second: one line
/// per key and interval, which says how many there would have been.
///
///     if (const auto suppressed = limit.admit(port)) {
///         log_warning("link-flaps", {{"port", port}, {"suppressed", *suppressed}});
///     }
///
/// Any thread.
class LogLimit {
 public:
    using Clock = std::chrono::steady_clock;

    explicit LogLimit(Clock::duration interval) : interval_(interval) {}

    /// Whether to write a line now; if so, how many were suppressed since the last one of the key.
    std::optional<uint64_t> admit(const std::string& key, Clock::time_point now = Clock::now());

 private:
    /// Keys may come from outside. When there are this many, those whose interval is over are
    /// forgotten, and if none is, a new key has to wait.
    static constexpr size_t kMaxKeys = 1024;

    struct State {
        Clock::time_point last;
        uint64_t suppressed = 0;
    };

    bool make_room(Clock::time_point now);

    const Clock::duration interval_;
    std::mutex mutex_;
    std::map<std::string, State> states_;
};

}  // namespace heddle::control
