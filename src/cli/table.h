#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace heddle::cli {

/// Rows under headings, in aligned columns.
class Table {
 public:
    struct Column {
        std::string heading;
        bool is_number = false;  ///< aligned to the right
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// As many cells as there are columns. An empty cell is shown as "-". Control characters are
    /// escaped: a table is for a terminal.
    void add(std::vector<std::string> row);

    void print(std::ostream& out) const;

 private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace heddle::cli
