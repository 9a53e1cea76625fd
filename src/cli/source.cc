#include "cli/source.h"

#include <fmt/format.h>
#include <sys/stat.h>

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

}  // namespace

Result<Source> Source::read(const std::string& file, Environment& environment) {
    const std::string name = file == "-" ? "standard input" : file;
    const auto text = read_text(file, environment.in);
    if (!text) return tl::unexpected(text.error());
    auto document = api::Document::parse(*text);
    if (!document) return tl::unexpected(print_problems(name, document.error(), environment.err));
    Source source(name, std::move(*document));
    const api::Problems problems = api::read(source.document_, source.topology_);
    if (!problems.empty()) return tl::unexpected(print_problems(name, problems, environment.err));
    return source;
}

std::string Source::describe(const v1::Problem& problem) const {
    const uint32_t line = problem.path().empty() || problem.line() != 0
                              ? problem.line()
                              : document_.line_of(problem.path());
    return describe_problem(name_, problem, line);
}

}  // namespace heddle::cli
