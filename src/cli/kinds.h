#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/heddle.pb.h"
#include "cli/failure.h"

namespace heddle::cli {

/// A kind of object as the command line knows it.
struct Kind {
    std::string_view name;                  ///< "ports"
    std::vector<std::string_view> aliases;  ///< "port", "p"
    v1::GetRequest::Kind request;
    std::string_view
        desired;     ///< what the desired state calls it, "port"; empty: cannot be deleted
    bool has_names;  ///< whether `get` can select by name (for fdb: of the network)
};

const std::vector<Kind>& kinds();

/// Finds by name or alias; `deletable` restricts to what can be deleted.
Result<const Kind*> find_kind(std::string_view text, bool deletable = false);

}  // namespace heddle::cli
