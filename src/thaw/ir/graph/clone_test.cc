#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"
#include "thaw/ir/graph/consistency_testing.h"

namespace thaw::ir {
namespace {

std::unique_ptr<Model> with_subgraphs() {
  ModelBuilder m;
  Value* cond = m.add_input("cond", DataType::kBool, {});
  Value* x = m.add_input("x", DataType::kFloat, {"n", 3});
  Value* w = m.add_floats("w", {3}, std::vector<float>{1, 2, 3});
  Value* y = m.add_node("Mul", {x, w});
  m.graph().set_value_info(y, tensor_type(DataType::kFloat, {"n", 3}));
  const auto branch = [&](const char* name, bool outer) {
    return m.make_subgraph(name,
                           [&](GraphBuilder& body) { body.add_output(outer ? y : body.add_node("Add", {y, w})); });
  };
  Value* z = m.add_node("If", {cond}, {{"then_branch", branch("t", false)}, {"else_branch", branch("e", true)}});
  m.add_output(z, tensor_type(DataType::kFloat, {"n", 3}));
  m.add_output(y);
  m.add_output(x);
  return m.build();
}

TEST(Clone, IsEqualAndApart) {
  const auto model = with_subgraphs();
  const std::string before = serialize(*model);
  const auto copy = clone(*model);
  EXPECT_EQ(serialize(*copy), before);
  EXPECT_EQ(inconsistency(*copy->graph), "");
  EXPECT_EQ(copy->graph->find("w")->initializer()->bytes().data(),
            model->graph->find("w")->initializer()->bytes().data());

  copy->graph->replace_uses(copy->graph->find("x"), copy->graph->add_input("x2", tensor_type(DataType::kFloat, {"n"})));
  copy->graph->rename(copy->graph->find("w"), "other");
  EXPECT_EQ(serialize(*model), before);
  EXPECT_NE(serialize(*copy), before);
  EXPECT_EQ(inconsistency(*copy->graph), "");
  EXPECT_EQ(inconsistency(*model->graph), "");
}

TEST(Clone, OfASubgraphReadsTheSameOuterValues) {
  const auto model = with_subgraphs();
  Node* node = model->graph->outputs()[0]->producer();
  const auto copy = clone(*node->subgraphs()[0]);
  const size_t uses = model->graph->find("w")->uses().size();
  node->set_attribute({"else_branch", copy});
  EXPECT_EQ(inconsistency(*model->graph), "");
  EXPECT_EQ(model->graph->find("w")->uses().size(), uses + 1);
}

}  // namespace
}  // namespace thaw::ir
