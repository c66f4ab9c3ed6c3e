// What holds of a batched model whatever the model is: its shapes, its names, and that a refusal changes nothing.
#include "thaw/batch/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/batch/rows_apart.h"
#include "thaw/core/error_testing.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/consistency_testing.h"
#include "thaw/ir/graph/small_models_testing.h"

namespace thaw::batching {
namespace {

using ir::DataType;
using ir::ModelBuilder;
using ir::Value;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

constexpr uint32_t kSeeds = 60;

Texts names_of(std::span<Value* const> values) {
  Texts names;
  for (const Value* value : values) names.push_back(value->name());
  return names;
}

// "batch, n, 8" of each output, as inference has it.
Texts output_sizes(const ir::Model& model) {
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  EXPECT_TRUE(facts.problems().empty());
  Texts all;
  for (const Value* output : model.graph->outputs()) {
    std::string text;
    for (const dim::Dim size : *facts.fact(output).shape) text += (text.empty() ? "" : ", ") + dim::to_string(size);
    all.push_back(text);
  }
  return all;
}

std::string refusal(ir::Model& model, const BatchOptions& options) {
  const std::string before = ir::serialize(model);
  std::string said = error_of([&] { batch(model, options); });
  EXPECT_EQ(ir::serialize(model), before);
  EXPECT_EQ(ir::inconsistency(*model.graph), "");
  return said;
}

TEST(Batch, ResultsAreTheSamplesWithTheBatchInPlaceOfTheFirstAxis) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto model = ir::small_model(seed, 1).model;
    ASSERT_THAT(output_sizes(*model), ElementsAre("1, n, 8", "1, 8"));
    const BatchReport report = batch(*model, {});
    EXPECT_EQ(ir::inconsistency(*model->graph), "");
    EXPECT_THAT(output_sizes(*model), ElementsAre("batch, n, 8", "batch, 8"));
    EXPECT_EQ(ir::dims_text(model->graph->inputs().front()->type), "[batch, n, 8]");
    EXPECT_EQ(ir::dims_text(model->graph->outputs().front()->type), "[batch, n, 8]");
    EXPECT_THAT(names_of(model->graph->inputs()), ElementsAre("x"));
    EXPECT_THAT(names_of(model->graph->outputs()), ElementsAre("y", "pooled"));
    EXPECT_THAT(report.per_sample_nodes, IsEmpty());
    EXPECT_GT(report.unchanged + report.rewritten, 0);
  }
}

TEST(Batch, ANewAxisStandsBeforeAllOthers) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto model = ir::small_model(seed, 1).model;
    batch(*model, {.name = "samples", .new_axis = true});
    EXPECT_EQ(ir::inconsistency(*model->graph), "");
    EXPECT_THAT(output_sizes(*model), ElementsAre("samples, 1, n, 8", "samples, 1, 8"));
  }
}

TEST(Batch, WhatIsABatchAlreadyStaysOne) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto model = ir::small_model(seed, 1).model;
    for (int round = 0; round < 3; ++round) {
      batch(*model, {});
      EXPECT_EQ(ir::inconsistency(*model->graph), "");
      EXPECT_THAT(output_sizes(*model), ElementsAre("batch, n, 8", "batch, 8"));
    }
  }
}

TEST(Batch, WhatNoSampleReachesStaysAsItIs) {
  ModelBuilder m(17);
  Value* x = m.add_input("x", DataType::kFloat, {1, "n", 8});
  Value* shared = m.add_input("shared", DataType::kFloat, {"n", 8});
  m.add_output(m.add_node("Add", {x, m.add_node("Relu", {shared})}), "y");
  const auto model = m.build();
  const BatchReport report = batch(*model, {.inputs = {"x"}});
  EXPECT_EQ(report.independent, 1);
  EXPECT_EQ(ir::dims_text(model->graph->inputs()[1]->type), "[n, 8]");
  EXPECT_THAT(output_sizes(*model), ElementsAre("batch, n, 8"));
}

TEST(Batch, ARefusalLeavesTheModelAsItWas) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const auto model = ir::small_model(seed, 1).model;
    EXPECT_THAT(refusal(*model, {.inputs = {"z"}}), AllOf(HasSubstr("no input 'z'"), HasSubstr("one of x")));
    EXPECT_THAT(refusal(*model, {.name = "n"}), HasSubstr("already has a size 'n'"));
    EXPECT_THAT(refusal(*model, {.name = "2 b"}), HasSubstr("cannot be the name of a size"));
    EXPECT_THAT(refusal(*model, {.name = "16"}), HasSubstr("is a number"));
    EXPECT_THAT(refusal(*model, {.sample = {{"width", 3}}}), HasSubstr("width"));
  }
}

