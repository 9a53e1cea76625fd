#pragma once

#include <cstdint>
#include <string>

/// Numbers for tables: short, three significant digits. JSON and YAML have them exact.
namespace heddle::cli {

/// 9999, 12.3k, 4.56M, 18.4E (powers of 1000).
std::string human_count(uint64_t count);

/// "45s", "12m 5s", "3h 20m", "5d 4h".
std::string human_duration(uint64_t seconds);

/// 0.256 gives "25.6%".
std::string human_share(double share);

/// A time since the epoch as local time with milliseconds: "2024-02-29 17:03:59.123".
std::string human_time(uint64_t time_ns);

}  // namespace heddle::cli
