#pragma once

#include <functional>
#include <string>

#include "api/heddle.pb.h"
#include "model/kinds.h"

namespace heddle::model {

/// A place where an object names another one.
struct Reference {
    std::string path;  ///< below the object's own: "vlans[2].network"
    const Kind& kind;
    std::string name;
};

/// Calls `visit` for each reference in `object`, by the schema's rule that a string field called
/// like a kind is one.
void for_each_reference(const google::protobuf::Message& object,
                        const std::function<void(const Reference&)>& visit);

}  // namespace heddle::model
