#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/heddle.pb.h"
#include "api/problems.h"
#include "model/topology.h"

namespace heddle::model {

/// Returns nullptr if there is no port of that name.
using FindPort = std::function<const Port*(const std::string&)>;

/// Static entries of a network. That the port exists is checked with all other references.
std::vector<StaticFdbEntry> validate_static_fdb(const v1::Network& network,
                                                const FindPort& find_port, const std::string& path,
                                                api::ProblemList& problems);

}  // namespace heddle::model
