#include "model/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace heddle::model {
namespace {

constexpr size_t kMaxObjectName = 63;     // a DNS label, as Kubernetes' names
constexpr size_t kMaxInterfaceName = 15;  // IFNAMSIZ - 1
constexpr size_t kMaxFileName = 255;      // NAME_MAX
constexpr size_t kMaxPath = 4095;         // PATH_MAX - 1

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_printable(char c) {
    return c > ' ' && c < '\x7f';
}

bool is_dots(std::string_view text) {
    return text == "." || text == "..";
}

}  // namespace

std::optional<std::string> object_name_problem(std::string_view text) {
    if (text.empty()) return "must be given";
    if (text.size() > kMaxObjectName)
        return fmt::format("longer than {} characters", kMaxObjectName);
    const auto allowed = [](char c) {
        return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
    };
    if (!std::all_of(text.begin(), text.end(), allowed)) {
        return "may only have letters, digits, '.', '_' and '-'";
    }
    if (!is_alphanumeric(text[0])) return "must begin with a letter or digit";
    return std::nullopt;
}

std::optional<std::string> interface_name_problem(std::string_view text) {
    if (text.size() > kMaxInterfaceName) {
        return fmt::format("longer than {} characters, which Linux allows an interface",
                           kMaxInterfaceName);
    }
    const auto allowed = [](char c) { return is_printable(c) && c != '/' && c != ':' && c != '%'; };
    if (text.empty() || is_dots(text) || !std::all_of(text.begin(), text.end(), allowed)) {
        return "not a name that Linux allows an interface";
    }
    return std::nullopt;
}

std::optional<std::string> netns_problem(std::string_view text) {
    if (text.size() > kMaxPath || !std::all_of(text.begin(), text.end(), is_printable)) {
        return "not the name or path of a network namespace";
    }
    if (text.starts_with('/')) return std::nullopt;
    if (text.find('/') != text.npos) {
        return "must be a name under /run/netns or an absolute path";
    }
    if (text.empty() || text.size() > kMaxFileName || is_dots(text)) {
        return "not the name of a network namespace";
    }
    return std::nullopt;
}

std::string netns_path(std::string_view text) {
    if (text.empty()) return {};
    // An absolute right-hand side replaces the left one.
    const auto path = (std::filesystem::path("/run/netns") / text).lexically_normal().string();
    constexpr std::string_view kOldRun =
        "/var/run/";  // a link to /run on every current distribution
    return path.starts_with(kOldRun) ? "/run/" + path.substr(kOldRun.size()) : path;
}

}  // namespace heddle::model
