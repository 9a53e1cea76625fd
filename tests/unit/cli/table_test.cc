#include "cli/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace heddle::cli {
namespace {

TEST(Table, AlignsColumnsWithoutTrailingBlanks) {
    Table table({{"NAME"}, {"RX", true}, {"STATE"}});
    table.add({"web", "12345", "up"});
    table.add({"\u00e9t\u00e9-long", "7", ""});
    std::ostringstream out;
    table.print(out);
    EXPECT_EQ(out.str(),
              "NAME         RX  STATE\n"
              "web       12345  up\n"
              "\u00e9t\u00e9-long      7  -\n");
}

TEST(Table, ControlCharactersDoNotReachTheTerminal) {
    Table table({{"A"}});
    table.add({"\x1b[2J"});
    std::ostringstream out;
    table.print(out);
    EXPECT_EQ(out.str(), "A\n\\u001b[2J\n");
}

}  // namespace
}  // namespace heddle::cli
