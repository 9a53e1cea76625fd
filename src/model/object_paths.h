#pragma once

#include <map>
#include <string>
#include <utility>

#include "api/problems.h"

namespace heddle::model {

/// Under which path to report the objects of a topology that was merged from two: an object of the
/// request's has its place in the request, one that only the daemon has is called by its name.
class ObjectPaths {
 public:
    void set(const std::string& list, size_t index, std::string path) {
        paths_[{list, index}] = std::move(path);
    }

    /// Without set(), the object's place in the topology itself: "ports[3]".
    std::string of(const std::string& list, size_t index) const {
        const auto found = paths_.find({list, index});
        return found != paths_.end() ? found->second : api::element(list, index);
    }

 private:
    std::map<std::pair<std::string, size_t>, std::string> paths_;
};

}  // namespace heddle::model
