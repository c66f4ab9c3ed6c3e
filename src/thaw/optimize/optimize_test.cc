// The list of passes as a whole: which of them run, in rounds, and what is kept apart.
#include "thaw/optimize/optimize.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/optimize/passes_testing.h"

namespace thaw::optimizing {
namespace {

using ir::DataType;
using ir::ModelBuilder;
using ir::Value;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Relu(Transpose(Transpose(x))) + 0, and a node that nothing reads.
std::unique_ptr<ir::Model> untidy() {
  ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"n", "m"});
  const auto turn = [&](Value* value) { return m.add_node("Transpose", {value}); };
  Value* sum = m.add_node("Add", {m.add_node("Relu", {turn(turn(x))}), m.add_float("", 0)});
  m.add_node("Exp", {x});
  m.add_output(m.add_node("Neg", {sum}), "y");
  return m.build();
}

TEST(Optimize, EveryPassHasANameAndASummary) {
  std::set<std::string> names;
  for (const OptimizePass& pass : optimize_passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.summary.empty()) << pass.name;
  }
  EXPECT_EQ(optimize_passes().back().name, "unused");
  EXPECT_TRUE(is_fusion("norms"));
  EXPECT_FALSE(is_fusion("fold"));
  EXPECT_FALSE(is_fusion("unused"));
}

TEST(Optimize, RunsUntilNothingIsFound) {
  const auto model = untidy();
  const auto before = ir::clone(*model);
  const rewrite::Changes changes = optimize(*model);
  EXPECT_EQ(operators_of(*model), "Relu Neg");
  EXPECT_THAT(changes.passes, testing::UnorderedElementsAre("identities", "layouts", "unused"));
  rewrite::expect_ensured(*before, *model);
  const std::string written = ir::serialize(*model);
  EXPECT_FALSE(optimize(*model).modified());
  EXPECT_EQ(ir::serialize(*model), written);
}

TEST(Optimize, RunsThosePassesThatAreAskedFor) {
  const auto only = untidy(), without = untidy();
  optimize(*only, {.only = {"layouts"}});
  EXPECT_EQ(operators_of(*only), "Relu Add Neg");  // what is left behind goes whichever they are
  optimize(*without, {.skip = {"layouts", "transposes", "unused"}});
  EXPECT_THAT(operators_of(*without), HasSubstr("Transpose Transpose"));
  EXPECT_THAT(operators_of(*without), HasSubstr("Exp"));
}

TEST(Optimize, RefusesAPassThatThereIsNot) {
  const auto model = untidy();
  try {
    optimize(*model, {.skip = {"layout"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("layouts"));
  }
}

// x split into heads by a target that was frozen at batch 2 and length 11, and the same numbers added to others.
std::unique_ptr<ir::Model> with_frozen() {
  ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"batch", "seq", 12});
  Value* i = m.add_input("i", DataType::kInt64, {4});
  Value* heads = m.add_node("Reshape", {x, m.add_ints("split", {2, 11, 3, 4})});
  Value* transposed = m.add_node("Transpose", {heads}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  m.add_output(m.add_node("Softmax", {transposed}, {{"axis", int64_t{2}}}), "y");
  m.add_output(m.add_node("Add", {i, m.add_ints("numbers", {2, 11, 3, 4})}), "z");
  return m.build();
}

TEST(Optimize, KeepsApartTheConstantsThatASizeWasFrozenIn) {
  const auto kept = with_frozen(), meant = with_frozen();
  optimize(*kept);
  optimize(*meant, {}, FrozenSizes::kMeant);
  EXPECT_EQ(kept->graph->initializers().size(), 2u);
  EXPECT_EQ(meant->graph->initializers().size(), 1u);
}

TEST(Optimize, LeavesAFileThatHadToListItsWeights) {
  ModelBuilder m(9, 3);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 2});
  Value* w = m.add_input("w", DataType::kFloat, {2});
  const std::vector<float> weights{1, 2};
  m.graph().replace_initializer(w, ir::Tensor::from_bytes("w", DataType::kFloat, {2}, std::vector<std::byte>(8)));
  m.add_output(m.add_node("Mul", {x, w}), "y");
  const auto model = m.build();
  const std::string before = ir::serialize(*model);
  EXPECT_FALSE(optimize(*model).modified());
  EXPECT_EQ(ir::serialize(*model), before);
}

}  // namespace
}  // namespace thaw::optimizing
