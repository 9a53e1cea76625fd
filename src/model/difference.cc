#include "model/difference.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <algorithm>

#include "api/problems.h"

namespace heddle::model {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

constexpr size_t kMaxListed = 10;  ///< elements that came or went, per list

std::string render(const Message& message);

/// A value, or element `index` of a list, in as few characters as tell it from others.
std::string render(const Message& message, const FieldDescriptor& field, int index) {
    const Reflection& reflection = *message.GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        return render(index < 0 ? reflection.GetMessage(message, &field)
                                : reflection.GetRepeatedMessage(message, &field, index));
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {  // TextFormat would quote it
        return index < 0 ? reflection.GetString(message, &field)
                         : reflection.GetRepeatedString(message, &field, index);
    }
    std::string text;
    google::protobuf::TextFormat::PrintFieldValueToString(message, &field, index, &text);
    return text;
}

/// The values of all fields: {vlan: 100, network: red} gives "100:red".
std::string render(const Message& message) {
    std::vector<const FieldDescriptor*> present;
    message.GetReflection()->ListFields(message, &present);
    std::vector<std::string> values;
    bool colons = false;
    for (const FieldDescriptor* const field : present) {
        for (int i = 0;
             field->is_repeated() && i < message.GetReflection()->FieldSize(message, field); ++i) {
            values.push_back(render(message, *field, i));
        }
        if (!field->is_repeated()) values.push_back(render(message, *field, -1));
        colons = colons || (!values.empty() && values.back().find(':') != std::string::npos);
    }
    return fmt::format("{}", fmt::join(values, colons ? "," : ":"));
}

std::vector<std::string> elements(const Message& message, const FieldDescriptor& field) {
    std::vector<std::string> values;
    const int size = message.GetReflection()->FieldSize(message, &field);
    values.reserve(static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) {
        values.push_back(render(message, field, i));
    }
    return values;
}

/// " +a -b" of two lists taken as multisets; empty if only their order differs.
std::string list_difference(std::vector<std::string> before, std::vector<std::string> after) {
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    std::vector<std::string> added;
    std::vector<std::string> removed;
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                        std::back_inserter(added));
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                        std::back_inserter(removed));
    std::string text;
    const auto append = [&](char sign, const std::vector<std::string>& values) {
        for (size_t i = 0; i < std::min(values.size(), kMaxListed); ++i) {
            text += fmt::format(" {}{}", sign, values[i]);
        }
        if (values.size() > kMaxListed) {
            text += fmt::format(" {}({} more)", sign, values.size() - kMaxListed);
        }
    };
    append('+', added);
    append('-', removed);
    return text;
}

class Comparison {
 public:
    void compare(const Message& before, const Message& after, const std::string& path) {
        const auto& type = *before.GetDescriptor();
        for (int i = 0; i < type.real_oneof_decl_count(); ++i) {
            compare_oneof(before, after, *type.oneof_decl(i), path);
        }
        for (int i = 0; i < type.field_count(); ++i) {
            const FieldDescriptor& field = *type.field(i);
            if (field.real_containing_oneof() == nullptr) compare_field(before, after, field, path);
        }
    }

    std::vector<std::string> take() { return std::move(details_); }

 private:
    void compare_oneof(const Message& before, const Message& after, const OneofDescriptor& oneof,
                       const std::string& path) {
        const auto* const was = before.GetReflection()->GetOneofFieldDescriptor(before, &oneof);
        const auto* const is = after.GetReflection()->GetOneofFieldDescriptor(after, &oneof);
        if (was == is) {
            if (is != nullptr) compare_field(before, after, *is, path);
            return;
        }
        add(api::member(path, oneof.name()), was == nullptr ? "unset" : was->name(),
            is == nullptr ? "unset" : is->name());
    }

    void compare_field(const Message& before, const Message& after, const FieldDescriptor& field,
                       const std::string& parent) {
        const std::string path = api::member(parent, field.name());
        if (field.is_repeated()) {
            const auto was = elements(before, field);
            const auto is = elements(after, field);
            if (was == is) return;
            const std::string changes = list_difference(was, is);
            details_.push_back(path + ":" + (changes.empty() ? " reordered" : changes));
        } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
            compare(before.GetReflection()->GetMessage(before, &field),
                    after.GetReflection()->GetMessage(after, &field), path);
        } else {
            const std::string was = value(before, field);
            const std::string is = value(after, field);
            if (was != is) add(path, was, is);
        }
    }

    /// A number or bool without presence has its default as value; an absent or empty one has none.
    static std::string value(const Message& message, const FieldDescriptor& field) {
        const bool may_be_absent =
            field.has_presence() || field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
        if (may_be_absent && !message.GetReflection()->HasField(message, &field)) return "unset";
        return render(message, field, -1);
    }

    void add(const std::string& path, const std::string& was, const std::string& is) {
        details_.push_back(fmt::format("{}: {} -> {}", path, was, is));
    }

    std::vector<std::string> details_;
};

}  // namespace

std::vector<std::string> difference(const Message& before, const Message& after) {
    Comparison comparison;
    comparison.compare(before, after, "");
    return comparison.take();
}

}  // namespace heddle::model
