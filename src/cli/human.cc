#include "cli/human.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace heddle::cli {

std::string human_count(uint64_t count) {
    if (count < 10'000) return fmt::to_string(count);
    constexpr char kUnits[] = "kMGTPE";
    auto scaled = static_cast<double>(count);
    int unit = -1;
    do {
        scaled /= 1000;
        ++unit;
    } while (scaled >= 999.5);  // which would be printed as 1000
    const int decimals = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f}{}", scaled, decimals, kUnits[unit]);
}

std::string human_duration(uint64_t seconds) {
    constexpr uint64_t kMinute = 60;
    constexpr uint64_t kHour = 60 * kMinute;
    constexpr uint64_t kDay = 24 * kHour;
    if (seconds < kMinute) return fmt::format("{}s", seconds);
    if (seconds < kHour) return fmt::format("{}m {}s", seconds / kMinute, seconds % kMinute);
    if (seconds < kDay) return fmt::format("{}h {}m", seconds / kHour, seconds % kHour / kMinute);
    return fmt::format("{}d {}h", seconds / kDay, seconds % kDay / kHour);
}

std::string human_share(double share) {
    return fmt::format("{:.1f}%", share * 100);
}

std::string human_time(uint64_t time_ns) {
    constexpr uint64_t kSecond = 1'000'000'000;
    const auto seconds = static_cast<std::time_t>(time_ns / kSecond);
    std::tm local{};
    localtime_r(&seconds, &local);
    return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}", local, time_ns % kSecond / 1'000'000);
}

}  // namespace heddle::cli
