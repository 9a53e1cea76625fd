#include "cli/changes.h"

#include <fmt/format.h>

#include <string>

#include "api/change_text.h"

namespace heddle::cli {
namespace {

std::string subject(const v1::Change& change) {
    return change.name().empty() ? change.kind() : change.kind() + ' ' + change.name();
}

char sign(v1::Change::Action action) {
    switch (action) {
        case v1::Change::CREATE:
            return '+';
        case v1::Change::UPDATE:
            return '~';
        case v1::Change::DELETE:
            return '-';
        default:
            return '=';
    }
}

void print_done(const v1::Change& change, std::ostream& out) {
    out << fmt::format("{} {}\n", subject(change), api::describe(change));
}

void print_planned(const v1::Change& change, std::ostream& out) {
    out << fmt::format("{} {}\n", sign(change.action()), subject(change));
    for (const std::string& detail : change.details())
        out << "    " << detail << '\n';
}

}  // namespace

Result<void> report(const v1::ApplyResponse& response, bool dry_run, const Describe& describe,
                    std::ostream& out, std::ostream& err) {
    for (const v1::Problem& problem : response.problems())
        err << describe(problem) << '\n';
    if (response.problems_size() > 0) return refused("nothing was changed");

    for (const v1::Change& change : response.changes()) {
        dry_run ? print_planned(change, out) : print_done(change, out);
    }
    if (dry_run) out << "Nothing was changed: this was a dry run.\n";
    for (const v1::Problem& warning : response.warnings()) {
        err << "warning: " << describe(warning) << '\n';
    }
    return {};
}

}  // namespace heddle::cli
