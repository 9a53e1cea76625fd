#pragma once

#include <tl/expected.hpp>

#include "api/heddle.pb.h"
#include "api/problems.h"
#include "model/object_paths.h"
#include "model/topology.h"

namespace heddle::model {

/// Checks a whole topology against everything api/heddle.proto says and turns it into typed
/// objects, in the same order; or says all that is wrong with it. Pure: looks at no device and no
/// namespace.
tl::expected<Topology, api::Problems> validate(const v1::Topology& topology,
                                               const ObjectPaths& paths = {});

}  // namespace heddle::model
