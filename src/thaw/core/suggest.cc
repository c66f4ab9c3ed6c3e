#include "thaw/core/suggest.h"

#include <algorithm>
#include <vector>

namespace thaw {
namespace {

size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      size_t best = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) best = std::min(best, rows[i - 2][j - 2] + 1);
      rows[i][j] = best;
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view typed, std::span<const std::string_view> known) {
  constexpr size_t kLongestWord = 64;  // nobody mistypes more; the table is quadratic in it
  if (typed.size() > kLongestWord) return {};
  std::string_view best;
  size_t least = 0;
  for (const std::string_view word : known) {
    const size_t edits = edits_between(typed, word.substr(0, kLongestWord));
    if (edits <= std::max<size_t>(1, word.size() / 3) && (best.empty() || edits < least)) {
      best = word;
      least = edits;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known) {
  const std::string_view word = nearest(typed, known);
  return word.empty() ? std::string() : " (did you mean '" + std::string(word) + "'?)";
}

}  // namespace thaw
