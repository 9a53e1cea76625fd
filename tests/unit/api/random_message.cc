#include "random_message.h"

#include <array>
#include <limits>
#include <string>

namespace heddle::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string random_string(std::mt19937_64& random) {
    static const std::array<std::string, 40> kStrings = {
        "",         " ",          "~",      "null",       "Null",
        "true",     "no",         "off",    "y",          "123",
        "-5",       "1e3",        "0x10",   "010",        "00:11:22:33:44:55",
        "12:30:45", "2001-12-14", ".inf",   "nan",        "Infinity",
        "- a",      "a: b",       "a #b",   "#",          "\"",
        "'",        "\\",         "a\nb\n", "\t",         "\x01\x1f\x7f",
        "\u00e9",   "\u0085",     "\ufeff", "\U0001f600", "{}",
        "[x]",      "&a",         "*a",     "!!int 3",    "%YAML 1.2"};
    const size_t pick = random() % (kStrings.size() + 8);
    if (pick < kStrings.size()) return kStrings[pick];
    std::string text;
    for (size_t i = random() % 20; i > 0; --i)
        text += static_cast<char>(1 + random() % 0x7f);
    return text;
}

template <typename Integer>
Integer random_integer(std::mt19937_64& random) {
    switch (random() % 4) {
        case 0:
            return std::numeric_limits<Integer>::max();
        case 1:
            return std::numeric_limits<Integer>::min();
        case 2:
            return static_cast<Integer>(random() % 10);
        default:
            return static_cast<Integer>(random());
    }
}

double random_real(std::mt19937_64& random) {
    switch (random() % 5) {
        case 0:
            return std::numeric_limits<double>::infinity();
        case 1:
            return -std::numeric_limits<double>::denorm_min();
        case 2:
            return 0.1;
        default:
            return static_cast<double>(static_cast<int64_t>(random())) / 1e9;
    }
}

void randomize_field(Message& message, const FieldDescriptor& field, std::mt19937_64& random) {
    const Reflection& r = *message.GetReflection();
    const bool add = field.is_repeated();
    switch (field.cpp_type()) {
        case FieldDescriptor::CPPTYPE_STRING: {
            const std::string value = random_string(random);
            add ? r.AddString(&message, &field, value) : r.SetString(&message, &field, value);
            return;
        }
        case FieldDescriptor::CPPTYPE_UINT32: {
            const auto value = random_integer<uint32_t>(random);
            add ? r.AddUInt32(&message, &field, value) : r.SetUInt32(&message, &field, value);
            return;
        }
        case FieldDescriptor::CPPTYPE_UINT64: {
            const auto value = random_integer<uint64_t>(random);
            add ? r.AddUInt64(&message, &field, value) : r.SetUInt64(&message, &field, value);
            return;
        }
        case FieldDescriptor::CPPTYPE_INT32: {
            const auto value = random_integer<int32_t>(random);
            add ? r.AddInt32(&message, &field, value) : r.SetInt32(&message, &field, value);
            return;
        }
        case FieldDescriptor::CPPTYPE_INT64: {
            const auto value = random_integer<int64_t>(random);
            add ? r.AddInt64(&message, &field, value) : r.SetInt64(&message, &field, value);
            return;
        }
        case FieldDescriptor::CPPTYPE_DOUBLE: {
            const double value = random_real(random);
            add ? r.AddDouble(&message, &field, value) : r.SetDouble(&message, &field, value);
            return;
        }
        case FieldDescriptor::CPPTYPE_FLOAT: {
            const auto value = static_cast<float>(random_real(random));
            add ? r.AddFloat(&message, &field, value) : r.SetFloat(&message, &field, value);
            return;
        }
        case FieldDescriptor::CPPTYPE_BOOL: {
            const bool value = random() % 2 == 0;
            add ? r.AddBool(&message, &field, value) : r.SetBool(&message, &field, value);
            return;
        }
        case FieldDescriptor::CPPTYPE_ENUM: {
            const auto* const type = field.enum_type();
            const auto* const value =
                type->value(static_cast<int>(random() % static_cast<size_t>(type->value_count())));
            add ? r.AddEnum(&message, &field, value) : r.SetEnum(&message, &field, value);
            return;
        }
        case FieldDescriptor::CPPTYPE_MESSAGE:
            randomize(add ? *r.AddMessage(&message, &field) : *r.MutableMessage(&message, &field),
                      random);
            return;
    }
}

}  // namespace

void randomize(Message& message, std::mt19937_64& random) {
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
        const FieldDescriptor& field = *message.GetDescriptor()->field(i);
        const size_t times = field.is_repeated() ? random() % 4 : random() % 2;
        for (size_t n = 0; n < times; ++n)
            randomize_field(message, field, random);
    }
}

}  // namespace heddle::api
