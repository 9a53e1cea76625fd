#pragma once

#include <google/protobuf/message.h>

#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "api/document.h"
#include "api/problems.h"

/// The texts of the schema's messages: YAML and JSON, with the field names of the schema.
/// Everything works by reflection, so a new field needs no code. Maps, bytes and groups, which the
/// schema does not use, have no text.
namespace heddle::api {

/// Fills `message` from the document and returns everything in it that is wrong. What is wrong is
/// left out, so that the rest of the message can be checked for further problems, but not be used.
///
/// Strict: unknown or repeated keys, two members of a oneof and values of another type are
/// problems. Two courtesies: a string may be written without quotes whatever it looks like (`name:
/// 123`, a MAC address), and a list or message whose value is missing (`ports:`) is empty. Whole
/// numbers may be hexadecimal (0x4000).
Problems read(const Document& document, google::protobuf::Message& message);

/// Document::parse() and read() in one, for who has no use for the document's lines.
template <typename Message>
tl::expected<Message, Problems> parse(std::string_view text) {
    return Document::parse(text).and_then(
        [](const Document& document) -> tl::expected<Message, Problems> {
            Message message;
            Problems problems = read(document, message);
            if (!problems.empty()) return tl::unexpected(std::move(problems));
            return message;
        });
}

/// Texts that read() turns into the same message again. Fields stand in the order of the schema;
/// absent ones, and those without presence that have their default, are left out. Both end with a
/// newline. to_json() gives 64-bit numbers as numbers, all digits of them.
std::string to_yaml(const google::protobuf::Message& message);
std::string to_json(const google::protobuf::Message& message);

/// The same for a list of messages.
std::string to_yaml(std::span<const google::protobuf::Message* const> messages);
std::string to_json(std::span<const google::protobuf::Message* const> messages);

}  // namespace heddle::api
