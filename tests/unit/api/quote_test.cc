#include "api/quote.h"

#include <gtest/gtest.h>

namespace heddle::api {
namespace {

TEST(Quote, EscapesWhatIsNotPrintable) {
    EXPECT_EQ(quote("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
    EXPECT_EQ(quote("\x1b[31m\x7f"), R"("\u001b[31m\u007f")");
    EXPECT_EQ(quote("\u009b"), R"("\u009b")") << "the C1 form of ESC [";
    EXPECT_EQ(quote("\u00a0\u00e9\U0001f600"), "\"\u00a0\u00e9\U0001f600\"");
    EXPECT_EQ(quote(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(Quote, ReplacesBytesThatAreNotUtf8) {
    EXPECT_EQ(quote("a\xff"
                    "b\xc3"),
              R"("a\ufffdb\ufffd")");
}

TEST(Printable, LeavesQuotesAlone) {
    EXPECT_EQ(printable("a \"b\" \\ \u00e9"), "a \"b\" \\ \u00e9");
    EXPECT_EQ(printable("\x1b[2J\n\xff"), R"(\u001b[2J\n\ufffd)");
}

TEST(QuoteBrief, CutsBetweenCharacters) {
    EXPECT_EQ(quote_brief(std::string(80, 'x')), '"' + std::string(80, 'x') + '"');
    EXPECT_EQ(quote_brief(std::string(79, 'x') + "\u00e9z"), '"' + std::string(79, 'x') + "\"...");
}

}  // namespace
}  // namespace heddle::api
