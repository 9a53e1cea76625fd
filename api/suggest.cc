#include "api/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace heddle::api {
namespace {

/// Names of the schema are short; what is much longer is no misspelling of one.
constexpr size_t kLongestWord = 64;

char normal(char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Letters to add, remove, replace or swap with a neighbour (optimal string alignment) to get from
/// one word to the other; upper and lower case, and '-' and '_', are the same.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) {
        for (size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            const auto same = [&](size_t x, size_t y) {
                return normal(a[x - 1]) == normal(b[y - 1]);
            };
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                                   cost[i - 1][j - 1] + (same(i, j) ? 0 : 1)});
            if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) {
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
            }
        }
    }
    return cost[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
    if (word.empty() || word.size() > kLongestWord) return {};
    std::string_view best;
    size_t least = kLongestWord;
    for (const std::string_view candidate : candidates) {
        // An abbreviation counts as one mistake. Otherwise a third of the letters may be wrong:
        // "adress" is a neighbour of "addresses", "foo" is nobody's.
        const bool abbreviated = word.size() >= 3 && candidate.starts_with(word);
        const size_t mistakes = abbreviated ? 1 : distance(word, candidate);
        const size_t tolerated = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
        if (mistakes <= tolerated && mistakes < least) {
            least = mistakes;
            best = candidate;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
    const std::string_view best = nearest(word, candidates);
    return best.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", best);
}

}  // namespace heddle::api
