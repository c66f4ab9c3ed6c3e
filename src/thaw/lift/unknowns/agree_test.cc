#include "thaw/lift/unknowns/agree.h"

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

using dim::Dim;

// Traces at n = 13, 25, 37, of which each leaves 1 by 2, 3, 4, 6 and 12, and sizes that leave other remainders.
struct Problem {
  std::shared_ptr<dim::Scope> scope = std::make_shared<dim::Scope>();
  Dim n = scope->symbol("n");
  Conditions conditions{.scope = scope};

  Problem() {
    for (const int64_t v : {13, 25, 37}) conditions.traces.push_back({{scope->symbol_id(n), v}});
    for (const int64_t v : {14, 15, 16, 18, 21, 24, 29, 35}) conditions.unseen.push_back({{scope->symbol_id(n), v}});
  }

  std::vector<int64_t> in_traces(Dim size) const {
    std::vector<int64_t> values;
    for (const dim::Assignment& at : conditions.traces) values.push_back(*dim::evaluate(size, at));
    return values;
  }

  // The symbol of an integer.
  Dim add(Dim taken, std::vector<Dim> others = {}, Rule rule = Rule::kTerm) {
    const Dim symbol = scope->fresh("integer", dim::SymbolKind::kInputDim);
    const std::vector<int64_t> wanted = in_traces(taken);
    for (size_t k = 0; k < wanted.size(); ++k) conditions.traces[k][scope->symbol_id(symbol)] = wanted[k];
    conditions.unknowns.push_back({wanted, {{symbol, taken}}, std::move(others), rule});
    return symbol;
  }

  void need(Dim a, Dim b, std::vector<size_t> unknowns, dim::Relation relation = dim::Relation::kEqual) {
    conditions.needed.push_back({relation, a, b, std::move(unknowns)});
  }

  // Whether each condition holds at the unseen sizes, and each integer is the one of the traces.
  bool is_met_by(const Retaken& retaken) const {
    std::vector<Dim> taken;
    for (const Unknown& unknown : conditions.unknowns) taken.push_back(unknown.places.front().taken);
    for (const auto& [place, size] : retaken) taken[place] = size;
    for (size_t i = 0; i < taken.size(); ++i)
      if (in_traces(taken[i]) != conditions.unknowns[i].wanted) return false;
    for (dim::Assignment at : conditions.unseen) {
      const dim::Assignment sizes = at;
      for (size_t i = 0; i < taken.size(); ++i)
        at[scope->symbol_id(conditions.unknowns[i].places.front().symbol)] = *dim::evaluate(taken[i], sizes);
      for (const Condition& c : conditions.needed)
        if (!*dim::holds(c.relation, c.a, c.b, at)) return false;
    }
    return true;
  }
};

TEST(Agree, SolvesAConditionForTheLeastPlainInteger) {
  // The two parts of a Split: one rounded up, what is left was met by chance.
  Problem p;
  const Dim first = p.add(dim::ceil_div(p.n, 2), {}, Rule::kPart), last = p.add(dim::floor_div(p.n, 12) * Dim(6));
  p.need(first + last, p.n, {0, 1});
  const Agreed agreed = agree(p.conditions);
  ASSERT_EQ(agreed.verdict, Agrees::kYes);
  ASSERT_EQ(agreed.retaken.size(), 1U);
  EXPECT_EQ(agreed.retaken[0].first, 1U);
  EXPECT_EQ(dim::to_string(agreed.retaken[0].second), "floor(n/2)");
  EXPECT_EQ(agreed.doubted, std::vector<size_t>{0});
}

TEST(Agree, TakesWhatFollowsAlong) {
  Problem p;
  const Dim cells = p.add(dim::floor_div(p.n, 4)), rows = p.add(dim::floor_div(p.n, 4) * Dim(7));
  p.need(rows, cells * Dim(7), {0, 1});
  const Agreed agreed = agree(p.conditions, {{0, dim::floor_div(p.n - Dim(1), 4)}});
  ASSERT_EQ(agreed.verdict, Agrees::kYes);
  EXPECT_TRUE(p.is_met_by(agreed.retaken));
  EXPECT_EQ(agreed.retaken.size(), 2U);
}

TEST(Agree, SaysNoWhereNothingElseIsUnknown) {
  Problem p;
  const Dim cells = p.add(dim::floor_div(p.n, 4));
  p.need(cells, dim::floor_div(p.n, 4), {0});
  EXPECT_EQ(agree(p.conditions).verdict, Agrees::kYes);
  EXPECT_TRUE(agree(p.conditions).retaken.empty());
  EXPECT_EQ(agree(p.conditions, {{0, dim::floor_div(p.n + Dim(2), 4)}}).verdict, Agrees::kNo);
}

