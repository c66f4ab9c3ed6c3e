#include <algorithm>

#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"
#include "thaw/ops/onnx/slice_size.h"
#include "thaw/ops/rule/rule_testing.h"

namespace thaw::ops {
namespace {

using dim::Dim;
using ir::DataType;
using ir::Value;

// Counts what a Slice takes, one element after the other, after the specification's clamping.
int64_t counted_slice(int64_t n, int64_t start, int64_t end, int64_t step) {
  if (n == 0) return 0;
  if (start < 0) start += n;
  if (end < 0) end += n;
  start = std::clamp<int64_t>(start, 0, step > 0 ? n : n - 1);
  end = step > 0 ? std::clamp<int64_t>(end, 0, n) : std::clamp<int64_t>(end, -1, n - 1);
  int64_t count = 0;
  for (int64_t at = start; step > 0 ? at < end : at > end; at += step) ++count;
  return count;
}

const std::vector<int64_t> kSteps = {-3, -2, -1, 1, 2, 3};

TEST(SliceSize, AgreesWithCountingForConstantBounds) {
  dim::Scope scope;
  Dim n = scope.symbol("n");
  for (int64_t start = -6; start <= 6; ++start)
    for (int64_t end = -6; end <= 6; ++end)
      for (int64_t step : kSteps) {
        Dim size = slice_size(n, start, end, step);
        ASSERT_TRUE(size.is_known());
        for (int64_t value = 0; value <= 7; ++value) {
          int64_t expected = counted_slice(value, start, end, step);
          EXPECT_EQ(dim::evaluate(size, {{0, value}}), expected)
              << value << " by [" << start << ':' << end << ':' << step << "] as " << dim::to_string(size);
          EXPECT_EQ(slice_size(value, start, end, step).constant(), expected);
        }
      }
}

TEST(SliceSize, AgreesWithCountingForBoundsThatAreFed) {
  dim::Scope scope;
  scope.set_budget(1000);
  Dim n = scope.symbol("n"), s = scope.input_value("s", 0), e = scope.input_value("e", 0),
      p = scope.input_value("p", 0);
  Dim any = slice_size(n, s, e, p);
  ASSERT_TRUE(any.is_known());
  for (int64_t step : kSteps) {
    Dim size = slice_size(n, s, e, step);
    ASSERT_TRUE(size.is_known());
    for (int64_t value = 0; value <= 5; ++value)
      for (int64_t start = -7; start <= 7; ++start)
        for (int64_t end = -7; end <= 7; ++end) {
          int64_t expected = counted_slice(value, start, end, step);
          dim::Assignment at{{0, value}, {1, start}, {2, end}, {3, step}};
          EXPECT_EQ(dim::evaluate(size, at), expected) << value << " by [" << start << ':' << end << ':' << step << ']';
          EXPECT_EQ(dim::evaluate(any, at), expected) << value << " by [" << start << ':' << end << ':' << step << ']';
        }
  }
}

TEST(SliceSize, ReadsAsOneWouldWriteIt) {
  dim::Scope scope;
  Dim n = scope.symbol("n"), m = scope.symbol("m");
  auto text = [&](Dim start, Dim end, Dim step = 1) { return dim::to_string(slice_size(n, start, end, step)); };
  EXPECT_EQ(text(0, INT64_MAX), "n");
  EXPECT_EQ(text(0, INT32_MAX), "n");
  EXPECT_EQ(text(1, INT32_MAX), "max(n - 1, 0)");
  EXPECT_EQ(text(0, -1), "max(n - 1, 0)");
  EXPECT_EQ(text(-1, INT64_MAX), "min(n, 1)");
  EXPECT_EQ(text(0, 5), "min(n, 5)");
  EXPECT_EQ(text(0, INT64_MAX, 2), "ceil(n/2)");
  EXPECT_EQ(text(-1, -INT64_MAX, -1), "n");
  EXPECT_EQ(text(0, dim::floor_div(n, 2)), "floor(n/2)");
  EXPECT_EQ(text(dim::floor_div(n, 2), INT64_MAX), "ceil(n/2)");
  EXPECT_EQ(dim::to_string(slice_size(n + m, 0, m, 1)), "m");
  EXPECT_EQ(dim::to_string(slice_size(n, 0, Dim(), 1)), "?");
}

TEST(Slice, FollowsElementsBackwardToo) {
  RuleModel m;
  Value* shape = m.add_node("Shape", {m.add_input("x", DataType::kFloat, {"a", "b", "c", "d"})});
  m.add_output(m.add_node(
      "Slice", {shape, m.add_ints("", {-1}), m.add_ints("", {INT64_MIN}), m.add_ints("", {0}), m.add_ints("", {-2})}));
  EXPECT_EQ(m.dims(), "2");
  EXPECT_EQ(m.elements(), "d, b");
}

TEST(Split, DividesEvenlyOrLeavesTheRestToTheLast) {
  RuleModel even(13), rest(18);
  for (RuleModel* m : {&even, &rest}) {
    Value* x = m->add_input("x", DataType::kFloat, {"n", 6});
    std::vector<ir::Attribute> attributes;
    if (m == &rest) attributes.push_back({"num_outputs", int64_t{4}});
    for (Value* part : m->add_node(4, "Split", {x}, attributes)) m->add_output(part);
  }
  EXPECT_EQ(even.dims(3), "floor(n/4), 6");
  EXPECT_EQ(even.obligations(), "n % 4");
  for (int64_t n : {8, 11, 13}) {
    EXPECT_EQ(rest.sizes_at({{"n", n}}, 0)->front(), (n + 3) / 4);
    EXPECT_EQ(rest.sizes_at({{"n", n}}, 3)->front(), n - 3 * ((n + 3) / 4));
  }
}

TEST(Split, StatesThatThePartsAddUp) {
  RuleModel m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", 7});
  for (Value* part : m.add_node(2, "Split", {x, m.add_ints("", {3, 8})})) m.add_output(part);
  EXPECT_EQ(m.dims(0), "3, 7");
  EXPECT_EQ(m.obligations(), "n == 11");
}

// ONNX Runtime stops at a bound that is a single number.
TEST(Slice, TakesListsAlone) {
  for (const bool is_list : {false, true}) {
    RuleModel m;
    Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
    Value* end = is_list ? m.add_ints("", {2}) : m.add_int("", 2);
    m.add_output(m.add_node("Slice", {x, m.add_ints("", {0}), end}));
    EXPECT_EQ(m.has_problem(), !is_list);
  }
}

// INT64_MIN, which exporters write for "from the beginning", by way of nodes that move it too.
TEST(Slice, TakesTheLowestIntegerForTheBeginning) {
  for (const bool moved : {false, true}) {
    RuleModel m;
    Value* x = m.add_input("x", DataType::kFloat, {"n", "m"});
    Value* lowest =
        moved ? m.add_node("Unsqueeze", {m.add_int("", INT64_MIN), m.add_ints("", {0})}) : m.add_ints("", {INT64_MIN});
    Value* one = m.add_ints("", {1});
    m.add_output(m.add_node("Slice", {x, lowest, m.add_ints("", {INT64_MAX}), one}));
    m.add_output(m.add_node("Slice", {x, lowest, m.add_ints("", {-2}), one}));
    m.add_output(m.add_node("Slice", {x, m.add_ints("", {-1}), lowest, one, m.add_ints("", {-1})}));
    m.add_output(m.add_node("Slice", {x, lowest, lowest, one}));
    EXPECT_EQ(m.dims(0), "n, m");
    EXPECT_EQ(m.dims(1), "n, max(m - 2, 0)");
    EXPECT_EQ(m.dims(2), "n, m");
    EXPECT_EQ(m.dims(3), "n, 0");
  }
}

}  // namespace
}  // namespace thaw::ops
