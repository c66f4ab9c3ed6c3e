// What holds of a model once its sizes are numbers, whatever the model is.
#include "thaw/pin/pin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error_testing.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/consistency_testing.h"
#include "thaw/ir/graph/small_models_testing.h"
#include "thaw/run/array.h"

namespace thaw::pinning {
namespace {

using ir::DataType;
using ir::ModelBuilder;
using ir::Value;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint32_t kSeeds = 40;

std::vector<int64_t> numbers_of(const ir::Type& type) {
  std::vector<int64_t> numbers;
  for (const ir::DeclaredDim& dim : *type.shape) numbers.push_back(dim.value.value_or(-1));
  return numbers;
}

std::string refusal(ir::Model& model, const PinOptions& options) {
  return error_of([&] { pin(model, options); });
}

TEST(Pin, EverySizeBecomesANumber) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto model = ir::small_model(seed, "batch").model;
    const Pinned pinned = pin(*model, {.sizes = {{"batch", 3}, {"n", 5}}});
    EXPECT_THAT(pinned.open, IsEmpty());
    EXPECT_EQ(ir::inconsistency(*model->graph), "");
    const ir::Graph& graph = *model->graph;
    ASSERT_THAT(graph.inputs(), SizeIs(1));
    EXPECT_EQ(graph.inputs()[0]->name(), "x");
    EXPECT_THAT(numbers_of(graph.inputs()[0]->type), ElementsAre(3, 5, 8));
    ASSERT_THAT(graph.outputs(), SizeIs(2));
    EXPECT_EQ(graph.outputs()[0]->name(), "y");
    EXPECT_THAT(numbers_of(graph.outputs()[0]->type), ElementsAre(3, 5, 8));
    EXPECT_EQ(graph.outputs()[1]->name(), "pooled");
    EXPECT_THAT(numbers_of(graph.outputs()[1]->type), ElementsAre(3, 8));
    dim::Scope scope;
    const infer::Result facts = infer::infer(*model, scope);
    EXPECT_TRUE(facts.problems().empty());
    for (const ir::Node* node : graph.nodes()) {
      EXPECT_NE(node->op_type(), "Shape");  // what sizes come to was written
      for (const Value* output : node->outputs()) {
        for (const dim::Dim size : *facts.fact(output).shape) EXPECT_TRUE(size.is_constant()) << node->describe();
        ASSERT_TRUE(output->type.shape);
        EXPECT_THAT(numbers_of(output->type), testing::Each(testing::Ge(1)));
      }
    }
  }
}

TEST(Pin, PinningAgainChangesNothing) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto model = ir::small_model(seed, "batch").model;
    pin(*model, {.sizes = {{"batch", 2}, {"n", 7}}});
    const std::string once = ir::serialize(*model);
    const Pinned again = pin(*model, {});
    EXPECT_THAT(again.changes.made, IsEmpty());
    EXPECT_EQ(ir::serialize(*model), once);
  }
}

TEST(Pin, OneSizeAfterTheOtherIsBothAtOnce) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto model = ir::small_model(seed, "batch").model, other = ir::small_model(seed, "batch").model;
    const Pinned half = pin(*model, {.sizes = {{"batch", 2}}});
    ASSERT_THAT(half.open, testing::Not(IsEmpty()));
    EXPECT_EQ(half.open.front().size, "n");
    EXPECT_EQ(half.open.front().tensor, "x");
    EXPECT_EQ(half.open.front().axis, 1);
    EXPECT_THAT(pin(*model, {.sizes = {{"n", 4}}}).open, IsEmpty());
    pin(*other, {.sizes = {{"batch", 2}, {"n", 4}}});
    EXPECT_EQ(model->graph->num_nodes(), other->graph->num_nodes());
  }
}

TEST(Pin, AGivenInputIsAConstantThatOthersFollow) {
  ModelBuilder m(17);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
  Value* rows = m.add_input("rows", DataType::kInt64, {2});
  m.add_output(m.add_node("Reshape", {x, rows}), "y");
  const auto model = m.build();
  const Pinned pinned = pin(*model, {.sizes = {{"n", 6}}, .values = {.values = {{"rows", {"3", "8"}}}}});
  EXPECT_THAT(pinned.open, IsEmpty());
  ASSERT_THAT(pinned.given, SizeIs(1));
  EXPECT_EQ(pinned.given.begin()->first, "rows");
  ASSERT_THAT(model->graph->inputs(), SizeIs(1));
  EXPECT_THAT(numbers_of(model->graph->outputs()[0]->type), ElementsAre(3, 8));
  EXPECT_EQ(ir::inconsistency(*model->graph), "");
}

TEST(Pin, RefusesWhatCannotBe) {
  const auto model = [] {
    ModelBuilder m(17);
    Value* x = m.add_input("x", DataType::kFloat, {"n", 4});
    m.add_output(m.add_node("Reshape", {x, m.add_ints("", {3, -1, 2})}), "y");
    return m.build();
  };
  EXPECT_THAT(refusal(*model(), {.sizes = {{"m", 3}}}), HasSubstr("'m'"));
  EXPECT_THAT(refusal(*model(), {.sizes = {{"n", 0}}}), AllOf(HasSubstr("'n' is 0"), HasSubstr("at least 1")));
  EXPECT_THAT(refusal(*model(), {.values = {.arrays = {{"z", Array::zeros(DataType::kFloat, {3, 4})}}}}),
              HasSubstr("no input 'z'"));
  EXPECT_THAT(
      refusal(*model(), {.sizes = {{"n", 3}}, .values = {.arrays = {{"x", Array::zeros(DataType::kFloat, {6, 4})}}}}),
      AllOf(HasSubstr("'n' = 6"), HasSubstr("3 already")));
  EXPECT_THAT(refusal(*model(), {.values = {.arrays = {{"x", Array::zeros(DataType::kInt64, {3, 4})}}}}),
              HasSubstr("the array is int64"));
  EXPECT_THAT(refusal(*model(), {.sizes = {{"n", 2}}}), HasSubstr("cannot run at these sizes"));
}

}  // namespace
}  // namespace thaw::pinning
