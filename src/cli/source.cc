#include "cli/source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "api/quote.h"
#include "api/text.h"

namespace heddle::cli {
namespace {

std::string describe_problem(const std::string& name, const v1::Problem& problem, uint32_t line) {
    return fmt::format("{}:{} {}{}{}", name, line == 0 ? "" : fmt::format("{}:", line),
                       problem.path(), problem.path().empty() ? "" : ": ", problem.message());
}

/// At most one byte more than a document may have, which Document then refuses.
std::string read_bounded(std::istream& in) {
    std::string text(api::Document::kMaxBytes + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(in.gcount()));
    return text;
}

Result<std::string> read_text(const std::string& file, std::istream& standard_input) {
    if (file == "-") return read_bounded(standard_input);
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    struct stat status {};
    if (!in || stat(file.c_str(), &status) != 0) {
        return unable(fmt::format("{}: {}", file, std::generic_category().message(errno)));
    }
    if (S_ISDIR(status.st_mode)) return unable(file + ": is a directory");
    return read_bounded(in);
}

Failure print_problems(const std::string& name, const api::Problems& problems, std::ostream& err) {
    for (const v1::Problem& problem : problems) {
        err << describe_problem(name, problem, problem.line()) << '\n';
    }
    return {kRefused, ""};
}

/// Whether `path` is the place `of` or lies in it, as "ports[3].tap.mac" lies in "ports[3]".
bool is_within(const std::string& path, const std::string& of) {
    return path.starts_with(of) && (of.empty() || path.size() == of.size() ||
                                    path[of.size()] == '.' || path[of.size()] == '[');
}

bool concerns_any(const v1::Problem& problem, const api::Problems& others) {
    return std::any_of(others.begin(), others.end(), [&](const v1::Problem& other) {
        return is_within(problem.path(), other.path()) || is_within(other.path(), problem.path());
    });
}

}  // namespace

Result<Source> Source::read(const std::string& file, Environment& environment,
                            const FurtherProblems& further) {
    const std::string name = file == "-" ? "standard input" : file;
    const auto text = read_text(file, environment.in);
    if (!text) return tl::unexpected(text.error());
    auto document = api::Document::parse(*text);
    if (!document) return tl::unexpected(print_problems(name, document.error(), environment.err));
    Source source(name, std::move(*document));
    const api::Problems problems = api::read(source.document_, source.topology_);
    if (problems.empty()) return source;
    const Failure failure = print_problems(name, problems, environment.err);
    if (further) {
        for (const v1::Problem& problem : further(source.topology_)) {
            // What could not be read leaves gaps that look like other problems.
            if (concerns_any(problem, problems)) continue;
            environment.err << source.describe(problem) << '\n';
        }
    }
    return tl::unexpected(failure);
}

std::string Source::describe(const v1::Problem& problem) const {
    const uint32_t line = problem.path().empty() || problem.line() != 0
                              ? problem.line()
                              : document_.line_of(problem.path());
    return describe_problem(name_, problem, line);
}

}  // namespace heddle::cli
