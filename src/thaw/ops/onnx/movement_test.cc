// What moves elements: sizes of Concat, Expand, Tile, Pad, Gather and the elements of small tensors through them.
#include <gtest/gtest.h>

#include "thaw/ops/rule/rule_testing.h"

namespace thaw::ops {
namespace {

using ir::DataType;
using ir::Value;

TEST(Concat, AddsUpAndAsksThatTheOtherSizesAgree) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", "p", 3});
  Value* y = m.add_input("y", DataType::kFloat, {"n", "q", "r"});
  m.add_output(m.add_node("Concat", {x, y, x}, {{"axis", int64_t{-2}}}));
  EXPECT_EQ(m.dims(), "n, 2*p + q, 3");
  EXPECT_EQ(m.obligations(), "3 == r");
}

TEST(Expand, BroadcastsBothWays) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", 1, 5});
  Value* target = m.add_input("t", DataType::kInt64, {4});
  m.add_output(m.add_node("Expand", {x, target}));
  EXPECT_EQ(m.dims(), "t[0], broadcast(n, t[1]), t[2], 5");
}

TEST(Tile, MultipliesByRepeatsThatAreFed) {
  RuleModel m;
  m.add_output(
      m.add_node("Tile", {m.add_input("x", DataType::kFloat, {"n", 3}), m.add_input("r", DataType::kInt64, {2})}));
  EXPECT_EQ(m.dims(), "n*r[0], 3*r[1]");
}

TEST(Pad, AddsPadsOfTheNamedAxes) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", "h", "w"});
  Value* pads = m.add_input("p", DataType::kInt64, {4});
  m.add_output(m.add_node("Pad", {x, pads, nullptr, m.add_ints("", {-1, 1})}));
  EXPECT_EQ(m.dims(), "n, h + p[1] + p[3], w + p[0] + p[2]");
}

TEST(Pad, FollowsAxesThatAreFed) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", "h", "w"});
  Value* axes = m.add_input("axes", DataType::kInt64, {2});
  m.add_output(m.add_node("Pad", {x, m.add_ints("", {1, 2, 4, 8}), nullptr, axes}));
  for (int64_t first = -3; first < 3; ++first)
    for (int64_t second = -3; second < 3; ++second) {
      if ((first + 3) % 3 == (second + 3) % 3) continue;
      std::vector<int64_t> sizes{7, 11, 13};
      sizes[static_cast<size_t>((first + 3) % 3)] += 1 + 4;
      sizes[static_cast<size_t>((second + 3) % 3)] += 2 + 8;
      EXPECT_EQ(m.sizes_at({{"n", 7}, {"h", 11}, {"w", 13}, {"axes[0]", first}, {"axes[1]", second}}), sizes);
    }
}

TEST(Gather, PicksSizesOutOfShapes) {
  RuleModel m;
  Value* shape = m.add_node("Shape", {m.add_input("x", DataType::kFloat, {"a", "b", "c"})});
  Value* picked = m.add_node("Gather", {shape, m.add_ints("", {-1, 0})});
  m.add_output(picked);
  m.add_output(m.add_node("ConstantOfShape", {picked}));
  EXPECT_EQ(m.elements(0), "c, a");
  EXPECT_EQ(m.dims(1), "c, a");
}

TEST(Gather, AsksThatConstantIndicesFit) {
  RuleModel m;
  m.add_output(m.add_node("Gather", {m.add_input("x", DataType::kFloat, {"n", 3}), m.add_ints("", {4, -7})}));
  EXPECT_EQ(m.dims(), "2, 3");
  EXPECT_EQ(m.obligations(), "5 <= n\n7 <= n");
}

TEST(ScatterNd, WritesIntoShapes) {
  RuleModel m;
  Value* shape = m.add_node("Shape", {m.add_input("x", DataType::kFloat, {"a", "b", "c"})});
  ir::Tensor rows = ir::Tensor::from_int64("rows", {2, 1}, std::vector<int64_t>{2, -3});
  m.add_output(m.add_node("ScatterND", {shape, m.add_tensor(rows), m.add_ints("", {7, 9})}));
  EXPECT_EQ(m.elements(), "9, b, 7");
}