// All pairs of a few sizes: what stands alone is what meets every condition beside the others as they are.
TEST(StandAlone, IsWhatEveryConditionHoldsWith) {
  Problem p;
  const Dim quarter = dim::floor_div(p.n, 4), half = dim::floor_div(p.n, 2);
  const std::vector<Dim> sizes{quarter, dim::floor_div(p.n - Dim(1), 4), half, dim::ceil_div(p.n, 4) - Dim(1)};
  const Dim a = p.add(quarter), b = p.add(half), c = p.add(dim::ceil_div(p.n, 2) - Dim(1));
  p.need(a, quarter, {0});
  p.need(b + c, p.n - Dim(1), {1, 2});
  for (size_t unknown = 0; unknown < 3; ++unknown)
    for (const Dim size : sizes) {
      if (p.in_traces(size) != p.conditions.unknowns[unknown].wanted) continue;
      EXPECT_EQ(stand_alone(p.conditions, {{unknown, size}}), std::vector<bool>{p.is_met_by({{unknown, size}})})
          << unknown << " " << dim::to_string(size);
    }
}

TEST(StandAlone, AsksNothingOfWhatFailsAsItIs) {
  Problem p;
  const Dim cells = p.add(dim::floor_div(p.n, 4));
  p.need(cells, dim::floor_div(p.n + Dim(2), 4), {0});  // fails where n leaves 2 or 3 by 4
  EXPECT_TRUE(stand_alone(p.conditions, {{0, dim::floor_div(p.n + Dim(2), 4)}}).front());
  EXPECT_FALSE(stand_alone(p.conditions, {{0, dim::ceil_div(p.n, 4) - Dim(1)}}).front());
}

TEST(Agree, LeavesOpenWhatItCannotSolve) {
  Problem p;
  const Dim cells = p.add(dim::floor_div(p.n, 4)), rows = p.add(dim::floor_div(p.n, 3));
  p.need(cells * cells, rows * rows - rows * Dim(2) + p.n, {0, 1});
  EXPECT_EQ(agree(p.conditions).verdict, Agrees::kOpen);
}

TEST(Agree, PassesOverAnswers) {
  Problem p;
  const Dim a = p.add(dim::floor_div(p.n, 4)), b = p.add(dim::floor_div(p.n - Dim(1), 4));
  p.need(a, b, {0, 1});
  const Agreed first = agree(p.conditions);
  ASSERT_EQ(first.verdict, Agrees::kYes);
  const Agreed second = agree(p.conditions, {}, {first.retaken});
  ASSERT_EQ(second.verdict, Agrees::kYes);
  EXPECT_NE(first.retaken[0].first, second.retaken[0].first);
}

TEST(Agree, TakesWhatNoTraceVariesOnlyWhereItMay) {
  // Both halves of n and what is padded are as long: the padding is 1 in every trace.
  Problem p;
  const Dim padding = p.add(Dim(1), {Dim(2) - dim::mod(p.n, 12), dim::ceil_div(p.n, 2) * Dim(2) - p.n});
  p.conditions.unknowns[0].stands_at = {{"padded", 1, 2}};
  p.conditions.unknowns[0].least = 0;
  p.need(dim::floor_div(p.n + padding, 2), dim::ceil_div(p.n + padding, 2), {0});
  EXPECT_TRUE(agree(p.conditions).retaken.empty());
  const Agreed agreed = agree(p.conditions, {}, {}, true);
  ASSERT_EQ(agreed.verdict, Agrees::kYes);
  ASSERT_EQ(agreed.retaken.size(), 1U);
  EXPECT_EQ(dim::to_string(agreed.retaken[0].second), "(-n) % 2");
}

// Integers whose right solutions meet conditions between them, taken for any that the traces allow.
TEST(Agree, FindsSolutionsThatMeetAllConditions) {
  std::mt19937 random(5);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  size_t num_broken = 0;
  for (int round = 0; round < 300; ++round) {
    Problem p;
    std::vector<Dim> symbols, right;
    const size_t count = 2 + below(3);
    for (size_t i = 0; i < count; ++i) {
      const int64_t by = std::array<int64_t, 5>{2, 3, 4, 6, 12}[below(5)];
      std::vector<Dim> all;
      for (int64_t r = 0; r < by; ++r) all.push_back(dim::floor_div(p.n - Dim(1) + Dim(r), by));
      right.push_back(all[below(all.size())]);
      const Dim taken = all[below(all.size())];
      symbols.push_back(p.add(taken, all));
    }
    for (size_t c = 0; c < 3; ++c) {
      const size_t i = below(count), j = below(count);
      const Dim factor(static_cast<int64_t>(1 + below(3)));
      if (i == j) {
        p.need(symbols[i] * factor, right[i] * factor, {i});
      } else {
        p.need(symbols[i] + symbols[j] * factor, right[i] + right[j] * factor, {std::min(i, j), std::max(i, j)});
      }
    }
    num_broken += !p.is_met_by({});
    const Agreed agreed = agree(p.conditions);
    ASSERT_EQ(agreed.verdict, Agrees::kYes) << round;
    EXPECT_TRUE(p.is_met_by(agreed.retaken)) << round;
    // What is right for one of them stands with something.
    const size_t given = below(count);
    if (dim::same(right[given], p.conditions.unknowns[given].places.front().taken)) continue;
    EXPECT_NE(agree(p.conditions, {{given, right[given]}}).verdict, Agrees::kNo) << round;
  }
  EXPECT_GT(num_broken, 150U);
}

}  // namespace
}  // namespace thaw::lifting
