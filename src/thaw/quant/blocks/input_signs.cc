#include "thaw/quant/blocks/input_signs.h"

#include <cmath>
#include <optional>

namespace thaw::quantizing::blocks {

class InputSigns::Context final : public ops::MagnitudeContext {
 public:
  Context(const InputSigns& signs, const ir::Node& node) : signs_(signs), node_(node) {}

  const ir::Node& node() const override { return node_; }

  ops::Magnitude input(int i) override {
    const auto one = number(i);
    if (!one) return signs_.of(node_.input(i));
    return ops::Magnitude::within(*one == 0 ? 0 : std::log2(std::fabs(*one)),
                                  *one < 0 ? ops::Sign::kNotPositive : ops::Sign::kNotNegative);
  }

  std::optional<double> number(int i) override {
    const ir::Value* value = node_.input(i);
    const ir::Tensor* constant = value && !value->is_input() ? value->constant() : nullptr;
    if (!constant || constant->num_elements() != 1) return std::nullopt;
    return constant->to_double().front();
  }

  double log_summed() override { return 0; }  // which no sign depends on

 private:
  const InputSigns& signs_;
  const ir::Node& node_;
};

ops::Magnitude InputSigns::of(const ir::Value* value) const {
  const auto found = made_.find(value);
  return found == made_.end() ? ops::Magnitude::ordinary() : found->second;
}

void InputSigns::follow(const ir::Graph& graph) {
  for (const ir::Node* node : graph.nodes()) {
    if (node->constant()) continue;
    for (const ir::Graph* inner : node->subgraphs()) follow(*inner);
    Context context(*this, *node);
    const ops::Magnitude made = ops::magnitude_of(context);
    for (const ir::Value* value : node->outputs())
      if (value) made_.emplace(value, made);
  }
}

}  // namespace thaw::quantizing::blocks
