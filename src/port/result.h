#pragma once

#include <cerrno>
#include <string>
#include <tl/expected.hpp>

namespace heddle::port {

template <typename T>
using Result = tl::expected<T, std::string>;  ///< the error is a sentence for the operator

/// Text of an errno value; by default of the last one. Safe in threads.
std::string error_text(int error = errno);

}  // namespace heddle::port
