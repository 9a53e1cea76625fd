#pragma once

#include <functional>
#include <string>

#include "api/heddle.pb.h"
#include "api/problems.h"
#include "model/object_paths.h"
#include "model/topology.h"

namespace heddle::model {

/// What the rules of a router need of the rest of the topology; nullptr if there is no such object
/// (which is said elsewhere).
struct Surroundings {
    std::function<const Network*(const std::string&)> find_network;
    std::function<const Port*(const std::string&)> find_port;
};

/// A router on its own and what it says of networks and ports. References to objects that do not
/// exist are not reported here.
Router validate_router(const v1::Router& router, const Surroundings& surroundings,
                       const std::string& path, api::ProblemList& problems);

/// What routers and ports must agree on: nobody else has a router's address or MAC address in its
/// network, and no packet is passed from router to router for ever.
void check_routers_together(const Topology& topology, const ObjectPaths& paths,
                            api::ProblemList& problems);

}  // namespace heddle::model
