#pragma once

#include <string>

#include "api/heddle.pb.h"

namespace heddle::api {

/// What was done to an object, without its name: "updated: mtu: 1500 -> 9000".
std::string describe(const v1::Change& change);

}  // namespace heddle::api
