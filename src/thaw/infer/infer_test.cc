// The engine: what it takes from declarations, and how it goes through functions, data and unknown operators.
#include "thaw/infer/infer.h"

#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/limits.h"

namespace thaw::infer {
namespace {

using ir::DataType;
using ir::Dims;

std::string text(const ops::Fact& fact) {
  if (!fact.shape) return "rank ?";
  std::string out;
  for (dim::Dim d : *fact.shape) out += (out.empty() ? "" : ", ") + dim::to_string(d);
  return out;
}

// The dims that inference finds for an input declared so.
std::string declared(const Dims& dims, const Dims& other = {}) {
  ir::ModelBuilder m;
  ir::Value* x = m.add_input("x", DataType::kFloat, dims);
  if (!other.empty()) m.add_input("past", DataType::kFloat, other);
  m.add_output(m.add_node("Relu", {x}), "y");
  auto model = m.build();
  dim::Scope scope;
  Result result = infer(*model, scope);
  return text(result.fact(model->graph->outputs()[0]));
}

TEST(DeclaredInput, KeepsNumbersAndNames) { EXPECT_EQ(declared({"batch", 3, "height"}), "batch, 3, height"); }

TEST(DeclaredInput, ATextThatNamesNothingIsASizeOfItsOwn) {
  EXPECT_EQ(declared({"?", "?", "-1", "None", ir::kUnknownDim}), "x_dim0, x_dim1, x_dim2, x_dim3, x_dim4");
}

TEST(DeclaredInput, ANumberThatIsNoSizeIsASizeOfItsOwn) { EXPECT_EQ(declared({0, -1, 5}), "x_dim0, x_dim1, 5"); }

TEST(DeclaredInput, ASumOfDeclaredNamesIsOne) {
  EXPECT_EQ(declared({"batch", "past_len + seq"}, {"past_len", "seq"}), "batch, past_len + seq");
}

TEST(DeclaredInput, ASumOfOtherNamesIsAName) {
  // Nothing says what past_len is: the text names a size of its own.
  EXPECT_EQ(declared({"past_len + seq", "past_len + seq"}), "past_len___seq, past_len___seq");
}

TEST(Infer, AnUnknownOperatorTakesTheDeclaredTypeAndIsNamed) {
  ir::ModelBuilder m;
  ir::Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  ir::Value* y = m.add_node("Mystery", {x}, {}, {.domain = "my.domain"});
  m.graph().set_value_info(y, ir::tensor_type(DataType::kFloat, {"n", 9}));
  m.add_output(m.add_node("Relu", {y}), "z");
  auto model = m.build();
  dim::Scope scope;
  Result result = infer(*model, scope);
  EXPECT_EQ(text(result.fact(model->graph->outputs()[0])), "n, 9");
  EXPECT_EQ(result.unknown_operators(), (std::vector<std::string>{"my.domain.Mystery"}));
  EXPECT_EQ(result.trusted().size(), 1u);
}

TEST(Infer, DeclaredTypesOfInnerValuesAreNotTrusted) {
  ir::ModelBuilder m;
  ir::Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  ir::Value* y = m.add_node("Relu", {x});
  m.graph().set_value_info(y, ir::tensor_type(DataType::kFloat, {3, 896}));
  m.add_output(m.add_node("Relu", {y}), "z");
  auto model = m.build();
  dim::Scope scope;
  EXPECT_EQ(text(infer(*model, scope).fact(model->graph->outputs()[0])), "n, 4");
}

TEST(Infer, ASizeThatDataDecidesIsTheSameWhereverItGoes) {
  ir::ModelBuilder m;
  ir::Value* x = m.add_input("x", DataType::kFloat, {"n"});
  ir::Value* found = m.add_node("NonZero", {x});
  m.add_output(found, "found");
  m.add_output(m.add_node("Transpose", {found}), "turned");
  auto model = m.build();
  dim::Scope scope;
  Result result = infer(*model, scope);
  const ops::Fact& a = result.fact(model->graph->outputs()[0]);
  const ops::Fact& b = result.fact(model->graph->outputs()[1]);
  ASSERT_TRUE(a.shape && b.shape);
  EXPECT_TRUE(dim::same(a.dim(1), b.dim(0)));
  EXPECT_TRUE(dim::is_data_dependent(a.dim(1)));
}

TEST(Infer, ContradictingSizesAreAProblemOfTheirNode) {
  ir::ModelBuilder m;
  ir::Value* a = m.add_input("a", DataType::kFloat, {"n", 4});
  ir::Value* b = m.add_input("b", DataType::kFloat, {5, "m"});
  m.add_output(m.add_node("MatMul", {a, b}), "y");
  auto model = m.build();
  dim::Scope scope;
  Result result = infer(*model, scope);
  ASSERT_EQ(result.problems().size(), 1u);
  EXPECT_EQ(result.problems()[0].node->op_type(), "MatMul");
}

TEST(Infer, AMeetingWithAConstantKeepsTheConstantUnlessSymbolsArePreferred) {
  ir::ModelBuilder m;
  ir::Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  ir::Value* table = m.add_zeros("table", DataType::kFloat, {7, 4});
  m.add_output(m.add_node("Add", {x, table}), "y");
  auto model = m.build();
  dim::Scope scope;
  const ir::Value* y = model->graph->outputs()[0];
  Result result = infer(*model, scope);
  EXPECT_EQ(text(result.fact(y)), "7, 4");
  ASSERT_EQ(result.obligations().size(), 1u);
  EXPECT_EQ(result.obligations()[0].input_b, 1);
  EXPECT_EQ(result.obligations()[0].axis_b, 0);
  InferOptions options;
  options.prefer_symbols = true;
  EXPECT_EQ(text(infer(*model, scope, options).fact(y)), "n, 4");
  options.assumed_sizes[scope.symbol_id(scope.symbol("n"))] = 1;  // then it broadcasts
  EXPECT_EQ(text(infer(*model, scope, options).fact(y)), "7, 4");
}

TEST(Infer, StopsAtItsBudgetAndSaysSo) {
  ir::ModelBuilder m;
  ir::Value* x = m.add_input("x", DataType::kFloat, {"n"});
  for (int i = 0; i < 10; ++i) x = m.add_node("Relu", {x});
  m.add_output(x, "y");
  auto model = m.build();
  dim::Scope scope;
  set_limits({.max_visits = 5});
  ir::begin_run(*model);
  const Result result = infer(*model, scope);
  set_limits({});
  EXPECT_TRUE(result.out_of_budget());
  EXPECT_EQ(text(result.fact(model->graph->outputs()[0])), "rank ?");
  // All that a run does spends the same budget; the next run has one of its own.
  EXPECT_TRUE(infer(*ir::clone(*model), scope).out_of_budget());
  ir::begin_run(*model);
  EXPECT_FALSE(infer(*model, scope).out_of_budget());
}

TEST(Infer, HoldsAsManyBytesAsItMay) {
  ir::ModelBuilder m;
  ir::Value* x = m.add_input("x", DataType::kInt64, {128});
  for (int i = 0; i < 100; ++i) x = m.add_node("Neg", {x});
  m.add_output(x, "y");
  auto model = m.build();
  set_limits({.max_memory = 200'000});
  ir::begin_run(*model);
  {
    dim::Scope scope;
    EXPECT_TRUE(infer(*model, scope).out_of_budget());
  }
  set_limits({});
  ir::begin_run(*model);
  for (int i = 0; i < 100; ++i) {
    dim::Scope scope;
    EXPECT_FALSE(infer(*model, scope).out_of_budget()) << "what results held is given back";
  }
}

TEST(Infer, FollowsNoRankAboveSixtyFour) {
  ir::ModelBuilder m;
  ir::Value* x = m.add_input("x", DataType::kFloat, Dims(64, 2));
  ir::Value* wide = m.add_input("wide", DataType::kFloat, Dims(65, 2));
  m.add_output(m.add_node("Relu", {x}), "y");
  m.add_output(m.add_node("Unsqueeze", {x, m.add_ints("axes", {0})}), "z");
  m.add_output(m.add_node("Relu", {wide}), "w");
  auto model = m.build();
  dim::Scope scope;
  const Result result = infer(*model, scope);
  EXPECT_EQ(result.fact(model->graph->outputs()[0]).rank(), 64);
  EXPECT_FALSE(result.fact(model->graph->outputs()[1]).has_rank());
  EXPECT_FALSE(result.fact(model->graph->outputs()[2]).has_rank());
}

}  // namespace
}  // namespace thaw::infer
