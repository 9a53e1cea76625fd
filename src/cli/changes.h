#pragma once

#include <functional>
#include <ostream>

#include "api/heddle.pb.h"
#include "cli/failure.h"

namespace heddle::cli {

/// Turns a problem of the daemon's into a line for the user.
using Describe = std::function<std::string(const v1::Problem&)>;

/// Shows what a request did, or with `dry_run` would do; or why it did nothing, which is the
/// failure.
Result<void> report(const v1::ApplyResponse& response, bool dry_run, const Describe& describe,
                    std::ostream& out, std::ostream& err);

}  // namespace heddle::cli
