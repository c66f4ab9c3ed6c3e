// Every expression up to a size over two symbols against brute force: the normal form has the value of the tree it was
// built from at every point of a small domain, `same` means equal everywhere, the range holds every value, and the text
// reads back as the same Dim.
#include <map>
#include <unordered_map>

#include <gtest/gtest.h>

#include "thaw/dim/expr/dim_testing.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {
namespace {

using testing::TreePtr;
using Values = std::vector<std::optional<int64_t>>;

// Two symbols under some assumptions, and the points these admit.
class Domain {
 public:
  struct Axis {
    SymbolKind kind;
    int64_t lower, upper;  // the points tried; assumed too where `bounded`
    bool bounded;
    int64_t modulus, remainder;
  };

  explicit Domain(const std::vector<Axis>& axes) {
    std::vector<std::vector<int64_t>> admitted;
    for (const Axis& axis : axes) {
      const Dim s = scope_.fresh(std::string(1, static_cast<char>('a' + symbols_.size())), axis.kind);
      if (axis.bounded) scope_.assume_range(s, axis.lower, axis.upper);
      if (axis.modulus > 1) scope_.assume_divisible(s, axis.modulus, axis.remainder);
      symbols_.push_back(s);
      admitted.emplace_back();
      for (int64_t v = axis.lower; v <= axis.upper; ++v) {
        if (((v - axis.remainder) % axis.modulus) == 0) admitted.back().push_back(v);
      }
    }
    for (int64_t x : admitted[0]) {
      for (int64_t y : admitted[1]) points_.push_back({x, y});
    }
  }

  Scope& scope() { return scope_; }
  const std::vector<Dim>& symbols() const { return symbols_; }
  const std::vector<std::vector<int64_t>>& points() const { return points_; }

  Values naive(const testing::Tree& tree) const {
    Values values;
    for (const auto& point : points_) values.push_back(naive_value(tree, point));
    return values;
  }

  Values of(Dim d) const {
    Values values;
    for (const auto& point : points_) values.push_back(evaluate(d, {{0, point[0]}, {1, point[1]}}));
    return values;
  }

 private:
  Scope scope_;
  std::vector<Dim> symbols_;
  std::vector<std::vector<int64_t>> points_;
};

// Trees by number of operations; those of `size` operations combine two smaller ones.
std::vector<std::vector<TreePtr>> trees_up_to(int size, const std::vector<int64_t>& constants, size_t stride) {
  std::vector<std::vector<TreePtr>> by_size(static_cast<size_t>(size) + 1);
  for (int s = 0; s < 2; ++s) by_size[0].push_back(testing::leaf_symbol(s));
  for (int64_t c : constants) by_size[0].push_back(testing::leaf_constant(c));
  size_t count = 0;
  for (size_t n = 1; n < by_size.size(); ++n) {
    for (size_t left = 0; left < n; ++left) {
      for (const TreePtr& a : by_size[left]) {
        for (const TreePtr& b : by_size[n - 1 - left]) {
          for (auto kind : testing::kOperations) {
            // All of the small ones; of the largest, every stride-th, spread evenly.
            if (n + 1 < by_size.size() || ++count % stride == 0) by_size[n].push_back(testing::node(kind, a, b));
          }
        }
      }
    }
  }
  return by_size;
}

void check_all(Domain& domain, int size, const std::vector<int64_t>& constants, size_t stride) {
  const auto by_size = trees_up_to(size, constants, stride);
  std::unordered_map<const Expr*, Values> seen;
  size_t known = 0;
  size_t too_large = 0;
  size_t other_form = 0;  // of equal value, but not found to be the same when read back
  for (const auto& trees : by_size) {
    for (const TreePtr& tree : trees) {
      const Dim d = build(*tree, domain.symbols());
      const Values naive = domain.naive(*tree);
      if (d.is_unknown()) {
        // Unknown is what is undefined everywhere, or, for three operations, past the budget.
        const bool has_value =
            std::any_of(naive.begin(), naive.end(), [](const auto& value) { return value.has_value(); });
        ASSERT_TRUE(!has_value || size > 2) << text_of(*tree);
        too_large += has_value ? 1 : 0;
        continue;
      }
      ++known;
      const Values values = domain.of(d);
      const Interval range = range_of(d);
      for (size_t i = 0; i < naive.size(); ++i) {
        if (!naive[i]) continue;
        ASSERT_EQ(naive[i], values[i]) << text_of(*tree) << " became " << to_string(d) << " at "
                                       << domain.points()[i][0] << ", " << domain.points()[i][1];
      }
      for (size_t i = 0; i < values.size(); ++i) {
        if (!values[i]) continue;
        ASSERT_TRUE(!range.lower || *range.lower <= *values[i]) << to_string(d) << " above " << *range.lower;
        ASSERT_TRUE(!range.upper || *range.upper >= *values[i]) << to_string(d) << " below " << *range.upper;
      }
      if (!d.is_symbolic()) continue;
      auto [it, inserted] = seen.emplace(d.expr(), values);
      if (!inserted) continue;
      const std::string text = to_string(d);
      const Dim back = parse(text, domain.scope());
      if (size <= 2) {
        ASSERT_TRUE(same(back, d)) << text_of(*tree) << " printed " << text << " and read back as " << to_string(back);
      } else if (!same(back, d)) {
        ++other_form;
      }
      ASSERT_EQ(domain.of(back), values) << text_of(*tree) << " printed " << text;
    }
  }
  EXPECT_LT(other_form * 1000, known);
  EXPECT_LT(too_large * 50, known);
  EXPECT_GT(known, by_size.back().size() / 2);
  EXPECT_GT(seen.size(), 100u);
}

constexpr SymbolKind kDim = SymbolKind::kInputDim;
constexpr SymbolKind kValue = SymbolKind::kInputValue;

TEST(Exhaustive, SizesWithoutAssumptions) {
  Domain domain({{kDim, 0, 7, false, 1, 0}, {kDim, 0, 7, false, 1, 0}});
  check_all(domain, 2, {0, 1, 2, 3, -1, -4}, 1);
}

TEST(Exhaustive, ValuesOfAnySign) {
  Domain domain({{kValue, -5, 5, false, 1, 0}, {kValue, -5, 5, false, 1, 0}});
  check_all(domain, 2, {1, 2, 5, -3}, 1);
}

TEST(Exhaustive, SizesInARange) {
  Domain domain({{kDim, 1, 6, true, 1, 0}, {kDim, 2, 9, true, 1, 0}});
  check_all(domain, 2, {1, 2, 4, -2}, 1);
}

TEST(Exhaustive, SizesWithAStep) {
  Domain domain({{kDim, 0, 24, true, 4, 0}, {kDim, 1, 25, true, 6, 1}});
  check_all(domain, 2, {1, 2, 4, 3, -8}, 1);
}

TEST(Exhaustive, ThreeOperations) {
  Domain domain({{kDim, 0, 5, false, 1, 0}, {kDim, 1, 6, true, 1, 0}});
  check_all(domain, 3, {1, 2, 3}, 23);
}

TEST(Exhaustive, ThreeOperationsOnValuesAndSteps) {
  Domain domain({{kValue, -4, 4, false, 1, 0}, {kDim, 0, 18, true, 3, 0}});
  check_all(domain, 3, {2, 6, -1}, 31);
}

}  // namespace
}  // namespace thaw::dim
