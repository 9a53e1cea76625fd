#pragma once

#include <string>
#include <tl/expected.hpp>

#include "cli/environment.h"

namespace heddle::cli {

/// Why a command ends: a sentence for the user, and the exit status.
struct Failure {
    ExitStatus status = kRefused;
    std::string message;
};

template <typename T>
using Result = tl::expected<T, Failure>;

inline tl::unexpected<Failure> unable(std::string message) {
    return tl::unexpected(Failure{kUnable, std::move(message)});
}

inline tl::unexpected<Failure> refused(std::string message) {
    return tl::unexpected(Failure{kRefused, std::move(message)});
}

}  // namespace heddle::cli
