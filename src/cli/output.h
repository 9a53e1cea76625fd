#pragma once

#include <google/protobuf/message.h>

#include <CLI/CLI.hpp>
#include <ostream>
#include <span>
#include <string>

namespace heddle::cli {

/// The formats that every command with an output has; what has no wider table takes `wide` for
/// `table`.
inline constexpr const char* kFormats[] = {"table", "wide", "json", "yaml"};

/// Adds `-o FORMAT`, which is stored in `format`.
void add_output_option(CLI::App& command, std::string& format);

/// Whether the format is one for programs.
bool is_text(const std::string& format);

/// Prints in a format for which is_text() holds.
void print_text(const google::protobuf::Message& message, const std::string& format,
                std::ostream& out);
void print_text(std::span<const google::protobuf::Message* const> messages,
                const std::string& format, std::ostream& out);

}  // namespace heddle::cli