TEST(Batch, NamesTheNodeThatCannotBe) {
  const auto with = [](std::string_view op, std::string_view domain) {
    ModelBuilder m(17);
    m.import_opset("my.domain", 1);
    Value* x = m.add_input("x", DataType::kFloat, {1, "n", 8});
    Value* first = m.add_node("Relu", {x});
    m.add_output(m.add_node(op, {first}, {}, {.domain = domain, .name = "the_one"}), "y");
    return m.build();
  };
  EXPECT_THAT(refusal(*with("NonZero", ""), {}), AllOf(HasSubstr("NonZero"), HasSubstr("the_one")));
  EXPECT_THAT(refusal(*with("Mystery", "my.domain"), {}), AllOf(HasSubstr("Mystery"), HasSubstr("no batch rule")));
  const auto without_rank = [] {
    ModelBuilder m(17);
    m.add_output(m.add_node("Relu", {m.add_input("x", ir::tensor_type(DataType::kFloat))}), "y");
    return m.build();
  };
  EXPECT_THAT(refusal(*without_rank(), {}), AllOf(HasSubstr("input 'x'"), HasSubstr("rank is not declared")));
  ModelBuilder old(6);
  old.add_output(old.add_node("Relu", {old.add_input("x", DataType::kFloat, {1, 3})}), "y");
  EXPECT_THAT(refusal(*old.build(), {}), HasSubstr("opset 6"));
}

// Nothing says how many operands an operator takes at an opset that does not have it yet.
TEST(Batch, RefusesOperandsThatItsResultDoesNotCount) {
  for (const std::string_view op : {"StringConcat", "BitwiseAnd", "BitwiseNot", "Gelu", "Swish"}) {
    SCOPED_TRACE(op);
    ModelBuilder m(17);
    Value* steady = m.add_node("Relu", {m.add_float("three", 3)});
    Value* x = m.add_input("x", DataType::kFloat, {1, 3, "n"});
    m.add_output(m.add_node(op, {steady, steady, x}), "y");
    EXPECT_THAT(refusal(*m.build(), {}), HasSubstr("cannot be batched"));
  }
}

// Whether a layer over x [rows, 8] treats its rows apart.
bool is_apart(const std::function<Value*(ModelBuilder&, Value*)>& layer) {
  ModelBuilder m(17);
  Value* x = m.add_input("x", DataType::kFloat, {"rows", 8});
  m.add_output(layer(m, m.add_node("Relu", {x})), "y");
  dim::Scope scope;
  const infer::Result facts = infer::infer(m.model(), scope);
  return are_rows_apart(m.model(), facts, m.model().graph->inputs());
}

TEST(RowsApart, AreTheyWhereNoRowMeetsAnother) {
  const std::vector<float> ones(64, 1);
  using Ints = std::vector<int64_t>;
  const auto along = [](std::string_view op, int64_t axis) {
    return [=](ModelBuilder& m, Value* x) { return m.add_node(op, {x}, {{"axis", axis}}); };
  };
  EXPECT_TRUE(
      is_apart([&](ModelBuilder& m, Value* x) { return m.add_node("MatMul", {x, m.add_floats("", {8, 8}, ones)}); }));
  EXPECT_TRUE(is_apart(along("Softmax", 1)));
  EXPECT_FALSE(is_apart(along("Softmax", 0)));
  EXPECT_TRUE(is_apart([](ModelBuilder& m, Value* x) { return m.add_node("Concat", {x, x}, {{"axis", int64_t{1}}}); }));
  EXPECT_FALSE(
      is_apart([](ModelBuilder& m, Value* x) { return m.add_node("Concat", {x, x}, {{"axis", int64_t{0}}}); }));
  EXPECT_FALSE(is_apart([](ModelBuilder& m, Value* x) { return m.add_node("ReduceMean", {x}, {{"axes", Ints{0}}}); }));
  // Rows that end up along another axis; a table with a row for each.
  EXPECT_FALSE(is_apart([](ModelBuilder& m, Value* x) { return m.add_node("Transpose", {x}); }));
  EXPECT_FALSE(
      is_apart([&](ModelBuilder& m, Value* x) { return m.add_node("Add", {x, m.add_floats("", {8, 8}, ones)}); }));
}

}  // namespace
}  // namespace thaw::batching
