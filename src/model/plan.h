#pragma once

#include <tl/expected.hpp>
#include <vector>

#include "api/heddle.pb.h"
#include "api/problems.h"
#include "model/object_paths.h"

namespace heddle::model {

/// What a request makes of the desired state. Not validated yet: pass `topology` and `paths` to
/// validate().
struct Plan {
    v1::Topology topology;
    ObjectPaths paths;
    std::vector<v1::Change> changes;
};

/// Merges by name: an object of the request replaces the one of its name as a whole, or is new.
/// With `replace`, what the request lacks is deleted. An object given twice stays twice, for
/// validate() to refuse. The changes come in the order of the request, deletions last; what stays
/// as it is and is named by the request is listed as UNCHANGED.
Plan plan_apply(const v1::Topology& current, const v1::Topology& request, bool replace);

/// Refuses unknown kinds and names, and an object that one that stays refers to.
tl::expected<Plan, api::Problems> plan_delete(const v1::Topology& current,
                                              const v1::DeleteRequest& request);

}  // namespace heddle::model
