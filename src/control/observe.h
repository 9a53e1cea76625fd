#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "api/heddle.pb.h"
#include "control/fabric.h"

namespace heddle::control {

/// The objects a request asks for, other than TOPOLOGY; the error names what does not exist.
tl::expected<std::vector<v1::Object>, std::string> observe(Fabric& fabric,
                                                           const v1::GetRequest& request);

/// What the fabric knows of v1::Status.
v1::Status observe_status(const Fabric& fabric);

}  // namespace heddle::control
