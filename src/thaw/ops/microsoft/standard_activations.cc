// Activations of com.microsoft in ONNX's operators.
#include <string>

#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/onnx/gelu.h"

namespace thaw::ops {
namespace {

constexpr int64_t kFirstWithGelu = 20;
constexpr float kQuickGelusAlpha = 1.702F;

// Operand 0, and the bias where there is one.
ir::Value* biased(AdapterContext& n) {
  ir::Value* x = n.changing().input(0);
  return n.has_input(1) ? n.at().add(x, n.changing().input(1)) : x;
}

}  // namespace

ir::DataType floating_type(const AdapterContext& n, int operand) {
  const ir::DataType type = n.input(operand).dtype;
  if (!ir::is_floating(type)) throw NoEqual{"its type is not known"};
  return type;
}

ir::Value* write_gelu(const Emit& at, ir::Value* x, ir::DataType type, bool by_tanh) {
  if (at.writer().opset() < kFirstWithGelu) return gelu_as_arithmetic(at, x, type, by_tanh);
  return by_tanh ? at.emit("Gelu", {x}, {{"approximate", std::string("tanh")}}) : at.emit("Gelu", {x});
}

void standard_gelu(AdapterContext& n) { n.become(0, write_gelu(n.at(), biased(n), floating_type(n, 0), false)); }

void standard_fast_gelu(AdapterContext& n) { n.become(0, write_gelu(n.at(), biased(n), floating_type(n, 0), true)); }

void standard_quick_gelu(AdapterContext& n) {
  const Emit& at = n.at();
  ir::Value* x = n.changing().input(0);
  const auto alpha = static_cast<float>(n.attr_float("alpha", kQuickGelusAlpha));
  n.become(0, at.mul(x, at.emit("Sigmoid", {alpha == 1 ? x : at.mul(x, at.scalar(alpha, floating_type(n, 0)))})));
}

void standard_bias_add(AdapterContext& n) { n.become(0, n.at().add(biased(n), n.changing().input(2))); }

// The first half of the channels, times Gelu of the others.
void standard_bias_split_gelu(AdapterContext& n) {
  const Emit& at = n.at();
  const Fact& x = n.input(0);
  const auto width = x.rank() > 0 ? x.dim(x.rank() - 1).constant() : std::nullopt;
  if (!width) throw NoEqual{"how many channels it has is not known"};
  const int64_t last = x.rank() - 1;
  ir::Value* sum = biased(n);
  ir::Value* gate = write_gelu(at, at.slice(sum, *width / 2, *width, last), floating_type(n, 0), false);
  n.become(0, at.mul(at.slice(sum, 0, *width / 2, last), gate));
}

}  // namespace thaw::ops
