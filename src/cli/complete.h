#pragma once

#include <string>
#include <vector>

namespace heddle::cli {

/// What can stand in place of the last of `words`, the beginning of a command line without the
/// program's name. Empty where a file name, or nothing, is expected. Names come from the daemon, if
/// it answers at once.
std::vector<std::string> complete(const std::vector<std::string>& words, const std::string& socket);

}  // namespace heddle::cli
