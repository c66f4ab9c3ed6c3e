// Two fits are the same where they compute the same, whatever they are called.
#include "thaw/lift/table/same_table.h"

#include <cmath>

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

class SameTable : public testing::Test {
 protected:
  // float [n, 1] in two traces, out of the row.
  std::optional<TableFit> fit(auto entry) {
    std::vector<ir::Tensor> tables;
    for (const int64_t n : variables_[0].at) {
      std::vector<float> entries;
      for (int64_t row = 0; row < n; ++row) entries.push_back(static_cast<float>(entry(static_cast<double>(row))));
      tables.push_back(ir::Tensor::from_float("table", {n, 1}, entries));
    }
    const std::vector<const ir::Tensor*> tensors{&tables[0], &tables[1]};
    std::string reason;
    return fit_table(tensors, context_, reason);
  }

  dim::Scope scope_;
  std::vector<Variable> variables_{{.symbol = scope_.symbol("n"), .at = {7, 11}, .input = "x"},
                                   {.symbol = scope_.symbol("m"), .at = {5, 13}, .input = "y"}};
  Solver solver_{variables_};
  TableContext context_{variables_, solver_};
};

TEST_F(SameTable, NumbersTellWhatADescriptionDoesNot) {
  const auto twice = fit([](double row) { return 2 * row; }), thrice = fit([](double row) { return 3 * row; });
  ASSERT_TRUE(twice && thrice);
  EXPECT_EQ(twice->description, thrice->description);
  EXPECT_TRUE(is_same_table(*twice, *twice, variables_));
  EXPECT_FALSE(is_same_table(*twice, *thrice, variables_));
}

TEST_F(SameTable, RealNumbersAreTheSameAsFarAsEntriesTell) {
  const auto cosine = [&](double step) { return fit([step](double row) { return std::cos(step * row); }); };
  const auto a = cosine(0.3), b = cosine(0.3 + 1e-7), c = cosine(0.301);
  ASSERT_TRUE(a && b && c);
  EXPECT_TRUE(is_same_table(*a, *b, variables_));
  EXPECT_FALSE(is_same_table(*a, *c, variables_));
}

TEST_F(SameTable, SizesAreCompared) {
  const auto list = [&](const std::vector<int64_t>& first, const std::vector<int64_t>& second) {
    const std::vector<ir::Tensor> tensors{ir::Tensor::from_int64("sizes", {2}, first),
                                          ir::Tensor::from_int64("sizes", {2}, second)};
    const std::vector<const ir::Tensor*> both{&tensors[0], &tensors[1]};
    std::string reason;
    return fit_table(both, context_, reason);
  };
  const auto n = list({1, 7}, {1, 11}), m = list({1, 5}, {1, 13});
  ASSERT_TRUE(n && m);
  EXPECT_TRUE(is_same_table(*n, *list({1, 7}, {1, 11}), variables_));
  EXPECT_FALSE(is_same_table(*n, *m, variables_));
}

}  // namespace
}  // namespace thaw::lifting
