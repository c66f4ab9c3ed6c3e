#include "thaw/confirm/samples.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/run/run_testing.h"

namespace thaw::confirm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// What one file says, over a batch in another: the batched models are written by hand, so that they may be wrong.
class BatchCheckTest : public testing::Test {
 protected:
  BatchCheck check(std::string_view single, std::string_view batched, const BatchOptions& options = {},
                   const FeedOptions& feeds = {}) {
    const auto original = folder_.write_model("single", single);
    return compare_with_samples(*ir::load(folder_.write_model("batched", batched)), *ir::load(original), options,
                                feeds);
  }

  run::ModelFolder folder_;
};

TEST_F(BatchCheckTest, AgreesWithSamplesInTheFirstAxisOrInANewOne) {
  const BatchCheck merged = check("g (float[1,3,w] x) => (float[1,3,w] y) { y = Relu(x) }",
                                  "g (float[batch,3,w] x) => (float[batch,3,w] y) { y = Relu(x) }");
  ASSERT_EQ(merged.runs.size(), 2u);  // a width each
  EXPECT_TRUE(all_agree(merged.runs));
  EXPECT_NE(merged.runs[0].name, merged.runs[1].name);
  EXPECT_THAT(merged.runs[0].inputs[0].second, HasSubstr("float32[3,3,"));
  const BatchCheck leading =
      check("g (float[5,7] x) => (float[7,5] y) { y = Transpose<perm = [1,0]>(x) }",
            "g (float[batch,5,7] x) => (float[batch,7,5] y) { y = Transpose<perm = [0,2,1]>(x) }");
  ASSERT_EQ(leading.runs.size(), 1u);  // there is no size to choose
  EXPECT_TRUE(all_agree(leading.runs));
}

TEST_F(BatchCheckTest, NoFreeSizeIsTheNumberOfSamples) {
  for (const auto& [single, batched] :
       std::vector<std::pair<std::string, std::string>>{{"float[1,a]", "float[batch,a]"},
                                                        {"float[1,a,b,c]", "float[batch,a,b,c]"},
                                                        {"float[1,a,b,c,d,e]", "float[batch,a,b,c,d,e]"}}) {
    const BatchCheck result = check(fmt::format("g ({0} x) => ({0} y) {{ y = Relu(x) }}", single),
                                    fmt::format("g ({0} x) => ({0} y) {{ y = Relu(x) }}", batched));
    ASSERT_EQ(result.runs.size(), 2u);
    for (const RunCheck& run : result.runs) {
      EXPECT_TRUE(run.agrees);
      EXPECT_THAT(run.inputs[0].second, testing::ContainsRegex("^float32\\[3,"));
      EXPECT_THAT(run.inputs[0].second.substr(10), testing::Not(testing::ContainsRegex("[,]?\\b3[],]")));
    }
  }
}

TEST_F(BatchCheckTest, FindsSamplesThatMeetEachOther) {
  // The mean of all samples in place of each one's own.
  const BatchCheck result = check("g (float[1,6] x) => (float[1,6] y) { m = ReduceMean(x) y = Sub(x, m) }",
                                  "g (float[batch,6] x) => (float[batch,6] y) { m = ReduceMean(x) y = Sub(x, m) }");
  ASSERT_EQ(result.runs.size(), 1u);
  EXPECT_FALSE(result.runs[0].agrees);
  EXPECT_THAT(result.runs[0].message, HasSubstr("'y'"));
  EXPECT_GT(result.runs[0].max_abs_diff, 0.01);
}

TEST_F(BatchCheckTest, FindsShapesAndNamesThatAreNotTheModels) {
  const auto single = "g (float[5,2] x) => (float[2,5] y) { y = Transpose<perm = [1,0]>(x) }";
  EXPECT_FALSE(all_agree(check(single, "g (float[batch,5,2] x) => (float[batch,5,2] y) { y = Identity(x) }").runs));
  EXPECT_FALSE(all_agree(
      check(single, "g (float[batch,5,2] x) => (float[batch,2,5] z) { z = Transpose<perm = [0,2,1]>(x) }").runs));
}

TEST_F(BatchCheckTest, AResultThatDoesNotRunDoesNotAgree) {
  const BatchCheck result = check("g (float[1,6] x) => (float[1,6] y) { y = Relu(x) }",
                                  "g (float[batch,6] x) => (float[2,3] y) { s = Constant<value_ints = [2,3]>() "
                                  "y = Reshape(x, s) }");
  ASSERT_EQ(result.runs.size(), 1u);
  EXPECT_FALSE(result.runs[0].agrees);
  EXPECT_THAT(result.runs[0].message, HasSubstr("ONNX Runtime"));
}

TEST_F(BatchCheckTest, InputsThatAreNotBatchedAreTheSameForAll) {
  BatchOptions options;
  options.inputs = {"x"};
  const BatchCheck result =
      check("g (float[1,4] x, float[1,4] w) => (float[1,4] y) { y = Mul(x, w) }",
            "g (float[batch,4] x, float[1,4] w) => (float[batch,4] y) { y = Mul(x, w) }", options);
  ASSERT_EQ(result.runs.size(), 1u);
  EXPECT_TRUE(result.runs[0].agrees);
  EXPECT_THAT(result.runs[0].inputs[0].second, HasSubstr("float32[1,4]"));
}

TEST_F(BatchCheckTest, AModelThatFailsByItselfIsNotChecked) {
  const auto single = "g (float[1,4] x, int64[1] i) => (float[1,1] y) { y = Gather<axis = 1>(x, i) }";
  const auto batched = "g (float[batch,4] x, int64[1] i) => (float[batch,1] y) { y = Gather<axis = 1>(x, i) }";
  BatchOptions options;
  options.inputs = {"x"};
  FeedOptions feeds;
  feeds.values["i"] = {"9"};
  const BatchCheck result = check(single, batched, options, feeds);
  EXPECT_THAT(result.runs, IsEmpty());
  EXPECT_THAT(result.reason, HasSubstr("Gather"));
  feeds.values["i"] = {"3"};
  EXPECT_EQ(check(single, batched, options, feeds).runs.size(), 1u);
}

TEST_F(BatchCheckTest, TriesTheSizesThatTheModelWasFrozenAt) {
  // 143 is no small prime times a scale: only the model itself tells it.
  const BatchCheck result = check(
      "g (float[1,w] x) => (float[1,11,13] y) { t = Constant<value_ints = [1,11,13]>() y = Reshape(x, t) }",
      "g (float[batch,w] x) => (float[batch,11,13] y) { t = Constant<value_ints = [-1,11,13]>() y = Reshape(x, t) }");
  ASSERT_EQ(result.runs.size(), 1u) << result.reason;
  EXPECT_EQ(result.runs[0].name, "w=143");
  EXPECT_TRUE(result.runs[0].agrees);
}

}  // namespace
}  // namespace thaw::confirm