TEST(Transpose, MovesElementsOfSmallTensors) {
  RuleModel m;
  ir::Tensor table = ir::Tensor::from_int64("t", {2, 3}, std::vector<int64_t>{1, 2, 3, 4, 5, 6});
  m.add_output(m.add_node("Transpose", {m.add_tensor(table)}));
  EXPECT_EQ(m.dims(), "3, 2");
  EXPECT_EQ(m.elements(), "1, 4, 2, 5, 3, 6");
}

TEST(Range, CountsStepsOfEitherSign) {
  RuleModel m;
  Value* n = m.add_node("Size", {m.add_input("x", DataType::kFloat, {"n"})});
  m.add_output(m.add_node("Range", {m.add_int("", 1), n, m.add_int("", 3)}));
  m.add_output(m.add_node("Range", {n, m.add_int("", 0), m.add_int("", -2)}));
  m.add_output(m.add_node("Range", {m.add_int("", 10), m.add_int("", 3), m.add_int("", -3)}));
  for (int64_t size : {0, 1, 2, 7, 11}) {
    EXPECT_EQ(m.sizes_at({{"n", size}}, 0)->front(), size <= 1 ? 0 : (size - 1 + 2) / 3);
    EXPECT_EQ(m.sizes_at({{"n", size}}, 1)->front(), (size + 1) / 2);
  }
  EXPECT_EQ(m.elements(2), "10, 7, 4");
}

// 3/10 by steps of 1/10: three in float, four in double. Neither is stated.
TEST(Range, SaysNothingWhereFloatAndDoubleDisagree) {
  RuleModel m;
  m.add_output(
      m.add_node("Range", {m.add_float("", 0.0F), m.add_float("", 3.0F / 10.0F), m.add_float("", 1.0F / 10.0F)}));
  m.add_output(m.add_node("Range", {m.add_float("", 0.0F), m.add_float("", 7.0F), m.add_float("", 1.0F)}));
  EXPECT_EQ(m.dims(0), "Range_dim0");
  EXPECT_EQ(m.dims(1), "7");
}

TEST(SplitToSequence, FollowsItsPartsAndTheirElements) {
  RuleModel m;
  Value* shape = m.add_node("Shape", {m.add_input("x", DataType::kFloat, {"a", "b", "c"})});
  Value* parts = m.add_node("SplitToSequence", {shape, m.add_int("", 1)});
  m.add_output(m.add_node("SequenceAt", {parts, m.add_int("", 1)}));
  m.add_output(m.add_node("ConcatFromSequence", {m.add_node("SequenceErase", {parts, m.add_int("", 1)})},
                          {{"axis", int64_t{0}}}));
  EXPECT_EQ(m.elements(0), "b");
  EXPECT_EQ(m.elements(1), "a, c");
}

// Parts that no tensor has must not be read.
TEST(SplitToSequence, ReadsNoElementsOutsideItsInput) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{-5, 3, 5}, {INT64_MAX, 3, 1}, {4, 1LL << 62, 1LL << 62}}) {
    RuleModel m;
    Value* shape = m.add_node("Shape", {m.add_input("x", DataType::kFloat, {"a", "b", "c"})});
    Value* parts = m.add_node("SplitToSequence", {shape, m.add_ints("", sizes)});
    m.add_output(m.add_node("SequenceAt", {parts, m.add_int("", 1)}));
    EXPECT_EQ(m.elements(0), "none");
  }
}

TEST(Attention, JoinsPastAndPresent) {
  RuleModel m(23);
  Value* q = m.add_input("q", DataType::kFloat, {"b", "s", 96});
  Value* k = m.add_input("k", DataType::kFloat, {"b", "t", 32});
  Value* past = m.add_input("past", DataType::kFloat, {"b", 4, "p", 8});
  auto outputs = m.add_node(4, "Attention", {q, k, k, nullptr, past, past},
                            {{"q_num_heads", int64_t{12}}, {"kv_num_heads", int64_t{4}}});
  for (Value* v : outputs) m.add_output(v);
  EXPECT_EQ(m.dims(0), "b, s, 96");
  EXPECT_EQ(m.dims(1), "b, 4, t + p, 8");
  EXPECT_EQ(m.dims(3), "b, 12, s, t + p");
  EXPECT_EQ(m.obligations(), "");
}

}  // namespace
}  // namespace thaw::ops
