#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "api/problems.h"

namespace heddle::api {

/// A YAML value as it was written, before a schema gives it a type.
struct Node {
    enum class Kind : uint8_t { null, scalar, sequence, map };

    Kind kind = Kind::null;
    bool plain = true;  ///< scalar without quotes: may be a number or a bool
    uint32_t line = 0;  ///< from 1
    std::string text;   ///< of a scalar
    /// Elements of a sequence; key, value, key, value, ... of a map. An alias is a second pointer
    /// to the anchor's node, so the tree is in truth an acyclic graph.
    std::vector<const Node*> children;
    size_t weight = 0;  ///< what the node and all below it count towards Document::kMaxWeight
};

/// One YAML 1.2 document, thus also one JSON text (RFC 8259). Reading it costs bounded memory
/// whatever the text is: size, depth and what aliases multiply are limited.
class Document {
 public:
    static constexpr size_t kMaxBytes = 16U << 20U;
    static constexpr size_t kMaxDepth = 64;
    /// Every value counts kNodeWeight and its length, once for each place where an alias puts it.
    static constexpr size_t kMaxWeight = kMaxBytes;
    static constexpr size_t kNodeWeight = 8;

    /// Refuses what is no single, well-formed document of UTF-8 without NUL.
    static tl::expected<Document, Problems> parse(std::string_view text);

    /// Kind::null for an empty text.
    const Node& root() const noexcept { return *root_; }

    /// Line of the value at `path` ("ports[3].tap.mac"), or of the innermost part of the path that
    /// the document has; 0 for a path that leads nowhere in it.
    uint32_t line_of(std::string_view path) const;

 private:
    friend class DocumentBuilder;
    Document() = default;

    std::deque<Node> nodes_;  // a deque: nodes never move
    const Node* root_ = nullptr;
};

}  // namespace heddle::api
