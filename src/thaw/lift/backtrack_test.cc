#include "thaw/lift/backtrack.h"

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

// Two constants were solved; the model is sound where the second takes its third solution.
Attempt attempt_with(Choices choices) {
  Attempt made{.choices = std::move(choices)};
  made.solved = {{{4, 6}, Rule::kVariable}, {{5, 9}, Rule::kLine}};
  const auto chosen = made.choices.find({5, 9});
  const size_t passed = chosen == made.choices.end() ? 0 : chosen->second.index;
  made.contradictions.sizes = 16;
  made.contradictions.broken = passed == 2 ? 0 : 3;
  made.contradictions.num_sound_nodes = passed == 2 ? 100 : 50;
  made.contradictions.first = "Reshape 'r': 40 elements";
  if (passed > 2) made.report.unexplained.push_back({"r", "nothing gives 5, 9"});
  return made;
}

TEST(Backtrack, TakesTheNextSolutionsOfWhatIsLeastPlain) {
  const Attempt best = backtrack(attempt_with);
  EXPECT_TRUE(best.is_whole());
  EXPECT_EQ(best.choices, (Choices{{{5, 9}, {2}}}));
  ASSERT_EQ(best.report.inferred.size(), 2U);
  EXPECT_EQ(best.report.inferred[1].where, "5, 9");
}

TEST(Backtrack, SaysWhatItCannotSolve) {
  int attempts = 0;
  const Attempt best = backtrack([&](Choices choices) {
    ++attempts;
    Attempt made = attempt_with(std::move(choices));
    made.contradictions = {.sizes = 16, .broken = 3, .num_sound_nodes = 50, .first = "Reshape 'r': 40 elements"};
    return made;
  });
  EXPECT_FALSE(best.is_whole());
  ASSERT_EQ(best.report.unexplained.size(), 1U);
  EXPECT_EQ(best.report.unexplained[0].where, "Reshape 'r': 40 elements");
  EXPECT_LE(attempts, 100);
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
