#include "api/change_text.h"

#include <fmt/format.h>

namespace heddle::api {
namespace {

const char* done(v1::Change::Action action) {
    switch (action) {
        case v1::Change::CREATE:
            return "created";
        case v1::Change::UPDATE:
            return "updated";
        case v1::Change::DELETE:
            return "deleted";
        default:
            return "unchanged";
    }
}

}  // namespace

std::string describe(const v1::Change& change) {
    return fmt::format("{}{}{}", done(change.action()), change.details().empty() ? "" : ": ",
                       fmt::join(change.details(), "; "));
}

}  // namespace heddle::api
