#include "model/kinds.h"

#include <algorithm>
#include <cctype>

#include "api/heddle.pb.h"

namespace heddle::model {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// "FloatingIp" gives "floating_ip".
std::string snake_case(std::string_view camel_case) {
    std::string result;
    for (const char c : camel_case) {
        const auto letter = static_cast<unsigned char>(c);
        if (std::isupper(letter) != 0 && !result.empty()) result += '_';
        result += static_cast<char>(std::tolower(letter));
    }
    return result;
}

std::vector<Kind> find_kinds() {
    std::vector<Kind> found;
    const Descriptor& topology = *v1::Topology::descriptor();
    for (int i = 0; i < topology.field_count(); ++i) {
        const FieldDescriptor* const field = topology.field(i);
        if (field->is_repeated())
            found.push_back({snake_case(field->message_type()->name()), field});
    }
    return found;
}

}  // namespace

const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all = find_kinds();
    return all;
}

const Kind* find_kind(std::string_view name) {
    const auto found = std::find_if(kinds().begin(), kinds().end(),
                                    [&](const Kind& kind) { return kind.name == name; });
    return found != kinds().end() ? &*found : nullptr;
}

std::string name_of(const Message& object) {
    return object.GetReflection()->GetString(object,
                                             object.GetDescriptor()->FindFieldByName("name"));
}

}  // namespace heddle::model
