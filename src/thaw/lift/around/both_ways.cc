#include "thaw/lift/around/both_ways.h"

#include <algorithm>
#include <cmath>

#include "thaw/lift/steps.h"

namespace thaw::lifting {
namespace {

// The one axis that grows.
std::optional<size_t> growing_axis(std::span<const ir::Tensor* const> tables) {
  const ir::Tensor& first = *tables.front();
  std::optional<size_t> axis;
  for (const ir::Tensor* table : tables) {
    if (table->dims.size() != first.dims.size() || table->data_type != first.data_type) return std::nullopt;
    for (size_t i = 0; i < first.dims.size(); ++i) {
      if (table->dims[i] == first.dims[i]) continue;
      if (axis && *axis != i) return std::nullopt;
      axis = i;
    }
  }
  return axis;
}

// Rows of the largest table, from one on, that another has. all, entries: what the two hold; scale: the largest of `all`.
bool holds_rows(const ir::Tensor& largest, const std::vector<double>& all, double scale, const ir::Tensor& table,
                const std::vector<double>& entries, size_t axis, int64_t from) {
  constexpr double kUnequal = 1e-5;
  int64_t width = 1;  // of what stands behind the axis
  for (size_t i = axis + 1; i < table.dims.size(); ++i) width *= table.dims[i];
  const int64_t block = table.dims[axis] * width, whole = largest.dims[axis] * width;
  for (int64_t i = 0; i < std::ssize(entries); ++i) {
    const auto there = static_cast<size_t>(i / block * whole + from * width + i % block);
    if (!(std::abs(entries[static_cast<size_t>(i)] - all[there]) <= kUnequal * scale)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<int64_t>> rows_both_ways(std::span<const ir::Tensor* const> tables) {
  const auto axis = tables.size() < 2 ? std::nullopt : growing_axis(tables);
  if (!axis) return std::nullopt;
  const auto rows_of = [&](const ir::Tensor* table) { return table->dims[*axis]; };
  const ir::Tensor& largest = **std::ranges::max_element(tables, {}, rows_of);
  std::vector<int64_t> rows;
  for (const ir::Tensor* table : tables) rows.push_back(rows_of(table));
  if (std::ranges::any_of(rows, [](int64_t count) { return count % 2 == 0; })) return std::nullopt;
  const std::vector<double> all = largest.to_double();
  double scale = 0;
  for (const double entry : all) scale = std::max(scale, std::abs(entry));
  bool from_first = true, from_middle = true;
  for (const ir::Tensor* table : tables) {
    const int64_t more = rows_of(&largest) - rows_of(table);
    if (more == 0) continue;
    const std::vector<double> entries = table->to_double();
    from_middle = from_middle && holds_rows(largest, all, scale, *table, entries, *axis, more / 2);
    from_first = from_first && holds_rows(largest, all, scale, *table, entries, *axis, 0);
  }
  return from_middle && !from_first ? std::optional(std::move(rows)) : std::nullopt;
}

void note_distances(Lifting& l) {
  for (const Difference& difference : l.alignment.differences)
    if (auto rows = rows_both_ways(difference.tensors)) l.solver->note_distances(std::move(*rows));
}

}  // namespace thaw::lifting
