// Fusions and folding over whole models: what is written computes the same, and every size stays free.
#include "thaw/rewrite/fuse.h"

#include <cmath>

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"
#include "thaw/rewrite/fold.h"
#include "thaw/rewrite/pass_testing.h"
#include "thaw/run/session.h"

namespace thaw::rewrite {
namespace {

using ir::DataType;
using ir::Value;

const Pattern kInput = any("x");
const Fusion kFusions[] = {
    {.name = "Gelu",
     .pattern = 0.5 * kInput * (1 + op("Erf", {kInput / std::sqrt(2)})),
     .build = [](const Match& m, const ops::Emit& e) { return e.emit("Gelu", {m["x"]}); }},
    {.name = "HardSwish",
     .pattern = kInput * op("HardSigmoid", {kInput}),
     .holds = [](const Match& m) { return m.fact("x").rank() == 3; },
     .build = [](const Match& m, const ops::Emit& e) { return e.emit("HardSwish", {m["x"]}); }},
};

Value* gelu(ir::ModelBuilder& m, Value* x) {
  Value* erf = m.add_node("Erf", {m.add_node("Div", {x, m.add_float("", std::sqrt(2.0F))})});
  return m.add_node("Mul",
                    {m.add_node("Mul", {x, m.add_node("Add", {erf, m.add_float("", 1)})}), m.add_float("", 0.5F)});
}

std::unique_ptr<ir::Model> chain_of_gelus(int64_t opset, int blocks) {
  ir::ModelBuilder m(opset);
  Value* x = m.add_input("x", DataType::kFloat, {"n", "h", 4});
  for (int k = 0; k < blocks; ++k) x = gelu(m, m.add_node("Add", {x, m.add_zeros("", DataType::kFloat, {4})}));
  m.add_output(x, ir::tensor_type(DataType::kFloat, {"n", "h", 4}), "y");
  return m.build();
}

Array result_of(const ir::Model& model) {
  std::vector<double> values;
  for (int k = 0; k < 2 * 3 * 4; ++k) values.push_back(0.37 * k - 4);
  run::Session session(model);
  return session.run({{"x", Array::from_doubles(DataType::kFloat, {2, 3, 4}, values)}}).at("y");
}

TEST(Fuse, FindsWhatReadsTheOperatorThatAnotherFusionMade) {
  const Fusion fusions[] = {
      kFusions[0],
      {.name = "Elu of Gelu",
       .pattern = op("Neg", {op("Gelu", {kInput})}),
       .build = [](const Match& m, const ops::Emit& e) { return e.emit("Elu", {m["x"]}); }},
  };
  ir::ModelBuilder b(20);
  Value* x = b.add_input("x", DataType::kFloat, {"n", 4});
  b.add_output(b.add_node("Neg", {gelu(b, x)}), ir::tensor_type(DataType::kFloat, {"n", 4}), "y");
  auto m = b.build();
  PassContext context(*m);
  EXPECT_EQ(fuse(context, fusions), 2);
  ASSERT_EQ(m->graph->nodes().size(), 1u);
  EXPECT_EQ((*m->graph->nodes().begin())->op_type(), "Elu");
}

TEST(Fuse, ReplacesEachMatchAndKeepsTheNumbers) {
  auto m = chain_of_gelus(20, 5);
  const auto original = ir::clone(*m);
  const Array before = result_of(*m);
  PassContext context(*m);
  EXPECT_EQ(fuse(context, kFusions), 5);
  EXPECT_EQ(m->graph->nodes().size(), 10u);
  EXPECT_EQ(context.changes.made.size(), 5u);
  EXPECT_EQ(m->graph->outputs()[0]->name(), "y");
  expect_ensured(*original, *m);
  const auto a = run::to_doubles(before), b = run::to_doubles(result_of(*m));
  for (size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-5);
  EXPECT_EQ(fuse(context, kFusions), 0);
}

TEST(Fuse, LeavesAModelWhoseOpsetLacksTheOperator) {
  auto m = chain_of_gelus(17, 2);
  const std::string before = ir::serialize(*m);
  PassContext context(*m);
  EXPECT_EQ(fuse(context, kFusions), 0);
  EXPECT_FALSE(context.changes.modified());
  EXPECT_EQ(ir::serialize(*m), before);
}

TEST(Fuse, AsksForFacts) {
  for (const int rank : {2, 3}) {
    ir::ModelBuilder m(20);
    Value* x = m.add_input("x", DataType::kFloat, rank == 3 ? ir::Dims{"n", 3, 4} : ir::Dims{"n", 4});
    m.add_output(m.add_node("Mul", {m.add_node("HardSigmoid", {x}), x}), "y");
    auto built = m.build();
    PassContext context(*built);
    EXPECT_EQ(fuse(context, kFusions), rank == 3 ? 1 : 0);
  }
}

TEST(Fold, ComputesConstantsAndNoShapes) {
  ir::ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {2, 3});
  Value* half = m.add_node("Mul", {m.add_float("", 0.25F), m.add_float("", 2)});
  Value* sizes =
      m.add_node("Concat", {m.add_ints("", {1}), m.add_node("Mul", {m.add_ints("", {2}), m.add_ints("", {3})})},
                 {{"axis", int64_t{0}}});
  Value* shape = m.add_node("Shape", {x});  // known, and no constant
  m.add_output(m.add_node("Mul", {m.add_node("Reshape", {x, sizes}), half}), ir::tensor_type(DataType::kFloat, {1, 6}),
               "y");
  m.add_output(m.add_node("Mul", {shape, m.add_ints("", {2})}), ir::tensor_type(DataType::kInt64, {2}), "s");
  auto built = m.build();
  const auto original = ir::clone(*built);
  PassContext context(*built);
  EXPECT_EQ(fold_constants(context, {}), 2);
  EXPECT_EQ(built->graph->nodes().size(), 4u);
  expect_ensured(*original, *built);
  run::Session session(*built);
  const Arrays got =
      session.run({{"x", Array::from_doubles(DataType::kFloat, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(run::to_doubles(got.at("y")), (std::vector<double>{0.5, 1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(run::to_int64s(got.at("s")), (std::vector<int64_t>{4, 6}));
}

TEST(Fold, KeepsToItsBudget) {
  for (const uint64_t budget : {uint64_t{0}, uint64_t{1} << 20}) {
    ir::ModelBuilder m(21);
    Value* x = m.add_input("x", DataType::kFloat, {"n", 256});
    // 256 bytes become 64 KiB.
    Value* large = m.add_node("Expand", {m.add_zeros("row", DataType::kFloat, {1, 256}), m.add_ints("", {64, 256})});
    m.add_output(m.add_node("MatMul", {m.add_node("MatMul", {x, m.add_node("Transpose", {large})}), large}), "y");
    auto built = m.build();
    PassContext context(*built);
    const int folded = fold_constants(context, {.most_growth = budget});
    EXPECT_EQ(folded > 0, budget > 0);
  }
}

}  // namespace
}  // namespace thaw::rewrite
