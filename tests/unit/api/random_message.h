#pragma once

#include <google/protobuf/message.h>

#include <random>

namespace heddle::api {

/// Fills `message` at random by reflection, with a liking for limits, empty values and strings that
/// look like something else.
void randomize(google::protobuf::Message& message, std::mt19937_64& random);

}  // namespace heddle::api
