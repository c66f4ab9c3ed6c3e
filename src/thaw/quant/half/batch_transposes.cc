#include "thaw/quant/half/batch_transposes.h"

#include <map>
#include <optional>
#include <utility>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/rewrite/sites.h"

namespace thaw::quantizing {
namespace {

// The axes of what is transposed, where it is as the fusion wants it: 1, 2, …, then 0 last or next to last.
std::optional<size_t> axes_of_batch_transpose(const ir::Value& value) {
  const ir::Node* node = value.producer();
  const ir::Attribute* given = node != nullptr && node->domain().empty() ? node->attribute("perm") : nullptr;
  const auto* perm = given != nullptr ? given->as<std::vector<int64_t>>() : nullptr;
  if (perm == nullptr || perm->size() < 3) return std::nullopt;
  const auto last = static_cast<int64_t>(perm->size()) - 1;
  for (int64_t i = 0; i + 1 < last; ++i)
    if ((*perm)[static_cast<size_t>(i)] != i + 1) return std::nullopt;
  return perm->back() == 0 || perm->back() == last ? std::optional(perm->size()) : std::nullopt;
}

}  // namespace

int give_axes_to_constants(ir::Model& model) {
  std::map<std::pair<const ir::Value*, size_t>, ir::Value*> made;
  for (ir::Graph* graph : rewrite::all_graphs(*model.graph)) {
    for (ir::Node* node : graph->nodes()) {
      if (!ops::weight_product(*node)) continue;
      for (int i = 0; i < 2; ++i) {
        const ir::Value* other = node->input(1 - i);
        const ir::Value* narrow = node->input(i);
        const ir::Tensor* constant = narrow != nullptr ? narrow->constant() : nullptr;
        if (other == nullptr || constant == nullptr || constant->data_type != ir::DataType::kFloat16) continue;
        const std::optional<size_t> axes = axes_of_batch_transpose(*other);
        if (!axes || constant->dims.size() < 2 || constant->dims.size() >= *axes) continue;
        ir::Value*& wide = made[{narrow, *axes}];
        if (wide == nullptr) {
          ir::Tensor tensor = *constant;
          tensor.dims.insert(tensor.dims.begin(), *axes - tensor.dims.size(), 1);
          tensor.name = model.graph->unique_name(narrow->name());
          wide = model.graph->add_initializer(std::move(tensor));
        }
        node->set_input(i, wide);
      }
    }
  }
  return static_cast<int>(made.size());
}

}  // namespace thaw::quantizing
