#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Texts that name something. Each function says what is wrong with `text`, or nothing.
namespace heddle::model {

/// Name of an object: 1 to 63 characters of [A-Za-z0-9._-], beginning with a letter or digit.
std::optional<std::string> object_name_problem(std::string_view text);

/// Name of a Linux interface: what net/core/dev.c's dev_valid_name() takes, less '%', which it
/// would replace by a number, and what is not printable ASCII.
std::optional<std::string> interface_name_problem(std::string_view text);

/// A network namespace: a name under /run/netns, or an absolute path.
std::optional<std::string> netns_problem(std::string_view text);

/// Absolute path of a network namespace, one for all ways to write it: "c1", "/run/netns/c1" and
/// "/var/run/netns//c1" are the same. Empty for the empty text: the daemon's own namespace.
std::string netns_path(std::string_view text);

}  // namespace heddle::model
