#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "api/heddle.pb.h"
#include "control/fabric.h"

namespace heddle::control {

/// The objects a request for PORTS, NETWORKS, FDB, WORKERS or DROPS asks for; the error names what
/// does not exist. For FDB the names are networks.
tl::expected<std::vector<v1::Object>, std::string> observe(const Fabric& fabric,
                                                           const v1::GetRequest& request);

/// What the fabric knows of v1::Status.
v1::Status observe_status(const Fabric& fabric);

}  // namespace heddle::control
