#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "cli/client.h"
#include "cli/environment.h"
#include "cli/failure.h"

namespace heddle::cli {

inline constexpr const char* kDefaultSocket = "/run/heddle/heddled.sock";

/// What the commands of one invocation share.
struct Session {
    Environment& environment;
    std::string socket = kDefaultSocket;
    /// The chosen command, ready to run once the whole command line has been understood.
    std::function<Result<void>()> command = {};
};

// Each adds one subcommand with its options to `app`; see docs/cli.md for what they do.
void add_apply(CLI::App& app, Session& session);
void add_delete(CLI::App& app, Session& session);
void add_get(CLI::App& app, Session& session);
void add_status(CLI::App& app, Session& session);
void add_drops(CLI::App& app, Session& session);
void add_watch(CLI::App& app, Session& session);
void add_lookup(CLI::App& app, Session& session);
void add_update_routes(CLI::App& app, Session& session);
void add_completion(CLI::App& app, Session& session);

}  // namespace heddle::cli
