#include "thaw/confirm/fixed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/run/run_testing.h"

namespace thaw::confirm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What a file says, and what it was fixed to: the fixed models are written by hand, so that they may be wrong.
class FixCheckTest : public testing::Test {
 protected:
  FixCheck check(std::string_view original, std::string_view fixed, bool rewritten = true) {
    return compare_with_original(*ir::load(folder_.write_model("fixed", fixed)),
                                 *ir::load(folder_.write_model("original", original)), rewritten, {});
  }

  run::ModelFolder folder_;
};

TEST_F(FixCheckTest, AgreesAtTheSizesOfTheModelAndSampleBySample) {
  const FixCheck result = check("g (float[1,6] x) => (float[1,6] y) { y = Relu(x) }",
                                "g (float[batch,6] x) => (float[batch,6] y) { y = Relu(x) }");
  ASSERT_EQ(result.runs.size(), 3u);
  EXPECT_TRUE(all_agree(result.runs));
  EXPECT_EQ(result.runs[0].inputs[0].second, "float32[1,6]");
  EXPECT_EQ(result.runs[2].inputs[0].second, "float32[3,6]");
}

TEST_F(FixCheckTest, OtherNumbersAtTheSizesOfTheModelAreFound) {
  const FixCheck result =
      check("g (float[1,6] x) => (float[1,6] y) { y = Relu(x) }", "g (float[1,6] x) => (float[1,6] y) { y = Neg(x) }");
  ASSERT_EQ(result.runs.size(), 1u);
  EXPECT_FALSE(result.runs[0].agrees);
  EXPECT_THAT(result.runs[0].message, HasSubstr("'y' differs"));
}

TEST_F(FixCheckTest, SamplesThatMeetEachOtherAreFound) {
  // The mean over all samples is each one's own where there is one.
  const FixCheck result =
      check("g (float[1,6] x) => (float[1,6] y) { m = ReduceMean(x) y = Sub(x, m) }",
            "g (float[batch,6] x) => (float[batch,6] y) { m = ReduceMean(x) y = Sub(x, m) }", false);
  ASSERT_GE(result.runs.size(), 3u);
  EXPECT_TRUE(result.runs[0].agrees);
  EXPECT_FALSE(result.runs[1].agrees);
  EXPECT_FALSE(result.runs[2].agrees);
}

TEST_F(FixCheckTest, ASizeThatWasFreedAndRunsNowhereElseIsFound) {
  const FixCheck result = check("g (float[2,6] x) => (float[3,4] y) <int64[2] s = {3, 4}> { y = Reshape(x, s) }",
                                "g (float[n,6] x) => (float[3,4] y) <int64[2] s = {3, 4}> { y = Reshape(x, s) }");
  ASSERT_EQ(result.runs.size(), 2u);
  EXPECT_TRUE(result.runs[0].agrees);
  EXPECT_FALSE(result.runs[1].agrees);
  EXPECT_THAT(result.runs[1].message, HasSubstr("runs at none"));
}

TEST_F(FixCheckTest, WhereOnlyDeclarationsChangedOtherSizesAreCompared) {
  const FixCheck result = check("g (float[a,6] x) => (float[b,6] y) { y = Relu(x) }",
                                "g (float[a,6] x) => (float[a,6] y) { y = Relu(x) }", false);
  EXPECT_EQ(result.runs.size(), 3u);
  EXPECT_TRUE(all_agree(result.runs));
  EXPECT_THAT(result.not_compared, IsEmpty());
}

TEST_F(FixCheckTest, AModelThatDoesNotRunIsNotCompared) {
  const std::string broken = "g (float[1,6] x) => (float[4,4] y) <int64[2] s = {4, 4}> { y = Reshape(x, s) }";
  const FixCheck result = check(broken, broken);
  EXPECT_THAT(result.runs, IsEmpty());
  EXPECT_THAT(result.not_compared, ElementsAre(HasSubstr("the original does not run here")));
}

}  // namespace
}  // namespace thaw::confirm
