// One pattern, many spellings; and what only looks alike.
#include "thaw/rewrite/match.h"

#include <cmath>

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"

namespace thaw::rewrite {
namespace {

using ir::DataType;
using ir::Value;

const Pattern kX = any("x");
const Pattern kGelu = 0.5 * kX * (1 + op("Erf", {kX / std::sqrt(2)}));
const Pattern kCentred = kX - op_of({"ReduceMean"}, {kX}).with("keepdims", 1).named("mean");
const Pattern kVariance =
    op_of({"ReduceMean"}, {power(kCentred.named("centred"), 2)}).with("keepdims", 1).named("variance");
const Pattern kNorm = kCentred.named("centred") / sqrt(kVariance + any_number("epsilon"));

class Matching : public testing::Test {
 protected:
  ir::ModelBuilder m{17};
  Value* x = m.add_input("x", DataType::kFloat, {"n", "h", 8});
  Value* number(double value) { return m.add_float("", static_cast<float>(value)); }
  Value* node(std::string_view op, std::vector<Value*> inputs, std::vector<ir::Attribute> attributes = {}) {
    return m.add_node(op, std::move(inputs), std::move(attributes));
  }

  std::optional<Match> find(const Pattern& pattern, Value* root) {
    if (!root->is_output()) m.add_output(root);
    facts.emplace(infer::infer(m.model(), scope));
    return match(pattern, root, m.model(), *facts);
  }
  dim::Scope scope;
  std::optional<infer::Result> facts;
};

// Each way to write gelu that an exporter has.
TEST_F(Matching, ReadsGeluInEverySpelling) {
  const double r = std::sqrt(2.0);
  Value* erf_div = node("Erf", {node("Div", {x, number(r)})});
  EXPECT_TRUE(find(kGelu, node("Mul", {node("Mul", {x, node("Add", {erf_div, number(1)})}), number(0.5)})));
  Value* erf_mul = node("Erf", {node("Mul", {number(1 / r), x})});
  EXPECT_TRUE(find(kGelu, node("Mul", {node("Mul", {number(0.5), x}), node("Add", {number(1), erf_mul})})));
  Value* erf_sqrt = node("Erf", {node("Div", {x, node("Sqrt", {number(2)})})});
  EXPECT_TRUE(find(kGelu, node("Mul", {x, node("Mul", {node("Add", {erf_sqrt, number(1)}), number(0.5)})})));
  Value* erf_reciprocal = node("Erf", {node("Mul", {x, node("Reciprocal", {number(r)})})});
  EXPECT_TRUE(find(kGelu, node("Div", {node("Mul", {node("Add", {erf_reciprocal, number(1)}), x}), number(2)})));
  Value* erf_minus = node("Erf", {node("Div", {x, number(r)})});
  EXPECT_TRUE(find(kGelu, node("Mul", {x, node("Mul", {node("Sub", {erf_minus, number(-1)}), number(0.5)})})));
}

TEST_F(Matching, DoesNotGoByLooks) {
  Value* wrong = node("Erf", {node("Mul", {x, number(0.75)})});  // 0.75 is not 1/sqrt(2)
  EXPECT_FALSE(find(kGelu, node("Mul", {node("Mul", {x, node("Add", {wrong, number(1)})}), number(0.5)})));
  Value* other = node("Neg", {x});
  Value* mixed = node("Erf", {node("Div", {other, number(std::sqrt(2))})});
  EXPECT_FALSE(find(kGelu, node("Mul", {node("Mul", {x, node("Add", {mixed, number(1)})}), number(0.5)})));
}

TEST_F(Matching, LeavesWhatSomethingElseReads) {
  Value* erf = node("Erf", {node("Div", {x, number(std::sqrt(2))})});
  Value* gelu = node("Mul", {node("Mul", {x, node("Add", {erf, number(1)})}), number(0.5)});
  EXPECT_TRUE(find(kGelu, gelu));
  m.add_output(erf, "erf");
  EXPECT_FALSE(find(kGelu, gelu));
}

Value* norm(ir::ModelBuilder& m, Value* x, std::vector<ir::Attribute> mean, bool by_pow, bool by_power) {
  Value* centred = m.add_node("Sub", {x, m.add_node("ReduceMean", {x}, mean)});
  Value* square = by_pow ? m.add_node("Pow", {centred, m.add_float("", 2)}) : m.add_node("Mul", {centred, centred});
  Value* variance = m.add_node("Add", {m.add_node("ReduceMean", {square}, mean), m.add_float("", 1e-5F)});
  if (by_power) return m.add_node("Mul", {centred, m.add_node("Pow", {variance, m.add_float("", -0.5F)})});
  return m.add_node("Div", {centred, m.add_node("Sqrt", {variance})});
}

TEST_F(Matching, ReadsANormInEverySpelling) {
  const ir::Attribute last{"axes", std::vector<int64_t>{-1}}, named{"axes", std::vector<int64_t>{2}},
      keep{"keepdims", int64_t{1}};
  for (const std::vector<ir::Attribute>& mean : {std::vector{last}, {last, keep}, {named, keep}}) {
    for (const bool by_pow : {false, true}) {
      for (const bool by_power : {false, true}) {
        const auto found = find(kNorm, norm(m, x, mean, by_pow, by_power));
        ASSERT_TRUE(found);
        EXPECT_EQ((*found)["x"], x);
        EXPECT_FLOAT_EQ(static_cast<float>(found->number("epsilon")), 1e-5F);
        EXPECT_TRUE(found->is_over_last_axis("mean"));
        EXPECT_TRUE(found->is_over_last_axis("variance"));
      }
    }
  }
}

TEST_F(Matching, TellsTheAxes) {
  const auto found = find(kNorm, norm(m, x, {{"axes", std::vector<int64_t>{1}}}, true, false));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_over_last_axis("mean"));
  EXPECT_EQ(found->axes("mean"), (std::vector<int64_t>{1}));
  // Without keepdims the mean would not broadcast against its own axis.
  EXPECT_FALSE(find(kNorm, norm(m, x, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{0}}}, true, false)));
}

