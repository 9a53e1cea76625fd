#pragma once

#include <functional>
#include <istream>
#include <ostream>

namespace heddle::cli {

/// What a command has of the world besides files and the daemon. Tests bring their own.
struct Environment {
    std::istream& in;
    std::ostream& out;
    std::ostream& err;
    bool out_is_terminal = false;
    /// Waits until a repeated output is due again; false ends the command.
    std::function<bool()> pause;
};

/// Exit statuses, as docs/cli.md promises them.
enum ExitStatus : int {
    kDone = 0,
    kRefused = 1,  ///< the daemon, or the document itself, says no
    kUnable = 2,   ///< wrong usage, or no daemon
};

}  // namespace heddle::cli
