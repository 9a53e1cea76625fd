#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "api/problems.h"
#include "model/limits.h"

namespace heddle::model {

/// The value if it is in its range; otherwise a problem, and a value in the range to go on with.
template <typename Integer>
Integer checked(uint32_t value, const Range& range, const std::string& path,
                api::ProblemList& problems) {
    if (value >= range.least && value <= range.most) return static_cast<Integer>(value);
    problems.add(path, fmt::format("must be {} to {}, is {}", range.least, range.most, value));
    return static_cast<Integer>(range.least);
}

/// Reports the problem, if there is one.
inline bool check(const std::optional<std::string>& problem, const std::string& path,
                  api::ProblemList& problems) {
    if (problem) problems.add(path, *problem);
    return !problem;
}

}  // namespace heddle::model
