#include "api/document.h"

#include <gmock/gmock.h>

#include <string>

namespace heddle::api {
namespace {

using ::testing::HasSubstr;

/// "line: message" of the one problem that refuses `text`.
std::string refusal(const std::string& text) {
    const auto document = Document::parse(text);
    if (document.has_value()) return "accepted";
    return std::to_string(document.error().at(0).line()) + ": " + document.error().at(0).message();
}

std::string repeat(const std::string& text, size_t times) {
    std::string result;
    result.reserve(text.size() * times);
    for (size_t i = 0; i < times; ++i)
        result += text;
    return result;
}

TEST(Document, EmptyTextIsNull) {
    for (const char* text :
         {"", "\n\n", "# nothing\n", "---\n", "~", "--- # only a marker\n...\n"}) {
        const auto document = Document::parse(text);
        ASSERT_TRUE(document.has_value()) << text;
        EXPECT_EQ(document->root().kind, Node::Kind::null) << text;
    }
}

TEST(Document, BytesThatAreNotTextAreRefusedWithTheirLine) {
    EXPECT_EQ(refusal("a: 1\nb: \xff\n"), "2: not UTF-8");
    EXPECT_EQ(refusal("a: \xc0\x80"), "1: not UTF-8");
    EXPECT_EQ(refusal("a: \xed\xa0\x80"), "1: not UTF-8") << "a surrogate";
    EXPECT_EQ(refusal("a: \xe2\x82"), "1: not UTF-8") << "cut off";
    EXPECT_EQ(refusal(std::string("a: 1\n\n\0", 7)), "3: a NUL byte");
    EXPECT_EQ(refusal("\xff\xfe"
                      "a"),
              "1: not UTF-8")
        << "UTF-16";
}

TEST(Document, ByteOrderMarkIsIgnored) {
    const auto document = Document::parse(
        "\xef\xbb\xbf"
        "a: 1\n");
    ASSERT_TRUE(document.has_value());
    EXPECT_EQ(document->root().children.at(0)->text, "a");
}

TEST(Document, SyntaxErrorHasItsLine) {
    EXPECT_THAT(refusal("a: 1\nb: [1, 2\n"), testing::StartsWith("3: "));
    EXPECT_THAT(refusal("a: 1\n\tb: 2\n"), testing::StartsWith("2: "));
    EXPECT_THAT(refusal("a: *nowhere\n"), HasSubstr("anchor is not defined"));
}

TEST(Document, SecondDocumentIsRefused) {
    EXPECT_THAT(refusal("a: 1\n---\nb: 2\n"), testing::StartsWith("3: more than one document"));
    EXPECT_THAT(refusal("a: 1\n---\n"), HasSubstr("more than one document"));
}

TEST(Document, TagsAreRefusedExceptForString) {
    EXPECT_THAT(refusal("a: !!python/object x\n"), HasSubstr("YAML tag"));
    EXPECT_THAT(refusal("a: !!map {}\n"), HasSubstr("YAML tag"));
    const auto document = Document::parse("a: !!str 5\n");
    ASSERT_TRUE(document.has_value());
    EXPECT_FALSE(document->root().children.at(1)->plain);
}

TEST(Document, DepthIsBounded) {
    const size_t most = Document::kMaxDepth;
    EXPECT_EQ(refusal(repeat("[", most) + repeat("]", most)), "accepted");
    EXPECT_THAT(refusal(repeat("[", most + 1) + repeat("]", most + 1)), HasSubstr("levels deep"));
    EXPECT_THAT(refusal(repeat("[", 1U << 20U)), HasSubstr("levels deep"));
    EXPECT_THAT(refusal(repeat("{a: ", 10000)), HasSubstr("levels deep"));
    EXPECT_THAT(refusal(repeat("- ", 10000)), HasSubstr("levels deep"));
}

TEST(Document, SizeIsBounded) {
    EXPECT_EQ(refusal(std::string(Document::kMaxBytes + 1, ' ')), "0: larger than 16 MiB");
    EXPECT_THAT(refusal(repeat("- \n", 4U << 20U)), HasSubstr("too large"));
}

TEST(Document, AliasesThatMultiplyAreRefused) {
    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string alias = "*a" + std::to_string(i - 1);
        const std::string name = "a" + std::to_string(i);
        bomb.append(name).append(": &").append(name).append(" [");
        bomb.append(repeat(alias + ",", 8)).append(alias).append("]\n");
    }
    EXPECT_THAT(refusal(bomb), HasSubstr("aliases that multiply"));
}

TEST(Document, AliasOfItselfIsRefused) {
    EXPECT_THAT(refusal("a: &x [1, *x]\n"), HasSubstr("an alias inside of the value"));
    EXPECT_THAT(refusal("&x {a: {b: *x}}\n"), HasSubstr("an alias inside of the value"));
}

TEST(Document, AliasIsAnotherPlaceOfTheSameValue) {
    const auto document = Document::parse("a: &x {k: v}\nb: *x\n");
    ASSERT_TRUE(document.has_value());
    const Node& root = document->root();
    EXPECT_EQ(root.children.at(1), root.children.at(3));
}

TEST(Document, LineOfPath) {
    const auto document = Document::parse(
        "# comment\n"     // 1
        "ports:\n"        // 2
        "  - name: a\n"   // 3
        "    tap:\n"      // 4
        "      mac: x\n"  // 5
        "  - name: b\n"   // 6
        "    mtu: 5\n");  // 7
    ASSERT_TRUE(document.has_value());
    EXPECT_EQ(document->line_of("ports[0].tap.mac"), 5U);
    EXPECT_EQ(document->line_of("ports[1].mtu"), 7U);
    EXPECT_EQ(document->line_of("ports[1]"), 6U);
    EXPECT_EQ(document->line_of("ports[1].absent.deep"), 6U) << "the innermost part there is";
    EXPECT_EQ(document->line_of("ports[\"c\"].mtu"), 0U) << "an object of the daemon's";
    EXPECT_EQ(document->line_of(""), 2U);
    EXPECT_EQ(document->line_of("ports[99999999999999999999]"), 0U);
}

}  // namespace
}  // namespace heddle::api
