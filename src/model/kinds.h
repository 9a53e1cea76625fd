#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

/// What the schema says about objects, by reflection on v1::Topology (see the comment there).
namespace heddle::model {

/// A kind of named objects: one list of v1::Topology.
struct Kind {
    std::string name;  ///< "port"
    const google::protobuf::FieldDescriptor* list = nullptr;
};

/// In the order of the schema.
const std::vector<Kind>& kinds();

/// nullptr if there is no such kind.
const Kind* find_kind(std::string_view name);

/// Name of an object, which is a message of a kind.
std::string name_of(const google::protobuf::Message& object);

}  // namespace heddle::model
