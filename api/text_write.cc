#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/quote.h"
#include "api/text.h"

namespace heddle::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kNotRepeated = -1;

struct Scalar {
    std::string text;
    bool is_string = false;
};

template <typename Real>
Scalar real(Real value) {
    if (std::isnan(value)) return {"NaN", true};
    if (std::isinf(value)) return {value > 0 ? "Infinity" : "-Infinity", true};
    return {fmt::format("{}", value)};
}

/// Value of a field that is no message; `index` of an element, or kNotRepeated.
Scalar scalar(const Message& message, const FieldDescriptor& field, int index) {
    const Reflection& r = *message.GetReflection();
    const auto get = [&](auto single, auto repeated) {
        return index == kNotRepeated ? (r.*single)(message, &field)
                                     : (r.*repeated)(message, &field, index);
    };
    switch (field.cpp_type()) {
        case FieldDescriptor::CPPTYPE_STRING:
            return {get(&Reflection::GetString, &Reflection::GetRepeatedString), true};
        case FieldDescriptor::CPPTYPE_UINT32:
            return {fmt::to_string(get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32))};
        case FieldDescriptor::CPPTYPE_UINT64:
            return {fmt::to_string(get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64))};
        case FieldDescriptor::CPPTYPE_INT32:
            return {fmt::to_string(get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32))};
        case FieldDescriptor::CPPTYPE_INT64:
            return {fmt::to_string(get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64))};
        case FieldDescriptor::CPPTYPE_FLOAT:
            return real(get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
        case FieldDescriptor::CPPTYPE_DOUBLE:
            return real(get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
        case FieldDescriptor::CPPTYPE_BOOL:
            return {get(&Reflection::GetBool, &Reflection::GetRepeatedBool) ? "true" : "false"};
        case FieldDescriptor::CPPTYPE_ENUM:
            return {get(&Reflection::GetEnum, &Reflection::GetRepeatedEnum)->name(), true};
        case FieldDescriptor::CPPTYPE_MESSAGE:
            break;
    }
    return {};
}

const Message& submessage(const Message& message, const FieldDescriptor& field, int index) {
    const Reflection& r = *message.GetReflection();
    return index == kNotRepeated ? r.GetMessage(message, &field)
                                 : r.GetRepeatedMessage(message, &field, index);
}

/// The fields that have something to say, in the order of the schema.
std::vector<const FieldDescriptor*> present_fields(const Message& message) {
    const Reflection& r = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
        const FieldDescriptor* const field = message.GetDescriptor()->field(i);
        if (field->is_repeated() ? r.FieldSize(message, field) > 0 : r.HasField(message, field)) {
            fields.push_back(field);
        }
    }
    return fields;
}

/// Whether any YAML reader, also one of YAML 1.1, takes `text` without quotes for that very string.
/// What begins with a digit could be a number, a date or a time (00:11:22 is 682), except with a
/// slash, as in an address with its prefix length.
bool is_plain_safe(std::string_view text) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    constexpr std::string_view kInner =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
    constexpr std::string_view kWords[] = {"null", "true", "false", "yes",      "no", "on",
                                           "off",  "y",    "n",     "infinity", "nan"};
    if (text.empty() || text.find_first_not_of(kInner) != text.npos) return false;
    const bool letter = kLetters.find(text[0]) != kLetters.npos;
    const bool digit = text[0] >= '0' && text[0] <= '9';
    if (!letter && !(digit && text.find('/') != text.npos)) return false;

    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
}

class YamlWriter {
 public:
    /// The fields of `message`, each on a line of its own; the first one where the output stands.
    void fields(const Message& message, size_t indent) {
        bool first = true;
        for (const FieldDescriptor* const field : present_fields(message)) {
            if (!first) out_.append(indent, ' ');
            first = false;
            out_ += field->name();
            out_ += ':';
            if (field->is_repeated()) {
                list(message, *field, indent);
            } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
                nested(submessage(message, *field, kNotRepeated), indent + 2);
            } else {
                out_ += ' ' + value(scalar(message, *field, kNotRepeated)) + '\n';
            }
        }
        if (first) out_ += "{}\n";
    }

    void item(const Message& message, size_t indent) {
        out_.append(indent, ' ');
        out_ += "- ";
        fields(message, indent + 2);
    }

    std::string out_;

 private:
    static std::string value(const Scalar& scalar) {
        return scalar.is_string && !is_plain_safe(scalar.text) ? quote(scalar.text) : scalar.text;
    }

    void nested(const Message& message, size_t indent) {
        if (present_fields(message).empty()) {
            out_ += " {}\n";
            return;
        }
        out_ += '\n';
        out_.append(indent, ' ');
        fields(message, indent);
    }

    void list(const Message& message, const FieldDescriptor& field, size_t indent) {
        const int size = message.GetReflection()->FieldSize(message, &field);
        if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
            out_ += '\n';
            for (int i = 0; i < size; ++i)
                item(submessage(message, field, i), indent + 2);
            return;
        }
        for (int i = 0; i < size; ++i) {
            out_ += i == 0 ? " [" : ", ";
            out_ += value(scalar(message, field, i));
        }
        out_ += "]\n";
    }
};

class JsonWriter {
 public:
    void object(const Message& message, size_t indent) {
        const auto fields = present_fields(message);
        sequence('{', '}', fields.size(), indent, [&](size_t i) {
            const FieldDescriptor& field = *fields[i];
            out_ += quote(field.name()) + ": ";
            if (!field.is_repeated()) return value(message, field, kNotRepeated, indent + 2);
            const auto size =
                static_cast<size_t>(message.GetReflection()->FieldSize(message, &field));
            sequence('[', ']', size, indent + 2,
                     [&](size_t j) { value(message, field, static_cast<int>(j), indent + 4); });
        });
    }

    /// `item(i)` writes element i of what stands between two brackets.
    template <typename Item>
    void sequence(char open, char close, size_t size, size_t indent, Item item) {
        out_ += open;
        for (size_t i = 0; i < size; ++i) {
            out_ += i == 0 ? "\n" : ",\n";
            out_.append(indent + 2, ' ');
            item(i);
        }
        if (size > 0) {
            out_ += '\n';
            out_.append(indent, ' ');
        }
        out_ += close;
    }

    std::string out_;

 private:
    void value(const Message& message, const FieldDescriptor& field, int index, size_t indent) {
        if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
            return object(submessage(message, field, index), indent);
        }
        const Scalar written = scalar(message, field, index);
        out_ += written.is_string ? quote(written.text) : written.text;
    }
};

}  // namespace

std::string to_yaml(const Message& message) {
    YamlWriter writer;
    writer.fields(message, 0);
    return std::move(writer.out_);
}

std::string to_yaml(std::span<const Message* const> messages) {
    if (messages.empty()) return "[]\n";
    YamlWriter writer;
    for (const Message* const message : messages)
        writer.item(*message, 0);
    return std::move(writer.out_);
}

std::string to_json(const Message& message) {
    JsonWriter writer;
    writer.object(message, 0);
    return std::move(writer.out_) + '\n';
}

std::string to_json(std::span<const Message* const> messages) {
    JsonWriter writer;
    writer.sequence('[', ']', messages.size(), 0,
                    [&](size_t i) { writer.object(*messages[i], 2); });
    return std::move(writer.out_) + '\n';
}

}  // namespace heddle::api
