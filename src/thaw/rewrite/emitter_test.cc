// What is written has the form that the model's opset has: the official checker takes it.
#include "thaw/rewrite/emitter.h"

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"
#include "thaw/ir/wire/check_model_testing.h"

namespace thaw::rewrite {
namespace {

std::unique_ptr<ir::Model> model_of(int64_t opset) {
  ir::ModelBuilder m(opset, /*ir_version=*/opset < 9 ? 3 : 8);
  ir::Value* x = m.add_input("x", ir::DataType::kFloat, {1, "n", 4});
  m.add_output(m.add_node("Neg", {x}), ir::tensor_type(ir::DataType::kFloat, {1, "n", 4}), "y");
  return m.build();
}

class EmitterAt : public testing::TestWithParam<int> {};

TEST_P(EmitterAt, WritesWhatTheOpsetHas) {
  auto model = model_of(GetParam());
  Emitter emitter(*model, "test");
  const ops::Emit e = emitter.at_end(*model->graph);
  ir::Value* y = model->graph->outputs()[0];
  std::vector<ir::Value*> made = {
      e.squeeze(y, {0}),
      e.unsqueeze(y, {1}),
      e.reduce("ReduceSum", y, {1}, true),
      e.reduce("ReduceMax", y, {-1}, false),
      e.slice(y, 1, INT64_MAX, 2),
      e.emit("Pad", {y, e.list({0, 0, 1, 0, 0, 1}), e.scalar(2, ir::DataType::kFloat)}),
      e.emit("Clip", {y, e.scalar(0, ir::DataType::kFloat), e.scalar(1, ir::DataType::kFloat)})};
  if (GetParam() >= 8) made.push_back(e.emit("Expand", {y, e.list({1, 1, 1})}));
  for (ir::Value* value : made) {
    value->set_type(ir::Type::tensor(
        ir::DataType::kFloat, std::vector<ir::DeclaredDim>(value->producer()->op_type() == "Unsqueeze" ? 4 : 3)));
    model->graph->add_output(value);
  }
  // Initializers must stand among the inputs before IR version 4.
  if (model->ir_version < 4) model->ir_version = 8;
  EXPECT_EQ(ir::check_model(*model), std::vector<std::string>());
}

// Each at which one of the operators above changed, and the newest.
INSTANTIATE_TEST_SUITE_P(Opsets, EmitterAt, testing::Values(7, 8, 9, 10, 11, 12, 13, 14, 18, 19, 21, 24));

TEST(Emitter, RefusesWhatTheOpsetLacksByName) {
  auto model = model_of(7);
  Emitter emitter(*model, "test");
  const ops::Emit e = emitter.at_end(*model->graph);
  try {
    e.emit("Where", {});
    FAIL();
  } catch (const ops::CannotWrite& reason) {
    EXPECT_EQ(reason.why, "that takes Where, as from opset 9 on");
  }
  ir::Value* computed = e.shape(model->graph->outputs()[0]);
  EXPECT_THROW(e.emit("Squeeze", {model->graph->outputs()[0], computed}), ops::CannotWrite);
}

TEST(Emitter, MakesEqualConstantsOnce) {
  auto model = model_of(21);
  Emitter emitter(*model, "test");
  const ops::Emit e = emitter.at_end(*model->graph);
  EXPECT_EQ(e.list({1, 2}), e.list({1, 2}));
  EXPECT_NE(e.list({1}), e.integer(1));
  EXPECT_EQ(e.scalar(0.5, ir::DataType::kFloat), e.scalar(0.5, ir::DataType::kFloat));
}

TEST(Emitter, SharesNodesWhereItIsTold) {
  auto model = model_of(21);
  Emitter emitter(*model, "test");
  const ops::Emit e = emitter.at_end(*model->graph);
  ir::Value* y = model->graph->outputs()[0];
  EXPECT_NE(e.shape(y), e.shape(y));
  emitter.share_nodes();
  EXPECT_EQ(e.shape(y), e.shape(y));
  EXPECT_EQ(e.cast(y, ir::DataType::kDouble), e.cast(y, ir::DataType::kDouble));
  EXPECT_NE(e.cast(y, ir::DataType::kDouble), e.cast(y, ir::DataType::kFloat16));
}

TEST(Emitter, NamesAfterTheOrigin) {
  auto model = model_of(21);
  Emitter emitter(*model, "test");
  emitter.set_origin("blocks.0/Split");
  EXPECT_EQ(emitter.at_end(*model->graph).shape(model->graph->outputs()[0])->name(), "blocks.0/Split/test_Shape");
}

TEST(Emitter, WritesAnyDomainAndAnyNumberOfOutputs) {
  auto model = model_of(21);
  Emitter emitter(*model, {});
  ir::Value* y = model->graph->outputs()[0];
  const auto made = emitter.write(
      *model->graph, nullptr,
      {.op = "SkipLayerNormalization", .inputs = {y, y, y}, .domain = "com.microsoft", .outputs = {true, false, true}});
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(made[1], nullptr);
  EXPECT_EQ(made[0]->name(), "SkipLayerNormalization");
  EXPECT_EQ(made[2]->producer_index(), 2);
  EXPECT_EQ(made[0]->producer()->name, "SkipLayerNormalization");
  EXPECT_EQ(model->opset("com.microsoft"), 1);
}

TEST(Emitter, LowersFromTheOpsetThatItIsAskedInOnlyBelowIt) {
  for (const int64_t opset : {12, 18}) {
    auto model = model_of(opset);
    Emitter emitter(*model, "test");
    emitter.ask_as_of(18);
    const ir::Value* made = emitter.at_end(*model->graph).unsqueeze(model->graph->outputs()[0], {0});
    EXPECT_EQ(made->producer()->inputs().size(), opset == 12 ? 1U : 2U);
    EXPECT_EQ(made->producer()->attribute("axes") != nullptr, opset == 12);
  }
}

TEST(Emitter, NamesAConstantAfterItsNumber) {
  auto model = model_of(21);
  Emitter emitter(*model, "test");
  const ops::Emit e = emitter.at_end(*model->graph);
  EXPECT_EQ(e.list({2, -1})->name(), "test_ints_2_m1");
  EXPECT_EQ(e.scalar(0.5, ir::DataType::kFloat)->name(), "test_float32_0.5");
}

}  // namespace
}  // namespace thaw::rewrite
