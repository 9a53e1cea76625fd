#include "control/log.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

#include "api/quote.h"

namespace heddle::control {
namespace {

std::atomic<bool> debug_enabled{false};

struct LevelText {
    char priority;  // of syslog(3)
    std::string_view name;
};

LevelText text_of(LogLevel level) {
    switch (level) {
        case LogLevel::error:
            return {'3', "error"};
        case LogLevel::warning:
            return {'4', "warning"};
        case LogLevel::info:
            return {'6', "info"};
        case LogLevel::debug:
            break;
    }
    return {'7', "debug"};
}

bool is_plain(std::string_view value) {
    const auto plain = [](char c) {
        return c > ' ' && c < '\x7f' && c != '"' && c != '=' && c != '\\';
    };
    return !value.empty() && std::all_of(value.begin(), value.end(), plain);
}

void append(std::string& line, std::string_view key, std::string_view value) {
    line += ' ';
    line += key;
    line += '=';
    if (is_plain(value)) {
        line += value;
    } else {
        line += api::quote(value);
    }
}

std::string timestamp() {
    const auto now = std::chrono::system_clock::now();
    const auto since_epoch = now.time_since_epoch();
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count() % 1000;
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(now)), milliseconds);
}

}  // namespace

std::string format_log(LogLevel level, std::string_view event,
                       std::initializer_list<LogField> fields, bool journald) {
    const LevelText text = text_of(level);
    std::string line;
    if (journald) line = {'<', text.priority, '>'};
    line += "level=";
    line += text.name;
    append(line, "event", event);
    for (const LogField& field : fields)
        append(line, field.key, field.value);
    return line;
}

void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets it
    static const bool journald = std::getenv("JOURNAL_STREAM") != nullptr;
    std::string line = format_log(level, event, fields, journald);
    if (!journald) line.insert(0, "time=" + timestamp() + ' ');
    line += '\n';
    // There is nowhere to report that the log cannot be written.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void enable_debug_log(bool enabled) noexcept {
    debug_enabled.store(enabled, std::memory_order_relaxed);
}

void log_debug(std::string_view event, std::initializer_list<LogField> fields) {
    if (debug_enabled.load(std::memory_order_relaxed)) log(LogLevel::debug, event, fields);
}

}  // namespace heddle::control
