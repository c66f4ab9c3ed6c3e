#include "thaw/report/collect_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "thaw/ir/graph/builder.h"

namespace thaw::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A chain of a few hundred nodes in modules of ten.
std::unique_ptr<ir::Model> chain(int nodes, const std::string& around = "/model") {
  ir::ModelBuilder m(17);
  ir::Value* x = m.add_input("x", ir::DataType::kFloat, {"n", 3});
  for (int i = 0; i < nodes; ++i) {
    const std::string name = around + "/layers." + std::to_string(i / 10) + "/Relu_" + std::to_string(i % 10);
    x = m.add_node("Relu", {x}, {}, {.name = name, .outputs = {name + "_output_0"}});
  }
  m.add_output(x, "y");
  return m.build();
}

TEST(CollectGraph, NamesAreKeptInPieces) {
  const auto model = chain(20);
  const Inspection seen = inspect(*model);
  const GraphData data = collect_graph({.seen = seen});
  ASSERT_EQ(data.modules.size(), 3);
  EXPECT_EQ(data.modules[0].name, "/model");
  EXPECT_EQ(data.modules[2].name, "/layers.1");
  EXPECT_EQ(data.nodes[13].module, 2);
  EXPECT_EQ(data.nodes[13].name, "/Relu_3");
  const GraphData::Value& made = data.values[static_cast<size_t>(data.nodes[13].outputs[0])];
  EXPECT_EQ(made.suffix, 0);
  EXPECT_EQ(data.texts[static_cast<size_t>(made.shape)], "[n, 3]");
  EXPECT_EQ(data.texts[static_cast<size_t>(data.modules[2].flops)], "30*n");
  EXPECT_EQ(data.nodes[13].flops, 3 * 64);
  EXPECT_EQ(data.assumed, "n = 64");
}

TEST(CollectGraph, EveryLimitIsKept) {
  const auto model = chain(400, "/" + std::string(50, 'm'));
  const Inspection seen = inspect(*model);
  const size_t whole = graph_json({.seen = seen}, size_t{1} << 20).size();
  size_t shown = 400;
  for (size_t most = whole; most > 4000; most -= whole / 9) {
    const std::string text = graph_json({.seen = seen}, most);
    EXPECT_LE(text.size(), most);
    const nlohmann::json json = nlohmann::json::parse(text);
    const size_t nodes = json["nodes"]["op"].size();
    EXPECT_LE(nodes, shown);
    EXPECT_EQ(json["limits"].empty(), most == whole);
    const std::string left_out = nodes < 400 ? std::to_string(400 - nodes) + " nodes" : "";
    EXPECT_THAT(json["limits"].dump(), HasSubstr(left_out));
    shown = nodes;
  }
  EXPECT_LT(shown, 400);
}

TEST(CollectGraph, WhatIsGoneStandsWhereItStood) {
  const auto before = chain(3);
  ir::ModelBuilder m(17);
  ir::Value* x = m.add_input("x", ir::DataType::kFloat, {"n", 3});
  ir::Value* first =
      m.add_node("Relu", {x}, {}, {.name = "/model/layers.0/Relu_0", .outputs = {"/model/layers.0/Relu_0_output_0"}});
  ir::Value* last = m.add_node("Relu", {first}, {},
                               {.name = "/model/layers.0/Relu_2", .outputs = {"/model/layers.0/Relu_2_output_0"}});
  m.add_output(last, "y");
  const auto after = m.build();
  const ModelDiff found = diff(*before, *after);
  const Inspection a = inspect(*before), b = inspect(*after);
  const GraphData data = collect_graph({.seen = b, .former = &a, .diff = &found});
  std::vector<std::string> names;
  for (const GraphData::Node& node : data.nodes) names.push_back(node.name);
  EXPECT_THAT(names, ElementsAre("/Relu_0", "/Relu_1", "/Relu_2"));
  ASSERT_EQ(data.marked_nodes.size(), 2);
  EXPECT_EQ(data.marked_nodes[0].mark, Mark::kRemoved);
  EXPECT_EQ(data.marked_nodes[0].at, 1);
  EXPECT_EQ(data.marked_nodes[1].mark, Mark::kChanged);
  // The removed node reads what is still there, and the last read what it made.
  EXPECT_EQ(data.nodes[1].inputs, data.nodes[0].outputs);
  ASSERT_EQ(data.former_inputs.size(), 1);
  EXPECT_EQ(data.former_inputs[0].second, data.nodes[1].outputs);
}

}  // namespace
}  // namespace thaw::report
