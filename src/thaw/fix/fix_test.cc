// The passes of `fix`: what is frozen moves or is said, and what is declared is true.
#include "thaw/fix/fix.h"

#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/fix/passes.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/ir/wire/check_model_testing.h"

namespace thaw::fixing {
namespace {

using ir::DataType;
using ir::ModelBuilder;
using ir::Value;
using testing::ElementsAre;

std::vector<std::string> operators_of(const ir::Model& model) {
  std::vector<std::string> all;
  for (const ir::Node* node : model.graph->nodes()) all.push_back(node->op_type());
  return all;
}

// Splits 12 features into 3 heads and merges them again, frozen at batch 2 and length 11.
std::unique_ptr<ir::Model> frozen_heads() {
  ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"batch", "seq", 12});
  const std::vector<int64_t> turn{0, 2, 1, 3};
  Value* split = m.add_node("Reshape", {x, m.add_ints("split", {2, 11, 3, 4})});
  Value* soft = m.add_node("Softmax", {m.add_node("Transpose", {split}, {{"perm", turn}})}, {{"axis", int64_t{2}}});
  Value* merged =
      m.add_node("Reshape", {m.add_node("Transpose", {soft}, {{"perm", turn}}), m.add_ints("merge", {2, 11, 12})});
  m.add_output(merged, ir::tensor_type(DataType::kFloat, {"batch", "seq", 12}), "y");
  return m.build();
}

// A table of 7 positions, no two alike, added to a sequence of any length.
std::unique_ptr<ir::Model> frozen_table() {
  ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  std::vector<float> rows(28);
  std::iota(rows.begin(), rows.end(), 0.0F);
  m.add_output(m.add_node("Add", {x, m.add_floats("table", {7, 4}, rows)}), ir::tensor_type(DataType::kFloat, {"n", 4}),
               "y");
  return m.build();
}

// A Reshape whose target is computed, though 0 and -1 say the same.
std::unique_ptr<ir::Model> chain() {
  ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 4, "s", 3});
  Value* size = m.add_node("Gather", {m.add_node("Shape", {x}), m.add_ints("", {0})});
  Value* target = m.add_node("Concat", {size, m.add_ints("rest", {-1, 12})}, {{"axis", int64_t{0}}});
  m.add_output(m.add_node("Reshape", {x, target}), "y");
  return m.build();
}

TEST(Fix, AFrozenSizeMovesWithTheInputs) {
  const auto model = frozen_heads();
  rewrite::PassContext context(*model);
  EXPECT_GT(thaw_sizes(context), 0);
  EXPECT_TRUE(context.changes.left.empty());
  EXPECT_EQ(ir::check_model(*model), std::vector<std::string>());
  for (const char* size : {"batch", "seq"}) {
    dim::Scope scope;
    const infer::Result facts = infer::infer(*model, scope);
    const ops::Fact& y = facts.fact(model->graph->outputs().front());
    EXPECT_TRUE(y.dim(size == std::string("batch") ? 0 : 1).is_symbolic()) << size;
  }
  EXPECT_EQ(thaw_sizes(context), 0);
}

TEST(Fix, ATableIsLeftAndSaid) {
  const auto model = frozen_table();
  const std::string before = ir::serialize(*model);
  rewrite::PassContext context(*model);
  EXPECT_EQ(thaw_sizes(context), 0);
  ASSERT_FALSE(context.changes.left.empty());
  EXPECT_EQ(context.changes.left.front().kind, "THAW013");
  EXPECT_EQ(context.changes.left.front().location, "table");
  EXPECT_EQ(ir::serialize(*model), before);
}

TEST(Fix, AChainOfShapesBecomesAConstant) {
  const auto model = chain();
  rewrite::PassContext context(*model);
  EXPECT_EQ(shorten_reshapes(context), 1);
  const ir::Node* reshape = model->graph->outputs().front()->producer();
  ASSERT_TRUE(reshape->input(1)->constant());
  EXPECT_THAT(reshape->input(1)->constant()->to_int64(), ElementsAre(0, -1, 12));
  EXPECT_EQ(shorten_reshapes(context), 0);
}

TEST(Fix, WhatIsDeclaredIsTrue) {
  ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  m.add_output(m.add_node("Relu", {x}), ir::tensor_type(DataType::kFloat, {"other", 5}), "y");
  const auto model = m.build();
  rewrite::PassContext context(*model);
  EXPECT_GT(declare_sizes(context), 0);
  const auto& shape = *model->graph->outputs().front()->type.shape;
  EXPECT_EQ(shape[0].param, "n");
  EXPECT_EQ(shape[1].value, 4);
  EXPECT_EQ(declare_sizes(context), 0);
}

TEST(Fix, WhatAChangeLeavesWithoutUseGoes) {
  const auto model = chain();
  EXPECT_TRUE(fix(*model).modified());
  EXPECT_THAT(operators_of(*model), ElementsAre("Reshape"));
  const std::string written = ir::serialize(*model);
  EXPECT_FALSE(fix(*model).modified());
  EXPECT_EQ(ir::serialize(*model), written);
}

TEST(Fix, DoesWhatIsAskedForAlone) {
  const auto without_chains = chain(), without_sizes = frozen_heads();
  fix(*without_chains, {.chains = false});
  EXPECT_EQ(operators_of(*without_chains).size(), 4u);
  const rewrite::Changes changes = fix(*without_sizes, {.sizes = false, .declarations = false});
  EXPECT_FALSE(changes.modified());
}

TEST(Fix, AModelThatNeedsNothingStaysAsItIs) {
  ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  Value* unread = m.add_node("Exp", {x});
  m.add_output(m.add_node("Relu", {x}), ir::tensor_type(DataType::kFloat, {"n", 4}), "y");
  ASSERT_TRUE(unread);
  const auto model = m.build();
  const std::string before = ir::serialize(*model);
  EXPECT_FALSE(fix(*model).modified());
  EXPECT_EQ(ir::serialize(*model), before);
}

}  // namespace
}  // namespace thaw::fixing
