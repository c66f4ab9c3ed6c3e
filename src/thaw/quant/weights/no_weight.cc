#include "thaw/quant/weights/no_weight.h"

#include <algorithm>

#include <fmt/format.h>

namespace thaw::quantizing {

std::string why_no_axes(const ir::Tensor& weight) {
  if (weight.dims.empty()) return "its weight is one number";
  return weight.dims.size() == 1 ? "its weight is a vector" : "";
}

std::string why_computed(const ir::Value* weight) {
  const ir::Node* maker = weight ? weight->producer() : nullptr;
  const bool is_made_of_constants =
      maker && !maker->inputs().empty() &&
      std::ranges::all_of(maker->inputs(), [](const ir::Value* input) { return !input || input->constant(); });
  return is_made_of_constants ? fmt::format("its weight comes out of a {}, and is no constant", maker->op_type()) : "";
}

}  // namespace thaw::quantizing
