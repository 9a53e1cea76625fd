#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include "api/quote.h"
#include "api/suggest.h"
#include "api/text.h"

namespace heddle::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

/// What a person sees in the text.
std::string describe(const Node& node) {
    switch (node.kind) {
        case Node::Kind::null:
            return "nothing";
        case Node::Kind::sequence:
            return "a list";
        case Node::Kind::map:
            return "a map";
        case Node::Kind::scalar:
            break;
    }
    return node.plain ? quote_brief(node.text) : "the string " + quote_brief(node.text);
}

std::vector<std::string_view> field_names(const Descriptor& type) {
    std::vector<std::string_view> names;
    for (int i = 0; i < type.field_count(); ++i)
        names.push_back(type.field(i)->name());
    return names;
}

template <typename Number>
struct Parsed {
    Number value{};
    std::string problem;  ///< empty: `value` is what was written
};

template <typename Integer>
Parsed<Integer> parse_integer(std::string_view text) {
    const auto mistake = [&](std::string_view what) {
        return Parsed<Integer>{0, fmt::format("{}, got {}", what, quote_brief(text))};
    };
    std::string_view digits = text;
    const bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    const bool hexadecimal = digits.starts_with("0x");
    if (hexadecimal) digits.remove_prefix(2);

    uint64_t magnitude = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] =
        std::from_chars(digits.data(), end, magnitude, hexadecimal ? 16 : 10);
    const bool overflow = error == std::errc::result_out_of_range;
    if (error == std::errc::invalid_argument || stop != end) {
        double real = 0;
        const auto [real_stop, real_error] = std::from_chars(digits.data(), end, real);
        const bool is_real = real_error == std::errc() && real_stop == end && !hexadecimal;
        return mistake(is_real ? "expected a whole number" : "expected a number");
    }
    // YAML 1.1 reads 010 as eight, YAML 1.2 as ten, and JSON refuses it.
    if (!hexadecimal && digits.size() > 1 && digits[0] == '0') {
        return mistake("expected a number without leading zeros");
    }

    using Limits = std::numeric_limits<Integer>;
    if (negative && (overflow || magnitude != 0)) {
        if (std::is_unsigned_v<Integer>) return mistake("must not be negative");
        const uint64_t most = static_cast<uint64_t>(Limits::max()) + 1;
        if (overflow || magnitude > most) {
            return mistake(fmt::format("must be at least {}", Limits::min()));
        }
        return {static_cast<Integer>(0 - magnitude), {}};
    }
    if (overflow || magnitude > static_cast<uint64_t>(Limits::max())) {
        return mistake(fmt::format("must be at most {}", Limits::max()));
    }
    return {static_cast<Integer>(magnitude), {}};
}

template <typename Real>
Parsed<Real> parse_real(std::string_view text) {
    if (text == "Infinity") return {std::numeric_limits<Real>::infinity(), {}};
    if (text == "-Infinity") return {-std::numeric_limits<Real>::infinity(), {}};
    if (text == "NaN") return {std::numeric_limits<Real>::quiet_NaN(), {}};
    Real value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    // from_chars would also take "inf" and "nan".
    if (error == std::errc::invalid_argument || stop != end || !std::isfinite(value)) {
        return {0, fmt::format("expected a number, got {}", quote_brief(text))};
    }
    if (error != std::errc()) return {0, fmt::format("out of range: {}", quote_brief(text))};
    return {value, {}};
}

