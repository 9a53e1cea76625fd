#pragma once

#include <cstdint>
#include <set>

namespace heddle::control {

/// Hands out the lowest free number from 1 on.
class IdPool {
 public:
    uint32_t take() {
        if (free_.empty()) return ++highest_;
        const uint32_t id = *free_.begin();
        free_.erase(free_.begin());
        return id;
    }
    void give_back(uint32_t id) { free_.insert(id); }

 private:
    uint32_t highest_ = 0;
    std::set<uint32_t> free_;
};

}  // namespace heddle::control
