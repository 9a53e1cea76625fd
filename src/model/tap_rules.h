#pragma once

#include <string>

#include "api/heddle.pb.h"
#include "api/problems.h"
#include "model/topology.h"

namespace heddle::model {

/// Addresses, gateways, MAC address and namespace of a tap device; not its interface name.
Tap validate_tap(const v1::Tap& tap, uint32_t mtu, const std::string& path,
                 api::ProblemList& problems);

}  // namespace heddle::model
