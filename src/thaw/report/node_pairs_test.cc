#include "thaw/report/node_pairs.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace thaw::report {
namespace {

using Tokens = std::vector<size_t>;

size_t length_by_table(const Tokens& a, const Tokens& b) {
  std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[a.size()][b.size()];
}

void expect_longest(const Tokens& a, const Tokens& b) {
  const auto common = common_subsequence(a, b, a.size() + b.size());
  RC_ASSERT(common.has_value());
  for (size_t k = 0; k < common->size(); ++k) {
    const auto [i, j] = (*common)[k];
    RC_ASSERT(i < a.size() && j < b.size() && a[i] == b[j]);
    if (k > 0) RC_ASSERT((*common)[k - 1].first < i && (*common)[k - 1].second < j);
  }
  RC_ASSERT(common->size() == length_by_table(a, b));
}

RC_GTEST_PROP(CommonSubsequence, IsOneAndNoneIsLonger, ()) {
  const auto tokens = rc::gen::container<Tokens>(rc::gen::inRange<size_t>(0, 4));
  expect_longest(*tokens, *tokens);
}

RC_GTEST_PROP(CommonSubsequence, OfASequenceAndItsEdit, ()) {
  const Tokens a = *rc::gen::container<Tokens>(rc::gen::inRange<size_t>(0, 9));
  Tokens b = a;
  for (const size_t at : *rc::gen::container<Tokens>(3, rc::gen::inRange<size_t>(0, 1000))) {
    if (!b.empty() && at % 2 == 0) b.erase(b.begin() + static_cast<std::ptrdiff_t>(at % b.size()));
    if (at % 3 == 0) b.insert(b.begin() + static_cast<std::ptrdiff_t>(at % (b.size() + 1)), at);
  }
  expect_longest(a, b);
}

TEST(CommonSubsequence, GivesUpPastItsBudget) {
  const Tokens a = {1, 2, 3, 4};
  const Tokens b = {1, 9, 3, 8};
  EXPECT_FALSE(common_subsequence(a, b, 3).has_value());
  EXPECT_EQ(common_subsequence(a, b, 4)->size(), 2u);
  EXPECT_EQ(common_subsequence(a, a, 0)->size(), 4u);
  EXPECT_EQ(common_subsequence({}, {}, 0)->size(), 0u);
}

}  // namespace
}  // namespace thaw::report
