#include "thaw/lift/around/sizes_around.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "thaw/lift/around/pieces.h"
#include "thaw/lift/around/slices.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {

void SizesAround::tell(const Difference& difference, TableContext& context) const {
  const ir::Node& node = *difference.node;
  const ops::Role role = ops::role_of(node, difference.input);
  Around& around = context.around = {};
  around.meaning = role == ops::Role::kIndex  ? Meaning::kPlace
                   : role == ops::Role::kPads ? Meaning::kPadding
                                              : Meaning::kSize;
  around.cuts = role == ops::Role::kBounds;
  around.fills_before = difference.fills_before;
  around.fills_after = difference.fills_after;
  context.pads = role == ops::Role::kPads;
  context.holds_sizes = ops::holds_size(role);
  context.taken = difference.taken;
  const auto place = shapes_.place_of(&node);
  if (!place) return;
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    const ir::Value* other = i == difference.input ? nullptr : node.input(i);
    if (other && (i == 0 || !other->constant())) add(around, *place, i);
  }
  around.windows = windows_after(shapes_, node);
  const ir::Value* made = node.outputs().empty() ? nullptr : node.output(0);
  for (const ir::Use& use : made ? made->uses() : std::span<const ir::Use>())
    for (const int64_t stride : use.node->attribute_ints("strides")) around.strides.insert(stride);
  if (role == ops::Role::kBounds) around.given_back = bound_told(shapes_, difference, around.axes);
  if (role == ops::Role::kShape) tell_of_shape(*place, around);
}

void SizesAround::tell_of_shape(size_t place, Around& around) const {
  const ir::Node& node = shapes_.node(place);
  if (resizes(node)) {
    around.pieces = pieces_after(shapes_, place);
    around.given_back = given_back_.by_resize(place);
  }
  const ops::Shape* data = shapes_.keeps_elements(place) ? shapes_.shape_of(node.input(0)) : nullptr;
  if (!data) return;
  around.elements = dim::product(*data);
  around.made = shapes_.result(place).value_or(TracedAxes());
  around.given_back = given_back_.by_reshape(place, around.made, around.elements);
}

void SizesAround::add(Around& around, size_t place, int input) const {
  auto axes = shapes_.axes_of(place, input);
  if (!axes) return;
  // What inference says of this tensor itself: another may measure as much in every trace and be rounded otherwise.
  const ops::Shape* own = shapes_.shape_of(shapes_.node(place).input(input));
  if (input == 0) around.has_own_axes = own && own->size() == axes->size();
  for (Variable& size : *axes) {
    const auto is_as_large = [&](const Variable& other) { return other.at == size.at; };
    const bool is_new = size.varies() && size.symbol.is_symbolic() && std::ranges::none_of(around.sizes, is_as_large);
    if (is_new) around.sizes.push_back(size);
    if (input == 0) around.axes.push_back(std::move(size));
  }
}

SizesInTraces SizesAround::in_traces(std::span<const FittedTable> solved) const {
  std::unordered_set<const ir::Value*> frozen, grow;
  for (const Difference& difference : shapes_.lifting().alignment.differences) {
    frozen.insert(difference.value);
    if (grows(difference)) grow.insert(difference.value);
  }
  for (const FittedTable& table : solved)
    for (const Difference* reader : table.readers) {
      frozen.erase(reader->value);
      grow.erase(reader->value);
    }
  std::unordered_set<const ir::Node*> behind;
  // What is made of tables alone is as long as the first trace's are, which a Slice of it then would be cut to.
  std::unordered_set<const ir::Node*> of_tables;
  const auto is_of_tables = [&](const ir::Node& node) {
    bool any = false;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const ir::Value* value = node.input(i);
      if (!value || ops::role_of(node, i) != ops::Role::kData) continue;
      const bool is_table = grow.contains(value) || (value->producer() && of_tables.contains(value->producer()));
      if (!is_table && (value->is_input() || !value->constant())) return false;
      any |= is_table;
    }
    return any;
  };
  for (const ir::Node* node : shapes_.lifting().alignment.nodes[0]) {
    bool is_frozen = false, reads_frozen = false, told = false;
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
      const ir::Value* value = node->input(i);
      const ops::Role role = ops::role_of(*node, i);
      is_frozen |= frozen.contains(value) && (ops::holds_size(role) || role == ops::Role::kScales);
      reads_frozen |= value && value->producer() && behind.contains(value->producer());
      // A shape that is written down, or was solved, says all sizes, unless it leaves one to what is there.
      if (role != ops::Role::kShape || !value || value->is_input() || !value->constant()) continue;
      told |= std::ranges::all_of(value->constant()->to_int64(), [](int64_t size) { return size > 0; });
    }
    if (is_frozen || (reads_frozen && !told)) behind.insert(node);
    if (!told && is_of_tables(*node)) of_tables.insert(node);
  }
  behind.merge(of_tables);
  return [this, behind = std::move(behind)](const ir::Node* node, int output,
                                            size_t axis) -> std::optional<std::vector<int64_t>> {
    if (behind.contains(node)) return std::vector<int64_t>();
    const auto place = shapes_.place_of(node);
    const auto axes = place ? shapes_.result(*place, output) : std::nullopt;
    return axes && axis < axes->size() ? std::optional((*axes)[axis]) : std::nullopt;
  };
}

bool SizesAround::waits(const Difference& difference) const {
  const ir::Value* data = difference.node->input(0);
  return ops::role_of(*difference.node, difference.input) == ops::Role::kShape && data && !data->constant() &&
         !shapes_.shape_of(data);
}

}  // namespace thaw::lifting
