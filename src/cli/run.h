#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/environment.h"

namespace heddle::cli {

/// The whole command line: all commands with their options. `session` must outlive it.
std::unique_ptr<CLI::App> make_app(Session& session);

/// Runs `heddle` with these arguments, without the program's name. Returns its exit status.
int run(const std::vector<std::string>& arguments, Environment& environment);

}  // namespace heddle::cli
