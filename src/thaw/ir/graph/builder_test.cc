#include "thaw/ir/graph/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ir/wire/check_model_testing.h"

namespace thaw::ir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ModelBuilder, MakesAModelThatTheCheckerTakes) {
  ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"n", 3, kUnknownDim});
  Value* w = m.add_zeros("", DataType::kFloat, {3, 1});
  const auto parts = m.add_node(2, "Split", {m.add_node("Mul", {x, w})}, {{"axis", 1}, {"num_outputs", 2}});
  m.add_output(parts[0], tensor_type(DataType::kFloat, {"n", 2, kUnknownDim}), "left");
  m.add_output(parts[1], tensor_type(DataType::kFloat, {"n", 1, kUnknownDim}), "right");
  const auto model = m.build();
  EXPECT_THAT(check_model(*model), IsEmpty());
  EXPECT_EQ(model->graph->find("left")->producer()->attribute_int("axis", 7), 1);
  EXPECT_EQ((*x->type.shape)[0].param, "n");
  EXPECT_THROW(m.build(), Error);
}

TEST(ModelBuilder, NamesStayApartAcrossSubgraphs) {
  ModelBuilder m(21);
  Value* cond = m.add_input("cond", DataType::kBool, {});
  Value* x = m.add_input("x", DataType::kFloat, {"n"});
  const auto branch = [&](const char* name, const char* op) {
    return m.make_subgraph(name, [&](GraphBuilder& body) {
      body.add_output(body.add_node(op, {x}), tensor_type(DataType::kFloat, {"n"}));
    });
  };
  Value* y = m.add_node("If", {cond}, {{"then_branch", branch("t", "Neg")}, {"else_branch", branch("e", "Neg")}});
  m.add_output(y, tensor_type(DataType::kFloat, {"n"}));
  EXPECT_THAT(check_model(m.model()), IsEmpty());
}

TEST(ModelBuilder, ImportsTheDomainsOfItsNodes) {
  ModelBuilder m(17);
  Value* x = m.add_input("x", DataType::kFloat, {"n"});
  m.add_output(m.add_node("Gelu", {x}, {}, {.domain = "com.microsoft"}));
  EXPECT_EQ(m.model().opset("com.microsoft"), 1);
  EXPECT_EQ(m.model().opset(""), 17);
  EXPECT_EQ(m.model().opset("ai.onnx"), 17);
  EXPECT_EQ(m.model().opset("other"), std::nullopt);
}

TEST(ModelBuilder, LeavesOutputsOut) {
  ModelBuilder m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", 5});
  const auto outputs = m.add_node(2, "TopK", {x, m.add_ints("k", {3})}, {}, {.outputs = {"", "indices"}});
  EXPECT_EQ(outputs[0], nullptr);
  EXPECT_EQ(outputs[1]->producer()->output(0), nullptr);
  EXPECT_EQ(outputs[1]->producer_index(), 1);
}

TEST(Schema, SaysWhatTheCheckerSays) {
  ModelBuilder m(21);
  Value* x = m.add_input("x", DataType::kFloat, {"n"});
  m.add_output(m.add_node("NoSuchOperator", {x}), tensor_type(DataType::kFloat, {"n"}));
  EXPECT_THAT(check_model(m.model()), ElementsAre(testing::HasSubstr("NoSuchOperator")));
}

TEST(Schema, KnowsOperatorsByOpset) {
  EXPECT_EQ(find_schema("", "Squeeze", 11)->max_inputs, 1);
  EXPECT_EQ(find_schema("", "Squeeze", 13)->max_inputs, 2);
  EXPECT_EQ(find_schema("ai.onnx", "Squeeze", 12)->since_version, 11);
  EXPECT_FALSE(find_schema("", "LayerNormalization", 16));
  EXPECT_TRUE(find_schema("", "LayerNormalization", 17));
  EXPECT_TRUE(find_schema("ai.onnx.ml", "TreeEnsemble", 5));
  EXPECT_FALSE(find_schema("", "Squeeze", 0));
  EXPECT_GE(newest_opset(), 25);
}

}  // namespace
}  // namespace thaw::ir
