#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/quote.h"

namespace heddle::cli {
namespace {

constexpr const char* kGap = "  ";

/// Characters, which is what fills a terminal as long as they are not wide.
size_t width(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

}  // namespace

void Table::add(std::vector<std::string> row) {
    for (std::string& cell : row)
        cell = cell.empty() ? "-" : api::printable(cell);
    rows_.push_back(std::move(row));
}

void Table::print(std::ostream& out) const {
    std::vector<size_t> widths;
    for (size_t i = 0; i < columns_.size(); ++i) {
        widths.push_back(width(columns_[i].heading));
        for (const auto& row : rows_)
            widths[i] = std::max(widths[i], width(row[i]));
    }
    const auto print_row = [&](auto cell) {
        std::string line;
        for (size_t i = 0; i < columns_.size(); ++i) {
            const std::string& text = cell(i);
            const std::string padding(widths[i] - width(text), ' ');
            if (i > 0) line += kGap;
            line += columns_[i].is_number ? padding + text : text + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << '\n';
    };
    print_row([&](size_t i) -> const std::string& { return columns_[i].heading; });
    for (const auto& row : rows_) {
        print_row([&](size_t i) -> const std::string& { return row[i]; });
    }
}

}  // namespace heddle::cli
