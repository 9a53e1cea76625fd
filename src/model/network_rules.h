#pragma once

#include <string>

#include "api/heddle.pb.h"
#include "api/problems.h"
#include "model/topology.h"

namespace heddle::model {

/// What can be said of a network alone: everything but the uniqueness of its name and its static
/// entries, which depend on ports.
Network validate_network(const v1::Network& network, const std::string& path,
                         api::ProblemList& problems);

}  // namespace heddle::model
