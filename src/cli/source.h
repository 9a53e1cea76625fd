#pragma once

#include <functional>
#include <string>

#include "api/document.h"
#include "cli/environment.h"
#include "cli/failure.h"

namespace heddle::cli {

/// A topology document and where it came from, so that problems can say where they are.
class Source {
 public:
    /// Says what else is wrong with a document whose text has problems, as far as it could be read.
    using FurtherProblems = std::function<api::Problems(const v1::Topology& readable)>;

    /// `file` is a path or "-" for standard input. Problems of the text are printed to `err`, and
    /// those that `further` finds in other places of the document with them.
    static Result<Source> read(const std::string& file, Environment& environment,
                               const FurtherProblems& further = {});

    const v1::Topology& topology() const noexcept { return topology_; }

    /// "FILE:LINE: ports[3].mac: message". Takes the line from the path if the problem has none.
    std::string describe(const v1::Problem& problem) const;

 private:
    Source(std::string name, api::Document document)
        : name_(std::move(name)), document_(std::move(document)) {}

    std::string name_;
    api::Document document_;
    v1::Topology topology_;
};

}  // namespace heddle::cli
