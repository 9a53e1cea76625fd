#pragma once

#include <string>

#include "api/heddle.pb.h"
#include "api/problems.h"
#include "model/topology.h"

namespace heddle::model {

/// What can be said of a port alone: everything but the uniqueness of its name and device and the
/// existence of its networks.
Port validate_port(const v1::Port& port, const std::string& path, api::ProblemList& problems);

/// What a device takes hold of, one text for all ways to write it; no two ports may have the same.
/// "interface eth0 in /run/netns/c1", "device 0000:3b:00.0".
std::string device_identity(const Device& device);

}  // namespace heddle::model
