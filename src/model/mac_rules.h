#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/problems.h"
#include "net/mac_address.h"

namespace heddle::model {

/// The address of one station, or a problem.
std::optional<net::MacAddress> unicast_mac(std::string_view text, const std::string& path,
                                           api::ProblemList& problems);

}  // namespace heddle::model
