#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/text.h"

namespace heddle::model {

/// A message from its YAML, which must be right.
template <typename Message = v1::Topology>
Message from_yaml(std::string_view text) {
    auto parsed = api::parse<Message>(text);
    if (!parsed.has_value()) {
        ADD_FAILURE() << parsed.error()[0].message() << " in\n" << text;
        return {};
    }
    return std::move(*parsed);
}

/// Problems as "path: message".
inline std::vector<std::string> to_strings(const api::Problems& problems) {
    std::vector<std::string> lines;
    for (const v1::Problem& problem : problems) {
        lines.push_back(problem.path() + ": " + problem.message());
    }
    return lines;
}

}  // namespace heddle::model
