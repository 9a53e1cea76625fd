#include "api/problems.h"

#include <fmt/format.h>

#include <utility>

namespace heddle::api {

std::string member(const std::string& path, const std::string& field) {
    return path.empty() ? field : path + '.' + field;
}

std::string element(const std::string& path, size_t index) {
    return fmt::format("{}[{}]", path, index);
}

void ProblemList::add(std::string path, std::string message, uint32_t line) {
    if (problems_.size() == kMax) {
        ++omitted_;
        return;
    }
    v1::Problem& problem = problems_.emplace_back();
    problem.set_path(std::move(path));
    problem.set_message(std::move(message));
    problem.set_line(line);
}

Problems ProblemList::take() {
    if (omitted_ > 0) {
        problems_.emplace_back().set_message(fmt::format("and {} more problems", omitted_));
        omitted_ = 0;
    }
    return std::exchange(problems_, {});
}

}  // namespace heddle::api
