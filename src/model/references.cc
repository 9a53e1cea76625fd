#include "model/references.h"

#include "api/problems.h"

namespace heddle::model {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void walk(const Message& message, const std::string& path,
          const std::function<void(const Reference&)>& visit) {
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> present;
    reflection.ListFields(message, &present);
    for (const FieldDescriptor* const field : present) {
        const std::string field_path = api::member(path, field->name());
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
            if (!field->is_repeated()) {
                walk(reflection.GetMessage(message, field), field_path, visit);
                continue;
            }
            for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
                walk(reflection.GetRepeatedMessage(message, field, i),
                     api::element(field_path, static_cast<size_t>(i)), visit);
            }
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && !field->is_repeated()) {
            const Kind* const kind = find_kind(field->name());
            if (kind != nullptr) {
                visit({field_path, *kind, reflection.GetString(message, field)});
            }
        }
    }
}

}  // namespace

void for_each_reference(const Message& object, const std::function<void(const Reference&)>& visit) {
    walk(object, "", visit);
}

}  // namespace heddle::model
