#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::api {

/// The candidate a person who wrote `word` most likely meant; empty if none is near.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);

/// `; did you mean "mtu"?`, or nothing if no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace heddle::api
