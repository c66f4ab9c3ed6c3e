#include "thaw/rewrite/guard_inputs.h"

#include <algorithm>
#include <unordered_set>

namespace thaw::rewrite {
namespace {

// 0 where all distances are, else 1.
ir::Value* emit_off(DimEmitter& sizes, std::span<const dim::Dim> distances) {
  const ops::Emit& at = sizes.at();
  ir::Value* off = nullptr;
  for (const dim::Dim distance : distances) {
    ir::Value* one = at.emit("Abs", {sizes.emit(distance)});
    off = off ? at.emit("Max", {off, one}) : one;
  }
  return at.emit("Min", {off, at.list({1})});
}

}  // namespace

InputGuard::InputGuard(ir::Model& model) {
  for (ir::Value* input : model.graph->inputs()) {
    const std::span<const ir::Use> uses = input->uses();
    if (!input->initializer() && input->type.kind == ir::Type::Kind::kTensor && !uses.empty())
      readers_.emplace_back(input, std::vector<ir::Use>(uses.begin(), uses.end()));
  }
}

bool InputGuard::put(DimEmitter& sizes, std::span<const dim::Dim> distances,
                     const std::unordered_map<const ir::Value*, ops::Shape>& input_shapes) {
  const auto can_emit = [&](dim::Dim distance) { return sizes.can_emit(distance); };
  if (!std::ranges::all_of(distances, can_emit)) return false;
  std::unordered_set<int> symbols;
  for (const dim::Dim distance : distances)
    for (const int id : dim::symbols_of(distance)) symbols.insert(id);
  const auto has_one = [&](dim::Dim size) {
    return size.is_symbolic() &&
           std::ranges::any_of(dim::symbols_of(size), [&](int id) { return symbols.contains(id); });
  };
  const ops::Emit& at = sizes.at();
  ir::Value* off = emit_off(sizes, distances);
  ir::Value* held = at.reshape(off, at.add(off, at.list({1})));
  // No view of it: views of views are joined, as if that between them always went.
  ir::Value* index = at.emit("ReduceMax", {held}, {{"keepdims", int64_t{0}}});
  for (const auto& [input, uses] : readers_) {
    const auto shape = input_shapes.find(input);
    const bool is_sized = shape != input_shapes.end() && std::ranges::any_of(shape->second, has_one);
    if (!is_sized && !sizes.reads_values_of(input)) continue;
    ir::Value* passed = at.emit("Gather", {at.unsqueeze(input, {0}), index}, {{"axis", int64_t{0}}});
    passed->set_type(input->type);
    for (const ir::Use& use : uses) use.node->set_input(use.index, passed);
  }
  return true;
}

}  // namespace thaw::rewrite
