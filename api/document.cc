#include "api/document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <istream>
#include <optional>
#include <streambuf>
#include <utility>

#include "api/quote.h"

namespace heddle::api {

/// Turns yaml-cpp's events into nodes. yaml-cpp can only be stopped by an exception: that is what
/// Refused is, and parse_events() is as far as it goes.
class DocumentBuilder final : public YAML::EventHandler {
 public:
    struct Refused {
        std::string message;
        uint32_t line;
    };

    void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        attach(make(Node::Kind::null, mark, anchor));
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        Node& node = make(Node::Kind::scalar, mark, anchor);
        node.plain = tag == "?";
        if (!node.plain && tag != "!" && tag != "tag:yaml.org,2002:str") refuse_tag(tag, mark);
        node.text = value;
        node.weight += value.size();
        add_weight(value.size(), mark);
        attach(node);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value /*style*/) override {
        open(Node::Kind::sequence, mark, tag, anchor);
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value /*style*/) override {
        open(Node::Kind::map, mark, tag, anchor);
    }
    void OnMapEnd() override { close(); }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const Node& target = *anchors_.at(anchor - 1);
        if (std::find(open_.begin(), open_.end(), &target) != open_.end()) {
            throw Refused{"an alias inside of the value it stands for", line(mark)};
        }
        add_weight(target.weight, mark);
        attach(target);
    }

    Document take() {
        if (document_.root_ == nullptr) document_.root_ = &document_.nodes_.emplace_back();
        return std::move(document_);
    }

 private:
    static uint32_t line(const YAML::Mark& mark) { return static_cast<uint32_t>(mark.line + 1); }

    [[noreturn]] static void refuse_tag(const std::string& tag, const YAML::Mark& mark) {
        throw Refused{fmt::format("the YAML tag {} has no meaning here", quote_brief(tag)),
                      line(mark)};
    }

    void add_weight(size_t weight, const YAML::Mark& mark) {
        weight_ += weight;
        if (weight_ <= Document::kMaxWeight) return;
        throw Refused{"the document is too large: too many values, or aliases that multiply",
                      line(mark)};
    }

    Node& make(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
        add_weight(Document::kNodeWeight, mark);
        Node& node = document_.nodes_.emplace_back();
        node.kind = kind;
        node.line = line(mark);
        node.weight = Document::kNodeWeight;
        if (anchor != YAML::NullAnchor) {
            anchors_.resize(std::max(anchors_.size(), anchor));
            anchors_[anchor - 1] = &node;
        }
        return node;
    }

    void attach(const Node& node) {
        if (open_.empty()) {
            document_.root_ = &node;
            return;
        }
        open_.back()->children.push_back(&node);
        open_.back()->weight += node.weight;
    }

    void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
              YAML::anchor_t anchor) {
        if (tag != "?" && tag != "!" && !tag.empty()) refuse_tag(tag, mark);
        if (open_.size() == Document::kMaxDepth) {
            throw Refused{fmt::format("nested more than {} levels deep", Document::kMaxDepth),
                          line(mark)};
        }
        open_.push_back(&make(kind, mark, anchor));
    }

    void close() {
        const Node& node = *open_.back();
        open_.pop_back();
        attach(node);
    }

    Document document_;
    std::vector<Node*> open_;
    std::vector<const Node*> anchors_;  // by anchor_t - 1
    size_t weight_ = 0;
};

namespace {

/// A stream over text that is not copied.
class ViewBuffer final : public std::streambuf {
 public:
    explicit ViewBuffer(std::string_view text) {
        char* begin = const_cast<char*>(text.data());  // streambuf's interface; only read
        setg(begin, begin, begin + text.size());
    }
};

tl::unexpected<Problems> refuse(std::string message, uint32_t line = 0) {
    ProblemList problems;
    problems.add("", std::move(message), line);
    return tl::unexpected(problems.take());
}

/// yaml-cpp takes any bytes. Says what is wrong with them, and leaves in `line` where.
std::optional<std::string> bad_bytes(std::string_view text, uint32_t& line) {
    line = 1;
    for (size_t i = 0; i < text.size();) {
        const size_t length = utf8_length(text.substr(i));
        if (length == 0) return "not UTF-8";
        if (text[i] == '\0') return "a NUL byte";
        if (text[i] == '\n') ++line;
        i += length;
    }
    return std::nullopt;
}

}  // namespace

tl::expected<Document, Problems> Document::parse(std::string_view text) {
    if (text.size() > kMaxBytes) {
        return refuse(fmt::format("larger than {} MiB", kMaxBytes >> 20U));
    }
    uint32_t line = 0;
    if (const auto reason = bad_bytes(text, line)) return refuse(*reason, line);

    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    try {
        YAML::Parser parser(stream);
        DocumentBuilder builder;
        parser.HandleNextDocument(builder);
        DocumentBuilder second;
        if (parser.HandleNextDocument(second)) {
            return refuse("more than one document (\"---\"); apply them one by one",
                          second.take().root().line);
        }
        return builder.take();
    } catch (const DocumentBuilder::Refused& refused) {
        return refuse(refused.message, refused.line);
    } catch (const YAML::Exception& error) {
        return refuse(error.msg,
                      error.mark.is_null() ? 0 : static_cast<uint32_t>(error.mark.line + 1));
    }
}

uint32_t Document::line_of(std::string_view path) const {
    // ports["web"] is an object the document lacks.
    if (path.find('"') != std::string_view::npos) return 0;
    const Node* node = root_;
    while (!path.empty()) {
        const Node* next = nullptr;
        if (path[0] == '[') {
            size_t index = 0;
            const char* end = path.data() + path.size();
            const auto [stop, error] = std::from_chars(path.data() + 1, end, index);
            if (error != std::errc() || stop == end || *stop != ']') return 0;
            path.remove_prefix(static_cast<size_t>(stop + 1 - path.data()));
            if (node->kind == Node::Kind::sequence && index < node->children.size()) {
                next = node->children[index];
            }
        } else {
            if (path[0] == '.') path.remove_prefix(1);
            const std::string_view name = path.substr(0, path.find_first_of(".["));
            path.remove_prefix(name.size());
            if (node->kind == Node::Kind::map) {
                for (size_t i = 0; i + 1 < node->children.size(); i += 2) {
                    if (node->children[i]->text == name) next = node->children[i + 1];
                }
            }
        }
        if (next == nullptr) break;
        node = next;
    }
    return node->line;
}

}  // namespace heddle::api
