#include "thaw/lift/unknowns/backtrack.h"

#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

// The two parts of a Split at n = 13, 25: the model is sound where the second is what the first leaves.
struct Model {
  std::shared_ptr<dim::Scope> scope = std::make_shared<dim::Scope>();
  dim::Dim n = scope->symbol("n"), first = scope->symbol("first"), last = scope->symbol("last");
  std::vector<Choices> tried = {};
  bool is_sound_at_last = true;

  Attempt attempt(Choices choices) {
    tried.push_back(choices);
    auto conditions = std::make_shared<Conditions>(Conditions{.scope = scope});
    conditions->traces = {{{0, 13}, {1, 7}, {2, 6}}, {{0, 25}, {1, 13}, {2, 12}}};
    conditions->unseen = {{{0, 14}}, {{0, 21}}};
    conditions->unknowns = {{{7, 13}, {{first, dim::ceil_div(n, 2)}}, {}, Rule::kPart},
                            {{6, 12}, {{last, dim::floor_div(n, 12) * dim::Dim(6)}}, {}, Rule::kTerm}};
    conditions->needed = {{dim::Relation::kEqual, first + last, n, {0, 1}}};
    Attempt made{.choices = std::move(choices)};
    const auto chosen = made.choices.by_values.find({6, 12});
    const bool is_sound =
        is_sound_at_last && chosen != made.choices.by_values.end() && chosen->second.taken == "floor(n/2)";
    made.contradictions = {
        .sizes = 16, .broken = is_sound ? size_t{0} : 3, .num_sound_nodes = is_sound ? size_t{100} : 50};
    made.contradictions.first = "Split 's': 14 and 13";
    made.conditions = std::move(conditions);
    return made;
  }
};

TEST(Backtrack, TakesOtherwiseWhatTheNodesContradict) {
  Model model;
  const Attempt best = backtrack([&](Choices choices) { return model.attempt(std::move(choices)); });
  EXPECT_TRUE(best.is_whole());
  EXPECT_EQ(model.tried.size(), 2U);
  ASSERT_TRUE(best.choices.by_values.contains({6, 12}));
  EXPECT_EQ(best.choices.by_values.at({6, 12}).taken, "floor(n/2)");
  EXPECT_TRUE(best.choices.by_values.at({7, 13}).is_doubted);
  ASSERT_EQ(best.report.inferred.size(), 2U);
  EXPECT_EQ(best.report.inferred[1].where, "6, 12");
}

TEST(Backtrack, SaysWhatItCannotSolve) {
  Model model{.is_sound_at_last = false};
  const Attempt best = backtrack([&](Choices choices) { return model.attempt(std::move(choices)); });
  EXPECT_FALSE(best.is_whole());
  ASSERT_EQ(best.report.unexplained.size(), 1U);
  EXPECT_EQ(best.report.unexplained[0].where, "Split 's': 14 and 13");
  EXPECT_LE(model.tried.size(), 20U);
}

TEST(Backtrack, DoesNotSearchWhereNothingIsContradicted) {
  int attempts = 0;
  const Attempt best = backtrack([&](Choices choices) {
    ++attempts;
    return Attempt{.choices = std::move(choices)};
  });
  EXPECT_EQ(attempts, 1);
  EXPECT_TRUE(best.report.inferred.empty());
}

}  // namespace
}  // namespace thaw::lifting
