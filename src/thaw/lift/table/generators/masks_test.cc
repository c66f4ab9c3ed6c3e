// Masks between groups of positions, all small ones: what is found gives them at sizes that no trace has, too.
#include <functional>

#include <gtest/gtest.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

using Sees = std::function<bool(int64_t i, int64_t j)>;

class Masks : public testing::Test {
 protected:
  // Two values of n x n positions, in three traces.
  View mask(const Sees& sees) {
    View view;
    view.kind = Kind::kReal;
    view.growing = {n_, n_};
    for (const int64_t n : n_.at) view.entries.push_back(entries_of(n, sees));
    return view;
  }
  static std::vector<double> entries_of(int64_t n, const Sees& sees) {
    std::vector<double> entries;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) entries.push_back(sees(i, j) ? 0 : -10000);
    return entries;
  }
  void expect_found(const Sees& sees, const std::string& what) {
    const View view = mask(sees);
    const auto fit = fit_together({view, context_});
    ASSERT_TRUE(fit) << what;
    EXPECT_TRUE(holds(view, fit->formula(), 0, 1)) << what;
  }

  dim::Scope scope_;
  std::vector<Variable> variables_{{.symbol = scope_.symbol("n"), .at = {17, 22, 31}, .input = "x"}};
  Size n_{variables_[0].symbol, variables_[0].at};
  Solver solver_{variables_};
  TableContext context_{variables_, solver_};
};

TEST_F(Masks, OfAllSmallBandsOfGroups) {
  for (int64_t group = 1; group <= 4; ++group)
    for (int64_t low = -2; low <= 1; ++low)
      for (int64_t high = low; high <= 2; ++high)
        for (const bool behind : {false, true})
          if (!behind || high >= 0)
            expect_found(
                [&](int64_t i, int64_t j) {
                  const int64_t far = i / group - j / group;
                  return low <= far && far <= high && (!behind || j <= i);
                },
                "groups of " + std::to_string(group) + " by " + std::to_string(low) + " to " + std::to_string(high));
}

TEST_F(Masks, ThatAreNoBandAreNone) {
  const View view = mask([](int64_t i, int64_t j) { return (i * 7 + j * 5 + i * j) % 11 < 4; });
  EXPECT_FALSE(fit_mask({view, context_}));
}

}  // namespace
}  // namespace thaw::lifting