TEST_F(Matching, MatchesPartsOfLongerArithmetic) {
  const Pattern silu = any("gate") * op("Sigmoid", {any("gate")});
  Value* gate = node("Abs", {x});
  Value* up = node("Neg", {x});
  Value* inner = node("Mul", {gate, node("Sigmoid", {gate})});
  node("Mul", {up, inner});
  EXPECT_TRUE(find(silu, inner));
}

TEST_F(Matching, EitherIsTheFirstThatMatches) {
  const Pattern squares = either({op_of({"ReduceMean"}, {power(kX, 2)}).named("mean"),
                                  op_of({"ReduceSumSquare"}, {kX}).named("sum") * any_number("share")});
  const auto mean = find(squares, node("ReduceMean", {node("Mul", {x, x})}));
  ASSERT_TRUE(mean.has_value());
  EXPECT_TRUE(mean->has("mean"));
  EXPECT_FALSE(mean->has("sum") || mean->has_number("share"));
}

TEST_F(Matching, EitherHasOtherNames) {
  const Pattern squares = either({op_of({"ReduceMean"}, {power(kX, 2)}).named("mean"),
                                  op_of({"ReduceSumSquare"}, {kX}).named("sum") * any_number("share")});
  const auto sum = find(squares, node("Div", {node("ReduceSumSquare", {x}), number(8)}));
  ASSERT_TRUE(sum.has_value());
  EXPECT_TRUE(sum->has("sum"));
  EXPECT_NEAR(sum->number("share"), 0.125, 1e-6);
}

TEST(MayMatch, AsksForTheOperatorsThatAPatternCannotDoWithout) {
  EXPECT_TRUE(may_match(kGelu, {"Erf", "Softmax"}));
  EXPECT_FALSE(may_match(kGelu, {"Mul", "Div", "Add", "Tanh"}));
  const Pattern squares = either({op_of({"ReduceMean"}, {power(kX, 2)}), op_of({"ReduceSumSquare"}, {kX})});
  EXPECT_TRUE(may_match(squares, {"ReduceSumSquare"}));
  EXPECT_FALSE(may_match(squares, {"ReduceSum", "Mul"}));
}

}  // namespace
}  // namespace thaw::rewrite
