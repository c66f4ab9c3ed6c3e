// An operator that does not exist, told to Thaw in this file alone: everything that Thaw does works on it.
//
//   Spread(data, shape) repeats rows: data [1, k] becomes [shape[0], k], k being shape[1].
#include <gtest/gtest.h>

#include "thaw/batch/batch.h"
#include "thaw/check/check.h"
#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/fix/fix.h"
#include "thaw/frozen/frozen.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/lift/loop/mask_padding.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw {
namespace {

using ir::DataType;
using ir::Value;

constexpr const char* kDomain = "made.up";

void spread(ops::Context& ctx) {
  const auto target = ctx.dims_from(1);
  if (!target || target->size() != 2) return ops::unknown_tensor(ctx, 0, ctx.input(0).dtype);
  ctx.set_tensor(0, ctx.input(0).dtype, *target);
}

// Every element of a row is doubled where it stands: rows and columns keep apart.
void twice(ops::Context& ctx) { ctx.set_tensor(0, ctx.input(0).dtype, ctx.input(0).shape); }

class MadeUpOperator : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ops::Registry& r = ops::registry_for_tests();
    r.add({.domain = kDomain,
           .name = "Spread",
           .shape = spread,
           .op_class = ops::OpClass::kMovement,
           .operands = {ops::Role::kData, ops::Role::kShape},
           .axes = ops::no_axes("it makes rows out of nothing"),
           .batch = ops::no_batch("it makes rows out of nothing")});
    r.add({.domain = kDomain, .name = "Twice", .shape = twice, .axes = ops::axes_by("... -> ...")});
  }

  static ir::NodeOptions made_up() { return {.domain = kDomain}; }

  // x [n, 4] plus a row that was spread to the 7 rows of an example.
  static std::unique_ptr<ir::Model> frozen_model() {
    ir::ModelBuilder m(21);
    Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
    Value* row = m.add_input("row", DataType::kFloat, {1, 4});
    Value* rows = m.add_node("Spread", {row, m.add_ints("sizes", {7, 4})}, {}, made_up());
    m.add_output(m.add_node("Add", {x, rows}), ir::tensor_type(DataType::kFloat, {"n", 4}), "y");
    return m.build();
  }
};

TEST_F(MadeUpOperator, IsInferred) {
  ir::ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  Value* rows = m.add_node("Spread", {x, m.add_node("Shape", {x})}, {}, made_up());
  m.add_output(m.add_node("Twice", {rows}, {}, made_up()), "y");
  dim::Scope scope;
  const infer::Result facts = infer::infer(m.model(), scope);
  EXPECT_EQ(dim::to_string(facts.fact(m.model().graph->outputs()[0]).dim(0)), "n");
  EXPECT_TRUE(facts.unknown_operators().empty());
}

TEST_F(MadeUpOperator, IsChecked) {
  const auto m = frozen_model();
  const std::vector<Finding> findings = checking::check(*m).findings;
  const auto frozen =
      std::find_if(findings.begin(), findings.end(), [](const Finding& f) { return f.code == "THAW010"; });
  ASSERT_NE(frozen, findings.end());
  EXPECT_EQ(frozen->where.tensor, "sizes");
}

TEST_F(MadeUpOperator, IsFixed) {
  auto m = frozen_model();
  const rewrite::Changes changes = fixing::fix(*m);
  ASSERT_FALSE(changes.made.empty());
  EXPECT_EQ(changes.made[0].replaced, (std::vector<std::pair<std::string, std::string>>{{"7", "n"}}));
  dim::Scope scope;
  const infer::Result facts = infer::infer(*m, scope);
  EXPECT_EQ(dim::to_string(facts.fact(m->graph->outputs()[0]).dim(0)), "n");
  EXPECT_TRUE(checking::check(*m).findings.empty());
}

TEST_F(MadeUpOperator, IsBatched) {
  ir::ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  m.add_output(m.add_node("Twice", {x}, {}, made_up()), ir::tensor_type(DataType::kFloat, {"n", 4}), "y");
  auto built = m.build();
  batching::batch(*built, {.name = "batch", .inputs = {}, .sample = {}, .new_axis = true});
  EXPECT_EQ(ir::dims_text(built->graph->outputs()[0]->type), "[batch, n, 4]");
  // What cannot be batched is refused for the reason that its entry gives, and the model is as it was.
  auto refused = frozen_model();
  const std::string before = ir::serialize(*refused);
  EXPECT_THROW(batching::batch(*refused, {.name = "batch", .inputs = {}, .sample = {}}), Error);
  EXPECT_EQ(ir::serialize(*refused), before);
}

TEST_F(MadeUpOperator, StandsInWindows) {
  ir::ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"length", 4});
  Value* mask = m.add_input("mask", DataType::kBool, {1, "length"});
  Value* twice = m.add_node("Twice", {x}, {}, made_up());
  Value* mean = m.add_node("ReduceMean", {twice, m.add_ints("", {0})});
  m.add_output(m.add_node("Sub", {twice, mean}), "y");
  auto built = m.build();
  const std::vector<int64_t> axes{0};
  EXPECT_EQ(lifting::mask_padding(*built, "length", built->graph->find(mask->name()), axes), std::nullopt);
}

}  // namespace
}  // namespace thaw
