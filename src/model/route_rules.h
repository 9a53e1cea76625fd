#pragma once

#include <optional>
#include <string>

#include "api/heddle.pb.h"
#include "api/problems.h"
#include "model/router_rules.h"
#include "model/topology.h"

namespace heddle::model {

/// A route of `router`, whose interfaces are known already. Nothing if its prefix is wrong; other
/// problems leave it incomplete.
std::optional<Route> validate_route(const v1::Route& route, const Router& router,
                                    const Surroundings& surroundings, const std::string& path,
                                    api::ProblemList& problems);

/// A prefix without host bits, or a problem.
std::optional<net::IpPrefix> route_prefix(const std::string& text, const std::string& path,
                                          api::ProblemList& problems);

}  // namespace heddle::model
