#include "packet/drop.h"

#include <array>

namespace heddle::packet {
namespace {

struct Text {
    std::string_view name;
    std::string_view meaning;
};

constexpr std::array<Text, kDropReasonCount> kTexts{{
#define X(identifier, name, meaning) {name, meaning},
    HEDDLE_DROP_REASONS(X)
#undef X
}};

}  // namespace

std::string_view name(DropReason reason) {
    return kTexts[static_cast<size_t>(reason)].name;
}

std::string_view meaning(DropReason reason) {
    return kTexts[static_cast<size_t>(reason)].meaning;
}

}  // namespace heddle::packet
