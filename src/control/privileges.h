#pragma once

#include <string>

namespace heddle::control {

/// What the process lacks to run the data plane, as a sentence that says how to give it; empty if
/// nothing.
std::string missing_privileges();

}  // namespace heddle::control
