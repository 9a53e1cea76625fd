#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/heddle.pb.h"

namespace heddle::api {

using Problems = std::vector<v1::Problem>;

/// Path of a field of the message at `path`: "ports[3]" and "mtu" give "ports[3].mtu".
std::string member(const std::string& path, const std::string& field);

/// Path of an element of the list at `path`: "ports" and 3 give "ports[3]".
std::string element(const std::string& path, size_t index);

/// Collects everything that is wrong with a document. A hostile document can be wrong in millions
/// of places: beyond kMax problems are only counted.
class ProblemList {
 public:
    static constexpr size_t kMax = 200;

    void add(std::string path, std::string message, uint32_t line = 0);
    bool empty() const noexcept { return problems_.empty(); }

    /// What was collected, followed by how many more there were.
    Problems take();

 private:
    Problems problems_;
    size_t omitted_ = 0;
};

}  // namespace heddle::api
