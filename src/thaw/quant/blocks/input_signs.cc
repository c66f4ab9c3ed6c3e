#include "thaw/quant/blocks/input_signs.h"

#include <cmath>
#include <optional>

namespace thaw::quantizing::blocks {

class InputSigns::Context final : public ops::MagnitudeContext {
 public:
  Context(const ops::MagnitudeMap& made, const ir::Node& node) : made_(made), node_(node) {}

  const ir::Node& node() const override { return node_; }

  ops::Magnitude input(int i) override {
    const auto one = number(i);
    if (!one) return made_.of(node_.input(i));
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
  const ops::MagnitudeMap& made_;
  const ir::Node& node_;
};

InputSigns::InputSigns(const ir::Graph& graph) {
  made_.follow(graph, [&](const ir::Node& node) { return Context(made_, node); });
}

}  // namespace thaw::quantizing::blocks
