#include "thaw/lift/untold/idle_masks.h"

#include <algorithm>
#include <set>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

// Whether all entries are the same in every trace; `one`: whether that is 1.
bool holds_one_value(const Difference& table, bool one) {
  const double first = one ? 1 : table.tensors.front()->to_double().front();
  return std::ranges::all_of(table.tensors, [&](const ir::Tensor* tensor) {
    return std::ranges::all_of(tensor->to_double(), [&](double entry) { return entry == first; });
  });
}

bool has_a_row_each(const Difference& table) {
  const std::vector<int64_t>& first = table.tensors.front()->dims;
  const auto is_column = [&](const ir::Tensor* t) {
    return t->dims.size() == first.size() && t->dims.size() > 1 && t->dims.back() == 1 && t->num_elements() > 0;
  };
  return std::ranges::all_of(table.tensors, is_column) &&
         std::ranges::any_of(table.tensors, [&](const ir::Tensor* t) { return t->dims != first; });
}

bool chooses(const Difference& table) { return ops::role_of(*table.node, table.input) == ops::Role::kCondition; }

// Whether the node leaves rows of features out by the table, or multiplies them.
bool masks_rows(const Difference& table, const Lifting& l) {
  const auto factor = ops::constant_factor(*table.node);
  const bool multiplies = factor && factor->operand == table.input && !factor->divides;
  if ((!chooses(table) && !multiplies) || !has_a_row_each(table)) return false;
  const auto made = l.tensor_shapes.find(table.node->output(0));
  return made == l.tensor_shapes.end() || (!made->second.empty() && !made->second.back().is_symbolic());
}

bool is_idle(const Difference& mask) { return holds_one_value(mask, !chooses(mask)); }

std::vector<int64_t> rows_of(const Difference& mask) {
  std::vector<int64_t> rows;
  for (const ir::Tensor* tensor : mask.tensors) rows.push_back(tensor->num_elements());
  return rows;
}

}  // namespace

std::vector<Limit> limits_of_idle_masks(const Lifting& l) {
  std::set<std::vector<int64_t>> told;  // rows of which others are left out
  for (const FittedTable& table : l.tables)
    if (table.fit.leaves_out_cells)
      for (const Difference* reader : table.readers)
        if (masks_rows(*reader, l)) told.insert(rows_of(*reader));
  std::vector<Limit> limits;
  for (const FittedTable& table : l.tables) {
    const auto is_it = [&](const Difference* reader) {
      return masks_rows(*reader, l) && is_idle(*reader) && !told.contains(rows_of(*reader));
    };
    if (std::ranges::none_of(table.readers, is_it)) continue;
    for (const Variable& v : l.variables)
      if (v.varies() && !v.is_batch) limits.push_back({v.symbol, std::ranges::max(v.at), Limit::Of::kMask});
    for (const dim::Dim size : table.fit.growing)
      if (const std::vector<int64_t> at = in_traces(size, l.variables); !at.empty())
        limits.push_back({size, std::ranges::max(at), Limit::Of::kMask});
  }
  return limits;
}

}  // namespace thaw::lifting
