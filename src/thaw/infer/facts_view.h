// A node with the facts that inference found: what rules of an operator see outside of the engine.
#pragma once

#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ops/rule/node_view.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::infer {

// Base: ops::NodeView, or a view that knows more.
template <typename Base = ops::NodeView>
class FactsView : public Base {
 public:
  FactsView(const Result& facts, const ir::Node& node, int64_t opset) : facts_(facts) {
    this->node_ = &node;
    this->opset_ = opset;
  }
  FactsView(const Result& facts, const ir::Model& model, const ir::Node& node)
      : FactsView(facts, node, model.opset(node.domain()).value_or(1)) {}

  const ops::Fact& input(int i) const override { return facts_.fact(this->node().input(i)); }
  const ops::Fact& output(int i) const override { return facts_.fact(this->node().output(i)); }
  const ir::Tensor* constant(int i) const override {
    const ir::Value* value = this->node().input(i);
    return value ? value->fixed_constant() : nullptr;
  }
  const ops::Elements* elements(int i) override {
    if (const ops::Fact& fact = input(i); fact.elements) return fact.elements.get();
    read_.resize(this->node().inputs().size());
    const ir::Tensor* tensor = constant(i);
    if (!tensor) return nullptr;
    ops::ElementsPtr& read = read_[static_cast<size_t>(i)];
    if (!read) read = ops::small_elements(*tensor);
    return read.get();
  }
  const ir::Attribute* attribute(std::string_view name) const override { return this->node().attribute(name); }

 private:
  const Result& facts_;
  std::vector<ops::ElementsPtr> read_;
};

using NodeFacts = FactsView<>;

}  // namespace thaw::infer
