#include "cli/output.h"

#include <vector>

#include "api/text.h"

namespace heddle::cli {

void add_output_option(CLI::App& command, std::string& format) {
    command.add_option("-o,--output", format, "table, wide, json or yaml")
        ->check(CLI::IsMember(std::vector<std::string>(std::begin(kFormats), std::end(kFormats))))
        ->type_name("FORMAT");
}

bool is_text(const std::string& format) {
    return format == "json" || format == "yaml";
}

void print_text(const google::protobuf::Message& message, const std::string& format,
                std::ostream& out) {
    out << (format == "json" ? api::to_json(message) : api::to_yaml(message));
}

void print_text(std::span<const google::protobuf::Message* const> messages,
                const std::string& format, std::ostream& out) {
    out << (format == "json" ? api::to_json(messages) : api::to_yaml(messages));
}

}  // namespace heddle::cli