class Reader {
 public:
    void message(const Node& node, Message& target, const std::string& path) {
        if (node.kind == Node::Kind::null) return;
        if (node.kind != Node::Kind::map) {
            return complain(node, path,
                            fmt::format("expected a map of fields, got {}", describe(node)));
        }
        FirstOfOneof chosen;
        std::map<std::string_view, uint32_t> seen;
        for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
            const Node& key = *node.children[i];
            if (key.kind != Node::Kind::scalar) {
                complain(key, path,
                         fmt::format("expected the name of a field, got {}", describe(key)));
                continue;
            }
            const auto [first, is_new] = seen.emplace(key.text, key.line);
            if (!is_new) {
                complain(key, member(path, key.text),
                         fmt::format("given twice, first in line {}", first->second));
                continue;
            }
            field(key, *node.children[i + 1], target, path, chosen);
        }
    }

    Problems take() { return problems_.take(); }

 private:
    using FirstOfOneof = std::map<const OneofDescriptor*, const FieldDescriptor*>;

    void complain(const Node& node, const std::string& path, std::string what) {
        problems_.add(path, std::move(what), node.line);
    }

    void field(const Node& key, const Node& value, Message& target, const std::string& path,
               FirstOfOneof& chosen) {
        const Descriptor& type = *target.GetDescriptor();
        const FieldDescriptor* const field = type.FindFieldByName(key.text);
        if (field == nullptr) return unknown_field(key, type, path);

        const std::string field_path = member(path, field->name());
        if (const OneofDescriptor* const oneof = field->real_containing_oneof()) {
            const auto [other, is_first] = chosen.emplace(oneof, field);
            if (!is_first) {
                return complain(
                    key, field_path,
                    fmt::format("excludes \"{}\", which is also given: a {} is one of them",
                                other->second->name(), oneof->name()));
            }
        }
        if (!field->is_repeated()) return single(value, target, *field, field_path);
        if (value.kind == Node::Kind::null) return;
        if (value.kind != Node::Kind::sequence) {
            return complain(value, field_path,
                            fmt::format("expected a list, got {}", describe(value)));
        }
        for (size_t i = 0; i < value.children.size(); ++i) {
            single(*value.children[i], target, *field, element(field_path, i));
        }
    }

    void unknown_field(const Node& key, const Descriptor& type, const std::string& path) {
        if (key.text == "<<") {
            return complain(key, path, "merge keys (\"<<\") are not supported: repeat the fields");
        }
        const std::vector<std::string_view> names = field_names(type);
        std::string hint = did_you_mean(key.text, names);
        if (hint.empty()) hint = fmt::format("; known are {}", fmt::join(names, ", "));
        complain(key, path, fmt::format("unknown field {}{}", quote_brief(key.text), hint));
    }

    /// Sets a field that holds one value, or adds an element to a repeated one.
    void single(const Node& node, Message& target, const FieldDescriptor& field,
                const std::string& path) {
        const Reflection& r = *target.GetReflection();
        const bool add = field.is_repeated();
        if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
            return message(
                node, add ? *r.AddMessage(&target, &field) : *r.MutableMessage(&target, &field),
                path);
        }
        if (node.kind != Node::Kind::scalar) {
            return complain(node, path,
                            node.kind == Node::Kind::null
                                ? "has no value: give one, or leave the field out"
                                : fmt::format("expected one value, got {}", describe(node)));
        }
        switch (field.cpp_type()) {
            case FieldDescriptor::CPPTYPE_STRING:
                if (node.text.find('\0') != std::string::npos) {
                    return complain(node, path, "must not contain a NUL character");
                }
                return add ? r.AddString(&target, &field, node.text)
                           : r.SetString(&target, &field, node.text);
            case FieldDescriptor::CPPTYPE_UINT32:
                return number(node, path, parse_integer<uint32_t>, [&](uint32_t value) {
                    add ? r.AddUInt32(&target, &field, value) : r.SetUInt32(&target, &field, value);
                });
            case FieldDescriptor::CPPTYPE_UINT64:
                return number(node, path, parse_integer<uint64_t>, [&](uint64_t value) {
                    add ? r.AddUInt64(&target, &field, value) : r.SetUInt64(&target, &field, value);
                });
            case FieldDescriptor::CPPTYPE_INT32:
                return number(node, path, parse_integer<int32_t>, [&](int32_t value) {
                    add ? r.AddInt32(&target, &field, value) : r.SetInt32(&target, &field, value);
                });
            case FieldDescriptor::CPPTYPE_INT64:
                return number(node, path, parse_integer<int64_t>, [&](int64_t value) {
                    add ? r.AddInt64(&target, &field, value) : r.SetInt64(&target, &field, value);
                });
            case FieldDescriptor::CPPTYPE_FLOAT:
                return real(node, path, parse_real<float>, [&](float value) {
                    add ? r.AddFloat(&target, &field, value) : r.SetFloat(&target, &field, value);
                });
            case FieldDescriptor::CPPTYPE_DOUBLE:
                return real(node, path, parse_real<double>, [&](double value) {
                    add ? r.AddDouble(&target, &field, value) : r.SetDouble(&target, &field, value);
                });
            case FieldDescriptor::CPPTYPE_BOOL:
                if (!node.plain || (node.text != "true" && node.text != "false")) {
                    return complain(node, path,
                                    fmt::format("expected true or false, got {}", describe(node)));
                }
                return add ? r.AddBool(&target, &field, node.text == "true")
                           : r.SetBool(&target, &field, node.text == "true");
            case FieldDescriptor::CPPTYPE_ENUM:
                return enumeration(node, target, field, path);
            case FieldDescriptor::CPPTYPE_MESSAGE:
                return;  // above
        }
    }

    template <typename Parse, typename Store>
    void number(const Node& node, const std::string& path, Parse parse, Store store) {
        if (!node.plain) {
            return complain(
                node, path,
                fmt::format("expected a number, got {}; write it without quotes", describe(node)));
        }
        real(node, path, parse, store);
    }

    /// Infinity and NaN are strings in JSON, so quotes are no mistake.
    template <typename Parse, typename Store>
    void real(const Node& node, const std::string& path, Parse parse, Store store) {
        auto parsed = parse(node.text);
        if (!parsed.problem.empty()) return complain(node, path, std::move(parsed.problem));
        store(parsed.value);
    }

    void enumeration(const Node& node, Message& target, const FieldDescriptor& field,
                     const std::string& path) {
        const EnumValueDescriptor* const value = field.enum_type()->FindValueByName(node.text);
        if (value == nullptr) {
            std::vector<std::string_view> names;
            for (int i = 0; i < field.enum_type()->value_count(); ++i) {
                names.push_back(field.enum_type()->value(i)->name());
            }
            return complain(
                node, path,
                fmt::format("expected one of {}, got {}", fmt::join(names, ", "), describe(node)));
        }
        const Reflection& r = *target.GetReflection();
        field.is_repeated() ? r.AddEnum(&target, &field, value) : r.SetEnum(&target, &field, value);
    }

    ProblemList problems_;
};

}  // namespace

Problems read(const Document& document, google::protobuf::Message& message) {
    message.Clear();
    Reader reader;
    reader.message(document.root(), message, "");
    return reader.take();
}

}  // namespace heddle::api
