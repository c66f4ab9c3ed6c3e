#include "thaw/verbs/compared.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/run/run_testing.h"

namespace thaw::verbs {
namespace {

class ComparedTest : public testing::Test {
 protected:
  confirm::FixCheck check(std::string_view original, std::string_view result, bool rewritten = true) {
    return compare_with_original(*ir::load(folder_.write_model("result", result)),
                                 *ir::load(folder_.write_model("original", original)), rewritten, {});
  }

  run::ModelFolder folder_;
};

TEST_F(ComparedTest, SequencesAreFedByItems) {
  const std::string head = "g (seq(float[n,3]) x) => (float[m,3] y) ";
  const std::string whole = head + "{ y = ConcatFromSequence<axis=0>(x) }";
  const confirm::FixCheck same = check(whole, head + "{ c = ConcatFromSequence<axis=0>(x) y = Identity(c) }", false);
  ASSERT_EQ(same.runs.size(), 3u);
  EXPECT_TRUE(confirm::all_agree(same.runs));
  ASSERT_EQ(same.runs[0].inputs.size(), 3u);
  EXPECT_EQ(same.runs[0].inputs[1].first, "x/1");
  const confirm::FixCheck other = check(whole, head + "{ c = ConcatFromSequence<axis=0>(x) y = Neg(c) }");
  ASSERT_FALSE(other.runs.empty());
  EXPECT_FALSE(other.runs[0].agrees);
}

TEST_F(ComparedTest, NumbersThatAreDrawnAreTheSameOnBothSides) {
  const std::string head = "g (float[n,3] x) => (float[n,3] y) ";
  const confirm::FixCheck same = check(head + "{ r = RandomNormalLike(x) y = Add(x, r) }",
                                       head + "{ z = Identity(x) r = RandomNormalLike(z) y = Add(x, r) }", false);
  ASSERT_FALSE(same.runs.empty());
  EXPECT_TRUE(confirm::all_agree(same.runs));
  const confirm::FixCheck other = check(head + "{ r = RandomNormalLike(x) y = Add(x, r) }",
                                        head + "{ r = RandomNormalLike(x) y = Sub(x, r) }", false);
  ASSERT_FALSE(other.runs.empty());
  EXPECT_FALSE(confirm::all_agree(other.runs));
}

}  // namespace
}  // namespace thaw::verbs
