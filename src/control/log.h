#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace heddle::control {

enum class LogLevel { error, warning, info, debug };

/// A key and a value of a log line. The value is anything fmt can print.
struct LogField {
    template <typename Value>
    LogField(std::string_view key, const Value& value)
        : key(key), value(fmt::format("{}", value)) {}

    std::string_view key;
    std::string value;
};

/// The line as it is written, without its newline: `level=info event=ready socket=/run/x`. Values
/// with anything but plain characters are quoted. With `journald`, the level is also in the form of
/// sd-daemon(3): "<6>".
std::string format_log(LogLevel level, std::string_view event,
                       std::initializer_list<LogField> fields, bool journald);

/// Writes one line to standard error in one write(), so that lines of several threads do not mix.
/// Without journald ($JOURNAL_STREAM), which has its own clock, the line begins with the time. Any
/// thread.
void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields);

inline void log_error(std::string_view event, std::initializer_list<LogField> fields = {}) {
    log(LogLevel::error, event, fields);
}
inline void log_warning(std::string_view event, std::initializer_list<LogField> fields = {}) {
    log(LogLevel::warning, event, fields);
}
inline void log_info(std::string_view event, std::initializer_list<LogField> fields = {}) {
    log(LogLevel::info, event, fields);
}

/// log_debug() writes only after this; off by default. Any thread.
void enable_debug_log(bool enabled) noexcept;
void log_debug(std::string_view event, std::initializer_list<LogField> fields = {});

}  // namespace heddle::control
