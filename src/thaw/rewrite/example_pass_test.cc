// The pass of docs/internals/adding-a-pass.md, word for word: tests/docs_code_test.py compares.
#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"
#include "thaw/rewrite/fuse.h"
#include "thaw/rewrite/pass_testing.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/run/session.h"

namespace thaw::rewrite {
namespace {

const Fusion kGemm[] = {
    {.name = "Gemm",
     .pattern = op("MatMul", {any("a"), any("b")}) + any("c"),
     .holds =
         [](const Match& m) {
           const ops::Fact &a = m.fact("a"), &b = m.fact("b"), &c = m.fact("c");
           return a.rank() == 2 && b.rank() == 2 && c.rank() == 1 && dim::same(c.dim(0), b.dim(1));
         },
     .build = [](const Match& m, const ops::Emit& e) { return e.emit("Gemm", {m["a"], m["b"], m["c"]}); }},
};

const Pass kPipeline[] = {
    {"gemms", "a product of two matrices plus a row is one Gemm, with the same results at every size", fusing(kGemm)},
    {"unused", "what nothing reads goes", [](PassContext& context) { return remove_unused(context.model); }},
};

// x [n, 3] times a matrix, plus `row`.
std::unique_ptr<ir::Model> model(const std::vector<int64_t>& row) {
  ir::ModelBuilder m(21);
  ir::Value* x = m.add_input("x", ir::DataType::kFloat, {"n", 3});
  ir::Value* product = m.add_node("MatMul", {x, m.add_floats("b", {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6})});
  ir::Value* c = m.add_floats("c", row, std::vector<float>{7, 8});
  m.add_output(m.add_node("Add", {c, product}), "y");
  return m.build();
}

std::vector<double> result(const ir::Model& model, int64_t n) {
  std::vector<double> x;
  for (int64_t k = 0; k < 3 * n; ++k) x.push_back(0.25 * static_cast<double>(k % 7) - 1);
  run::Session session(model);
  return run::to_doubles(session.run({{"x", Array::from_doubles(ir::DataType::kFloat, {n, 3}, x)}}).at("y"));
}

TEST(ExamplePass, FusesAndKeepsNumbersAndSizes) {
  auto fused = model({2});
  const auto original = ir::clone(*fused);
  const Changes changes = run(kPipeline, *fused);
  ASSERT_EQ(changes.made.size(), 1u);
  EXPECT_EQ(changes.made[0].kind, "Gemm");
  EXPECT_EQ(fused->graph->nodes().size(), 1u);
  expect_ensured(*original, *fused);
  for (const int64_t n : {2, 5}) EXPECT_EQ(result(*fused, n), result(*original, n));
  EXPECT_FALSE(run(kPipeline, *fused).modified());
}

TEST(ExamplePass, LeavesWhatIsNoRow) {
  auto other = model({1, 2});
  const std::string before = ir::serialize(*other);
  EXPECT_FALSE(run(kPipeline, *other).modified());
  EXPECT_EQ(ir::serialize(*other), before);
}

}  // namespace
}  // namespace thaw::rewrite
