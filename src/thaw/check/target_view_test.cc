#include "thaw/check/target_view.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"

namespace thaw::checking {
namespace {

using ir::DataType;
using Names = std::vector<std::string>;

// A model under a target's eye.
class Viewed : public ir::ModelBuilder {
 public:
  explicit Viewed(int64_t opset = 17) : ir::ModelBuilder(opset) {}

  TargetView view(std::string_view target = "directml") {
    if (!built_) {
      built_ = build();
      result_ = infer::infer(*built_, scope_);
    }
    return {*built_, *ops::find_target(target), result_};
  }
  // Operators of the nodes that come to run.
  Names running() {
    Names names;
    const TargetView seen = view();
    for (const TargetNode& at : seen.nodes())
      if (!at.at_load) names.push_back(at.node->op_type());
    return names;
  }

 private:
  std::unique_ptr<ir::Model> built_;
  dim::Scope scope_;
  infer::Result result_;
};

TEST(TargetView, PassesOverWhatFollowsFromConstants) {
  Viewed m;
  ir::Value* x = m.add_input("x", DataType::kFloat, {"n", 6});
  ir::Value* shape = m.add_node("Mul", {m.add_ints("", {1, 3}), m.add_ints("", {1, 2})});
  m.add_output(m.add_node("Expand", {x, m.add_node("Neg", {m.add_node("Neg", {shape})})}));
  EXPECT_EQ(m.running(), Names{"Expand"});
}

TEST(TargetView, PassesOverTheShapeOfFixedDimsOnly) {
  Viewed m;
  ir::Value* fixed = m.add_input("fixed", DataType::kFloat, {5, 6});
  ir::Value* free = m.add_input("free", DataType::kFloat, {"n", 6});
  m.add_output(m.add_node("Neg", {m.add_node("Shape", {fixed})}));
  m.add_output(m.add_node("Abs", {m.add_node("Shape", {free})}));
  EXPECT_EQ(m.running(), (Names{"Shape", "Abs"}));
}

TEST(TargetView, KeepsWhatIsRandom) {
  Viewed m;
  m.add_output(m.add_node("RandomUniformLike", {m.add_floats("w", {1}, std::vector<float>{1})}));
  EXPECT_EQ(m.running(), Names{"RandomUniformLike"});
}

TEST(TargetView, KeepsADequantizeLinearOfConstants) {
  Viewed m;
  ir::Value* x = m.add_input("x", DataType::kFloat, {"n", 2});
  ir::Value* w = m.add_node("DequantizeLinear", {m.add_zeros("q", DataType::kInt8, {2}), m.add_float("scale", 0.5F)});
  m.add_output(m.add_node("Add", {x, w}));
  EXPECT_EQ(m.running(), (Names{"DequantizeLinear", "Add"}));
}

TEST(TargetView, TakesTheBranchThatAConstantChooses) {
  for (bool chosen : {true, false}) {
    Viewed m;
    ir::Value* x = m.add_input("x", DataType::kFloat, {"n"});
    auto branch = [&](const char* op) {
      return m.make_subgraph(op, [&](ir::GraphBuilder& b) { b.add_output(b.add_node(op, {x})); });
    };
    ir::Value* condition = m.add_node("Cast", {m.add_int("", chosen ? 1 : 0)}, {{"to", int64_t{9}}});
    ir::Value* y = m.add_node("If", {condition}, {{"then_branch", branch("Relu")}, {"else_branch", branch("Neg")}});
    m.add_output(m.add_node("Exp", {y}));
    EXPECT_EQ(m.running(), (Names{chosen ? "Relu" : "Neg", "Exp"}));
  }
}

TEST(TargetView, KeepsADropoutThatIsSeen) {
  Viewed m;
  ir::Value* x = m.add_input("x", DataType::kFloat, {"n"});
  ir::Value* dropped = m.add_node("Dropout", {m.add_node("Neg", {x})});
  m.add_output(m.add_node("Abs", {dropped}));
  std::vector<ir::Value*> masked = m.add_node(2, "Dropout", {dropped});
  m.add_output(m.add_node("Exp", {masked[0]}));
  m.add_output(masked[1]);
  EXPECT_EQ(m.running(), (Names{"Neg", "Abs", "Dropout", "Exp"}));
}

TEST(TargetView, LooksOperatorsUpAtTheNewestOpsetThatTheTargetTakes) {
  Viewed m(23);
  m.add_output(m.add_node("Relu", {m.add_input("x", DataType::kFloat, {"n"})}));
  EXPECT_EQ(m.view("directml").nodes().front().opset, 20);
  EXPECT_EQ(m.view("ort").nodes().front().opset, 23);
}

}  // namespace
}  // namespace thaw::checking
