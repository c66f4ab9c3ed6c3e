#include "thaw/ops/rule/axes.h"

#include <set>

#include <gtest/gtest.h>

#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_testing.h"

namespace thaw::ops {
namespace {

// "0.1 1.0 -> 0.2 kept" for each link: operand.axis.
std::string text_of(const AxisLink& link) {
  std::string text;
  const auto add = [&](const std::vector<OperandAxis>& positions) {
    for (const OperandAxis& at : positions) text += std::to_string(at.operand) + "." + std::to_string(at.axis) + " ";
  };
  add(link.inputs);
  text += "-> ";
  add(link.outputs);
  constexpr const char* kKinds[] = {"kept", "mixed", "contracted", "new"};
  return text + kKinds[static_cast<int>(link.kind)];
}

// The links of a pattern over inputs of these ranks.
std::string links(std::string_view pattern, const std::vector<int>& ranks) {
  RuleModel m;
  std::vector<ir::Value*> inputs;
  for (const int rank : ranks) {
    ir::Dims dims;
    for (int k = 0; k < rank; ++k) dims.push_back(k + 2);
    inputs.push_back(m.add_input("x" + std::to_string(inputs.size()), ir::DataType::kFloat, dims));
  }
  ir::Value* y = m.add_node("Sum", inputs);
  dim::Scope scope;
  const infer::Result facts = infer::infer(m.model(), scope);
  infer::NodeFacts view(facts, m.model(), *y->producer());
  const auto map = match_axes(pattern, view);
  if (!map) return "none";
  std::string text;
  for (const AxisLink& link : map->links) text += (text.empty() ? "" : ", ") + text_of(link);
  return text;
}

TEST(Axes, LinksWhatIsCalledAlike) {
  EXPECT_EQ(links("i k, k j -> i j", {2, 2}), "0.0 -> 0.0 kept, 0.1 1.0 -> contracted, 1.1 -> 0.1 kept");
}

TEST(Axes, LinesEllipsesUpAtTheRight) {
  EXPECT_EQ(links("...* -> ...", {3, 1}), "0.0 -> 0.0 kept, 0.1 -> 0.1 kept, 0.2 1.0 -> 0.2 kept");
  EXPECT_EQ(links("... k, k -> ...", {3, 1}), "0.0 -> 0.0 kept, 0.1 -> 0.1 kept, 0.2 1.0 -> contracted");
}

TEST(Axes, GroupsHaveNames) {
  EXPECT_EQ(links("n c x~..., m _ _..., m -> n m x~...", {4, 4, 1}),
            "0.0 -> 0.0 kept, 0.1 -> contracted, 0.2 -> 0.2 mixed, 0.3 -> 0.3 mixed, 1.0 2.0 -> 0.1 kept");
}

TEST(Axes, TakeTheFormThatFits) {
  constexpr std::string_view kProduct = "... i k, ... k j -> ... i j | k, ... k j -> ... j";
  EXPECT_EQ(links(kProduct, {1, 2}), "0.0 1.0 -> contracted, 1.1 -> 0.0 kept");
  EXPECT_EQ(links("n c -> n c", {3}), "none");
}

TEST(Axes, BracketedAxesMayLack) {
  EXPECT_EQ(links("b q, [b] [h] q -> b h q", {2, 1}), "0.0 -> 0.0 kept, 0.1 1.0 -> 0.2 kept, -> 0.1 new");
}

// Each operator, an axis of it, and axes that no tensor has.
TEST(Axes, LinksOnlyAxesThatThereAre) {
  constexpr int64_t kAxes[] = {-5, -4, -1, 0, 2, 3, 4, int64_t{1} << 31, int64_t{1} << 40, INT64_MAX, INT64_MIN};
  size_t mapped = 0;
  for (const Operator* op : registry().all()) {
    std::set<std::string> names{"axis", "batch_axis", "batch_dims", "dim", "gather_axis", "quantize_axis"};
    for (const AttributeRole& attribute : op->attributes) names.emplace(attribute.name);
    for (const std::string& name : names)
      for (const int64_t axis : kAxes)
        for (const int rank : {1, 3}) {
          RuleModel m;
          ir::Dims dims;
          for (int k = 0; k < rank; ++k) dims.emplace_back(k + 2);
          ir::Value* x = m.add_input("x", ir::DataType::kFloat, dims);
          ir::Value* i = m.add_input("i", ir::DataType::kInt64, dims);
          ir::Attribute attribute{.name = name, .value = axis};
          if (name == "axes" || name == "perm") attribute.value = std::vector<int64_t>{axis};
          ir::Node* node = m.add_node(op->name, {x, i, i}, {std::move(attribute)}, {.domain = op->domain})->producer();
          dim::Scope scope;
          const infer::Result facts = infer::infer(m.model(), scope);
          infer::NodeFacts view(facts, m.model(), *node);
          const auto map = axes_of(view);
          if (!map) continue;
          ++mapped;
          for (const AxisLink& link : map->links)
            for (const OperandAxis& at : link.inputs) {
              EXPECT_GE(at.axis, 0) << op->name << " " << name << " " << axis;
              EXPECT_LT(at.axis, rank) << op->name << " " << name << " " << axis;
            }
        }
  }
  EXPECT_GT(mapped, 1000u);
}

TEST(Axes, ScalarsFitAnyTermButTheFirst) {
  EXPECT_EQ(links("n c, c -> n c", {2, 0}), "0.0 -> 0.0 kept, 0.1 -> 0.1 kept");
  EXPECT_EQ(links("n c, c -> n c", {0, 1}), "none");
}

}  // namespace
}  // namespace thaw::ops
