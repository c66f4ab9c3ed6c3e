#include "thaw/ops/onnx/padded_windows.h"

#include <limits>

#include <gtest/gtest.h>

#include "thaw/ir/graph/model.h"

namespace thaw::ops {
namespace {

using List = std::vector<int64_t>;

class PaddedWindowsTest : public testing::Test {
 protected:
  PaddedWindowsTest() { model_.graph = std::make_unique<ir::Graph>(); }

  ir::Node* pool(const std::string& op, std::vector<ir::Attribute> attributes, int num_outputs = 1) {
    std::vector<ir::Value*> outputs;
    for (int i = 0; i < num_outputs; ++i) outputs.push_back(model_.graph->add_value(model_.graph->unique_name("y")));
    ir::Node* node = model_.graph->add_node(op, "", {model_.graph->add_value(model_.graph->unique_name("x"))}, outputs);
    for (ir::Attribute& attribute : attributes) node->set_attribute(std::move(attribute));
    return node;
  }

  ir::Model model_;
};

TEST_F(PaddedWindowsTest, OfPools) {
  const ir::Attribute kernel{.name = "kernel_shape", .value = List{3, 2}},
      pads{.name = "pads", .value = List{1, 0, 2, 1}}, counts{.name = "count_include_pad", .value = int64_t{1}},
      ceil{.name = "ceil_mode", .value = int64_t{1}};
  const auto largest = padded_windows(*pool("MaxPool", {kernel, pads}));
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->fill, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(largest->kernel, (List{3, 2}));
  EXPECT_EQ(largest->pads, (List{1, 0, 2, 1}));
  const auto plain = padded_windows(*pool("AveragePool", {kernel, counts}));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->fill, 0);
  EXPECT_EQ(plain->pads, (List{0, 0, 0, 0}));
  EXPECT_FALSE(padded_windows(*pool("AveragePool", {kernel, pads})));
  EXPECT_FALSE(padded_windows(*pool("MaxPool", {kernel, pads, ceil})));
  EXPECT_FALSE(padded_windows(*pool("MaxPool", {kernel, {.name = "pads", .value = List{1, 1}}})));
  EXPECT_FALSE(padded_windows(*pool("MaxPool", {kernel, {.name = "pads", .value = List{1, 0, -1, 1}}})));
  EXPECT_FALSE(padded_windows(*pool("MaxPool", {kernel, {.name = "auto_pad", .value = std::string("SAME_UPPER")}})));
  EXPECT_FALSE(padded_windows(*pool("GlobalMaxPool", {})));
}

TEST_F(PaddedWindowsTest, PlacesThatAreRead) {
  ir::Node* node = pool("MaxPool", {{.name = "kernel_shape", .value = List{2}}}, 2);
  EXPECT_TRUE(padded_windows(*node));
  model_.graph->add_output(node->output(1));
  EXPECT_FALSE(padded_windows(*node));
}

}  // namespace
}  // namespace thaw::ops
