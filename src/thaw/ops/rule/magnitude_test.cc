#include "thaw/ops/rule/magnitude.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "thaw/ir/graph/builder.h"

namespace thaw::ops {
namespace {

// A chain of nodes over x, which is ordinary; sums are over 64.
class Chain {
 public:
  ir::Value* x() { return x_; }

  ir::Value* op(std::string_view name, std::vector<ir::Value*> inputs) {
    ir::Value* made = builder_.add_node(name, std::move(inputs));
    View view(*this, *made->producer());
    magnitudes_[made] = magnitude_of(view);
    return made;
  }
  const Magnitude& operator[](ir::Value* value) { return magnitudes_.at(value); }

 private:
  class View final : public MagnitudeContext {
   public:
    View(Chain& chain, const ir::Node& node) : chain_(chain), node_(node) {}
    const ir::Node& node() const override { return node_; }
    Magnitude input(int i) override {
      const auto found = chain_.magnitudes_.find(node_.input(i));
      return found == chain_.magnitudes_.end() ? Magnitude::ordinary() : found->second;
    }
    std::optional<double> number(int) override { return std::nullopt; }
    double log_summed() override { return 6; }

   private:
    Chain& chain_;
    const ir::Node& node_;
  };

  ir::ModelBuilder builder_{17};
  ir::Value* x_ = builder_.add_input("x", ir::DataType::kFloat, {"n", 64});
  std::unordered_map<const ir::Value*, Magnitude> magnitudes_;
};

TEST(Magnitude, ARootBringsASquareBackAndAQuotientIsAsLargeAsOne) {
  Chain n;
  ir::Value* square = n.op("Mul", {n.x(), n.x()});
  ir::Value* mean = n.op("ReduceMean", {square});
  ir::Value* root = n.op("Sqrt", {mean});
  EXPECT_TRUE(n[square].leaves_float16());
  EXPECT_TRUE(n[mean].leaves_float16());
  EXPECT_FALSE(n[root].leaves_float16());
  EXPECT_EQ(n[n.op("Div", {n.x(), root})].large.power, 0);
  EXPECT_TRUE(n[n.op("Reciprocal", {mean})].leaves_float16()) << "all of it vanishes";
}

TEST(Magnitude, AnExponentialHasNoBoundButAboveItsMaximum) {
  Chain n;
  ir::Value* e = n.op("Exp", {n.x()});
  ir::Value* sum = n.op("ReduceSum", {e});
  EXPECT_TRUE(n[e].leaves_float16());
  EXPECT_TRUE(n[sum].leaves_float16());
  EXPECT_FALSE(n[n.op("Div", {e, sum})].leaves_float16());
  EXPECT_FALSE(n[n.op("Log", {sum})].leaves_float16());
  ir::Value* share = n.op("Exp", {n.op("Sub", {n.x(), n.op("ReduceMax", {n.x()})})});
  EXPECT_FALSE(n[share].leaves_float16());
  EXPECT_TRUE(n[share].loses_small());
  EXPECT_FALSE(n[n.op("ReduceSum", {share})].loses_small()) << "the maximum's is 1";
  EXPECT_FALSE(n[n.op("Exp", {n.op("Tanh", {n.x()})})].leaves_float16());
}

TEST(Magnitude, GatesAndLayersAreOrdinary) {
  Chain n;
  ir::Value* gated = n.op("Mul", {n.x(), n.op("Sigmoid", {n.x()})});
  ir::Value* product = n.op("Mul", {gated, n.op("Neg", {n.x()})});
  EXPECT_FALSE(n[product].leaves_float16());
  EXPECT_FALSE(n[n.op("MatMul", {product, n.x()})].leaves_float16());
}

}  // namespace
}  // namespace thaw::ops
