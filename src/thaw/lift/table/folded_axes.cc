// Lists that are a table of two axes, row by row: positions of one sequence beside those of another, or of itself.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostPairs = 4;

}  // namespace

std::vector<std::pair<Size, Size>> possible_pairs(const Size& length, const Solver& solver) {
  std::vector<std::pair<Size, Size>> pairs;
  if (!solver.tensors()) return pairs;
  for (const bool square : {true, false}) {
    for (const auto& [at, dim] : *solver.tensors()) {
      std::vector<int64_t> rest;
      for (size_t k = 0; k < at.size(); ++k) {
        if (at[k] < 2 || length.at[k] % at[k] != 0 || length.at[k] == at[k]) break;
        rest.push_back(length.at[k] / at[k]);
      }
      if (rest.size() != at.size() || (rest == at) != square || pairs.size() == kMostPairs) continue;
      const auto other = solver.tensors()->find(rest);
      if (other != solver.tensors()->end()) pairs.emplace_back(Size{dim, at}, Size{other->second, rest});
    }
  }
  return pairs;
}

std::optional<Generated> fit_folded(const View& view, TableContext& context) {
  for (const auto& [rows, columns] : possible_pairs(view.length(), context.solver)) {
    View table = view;
    table.growing = {rows, columns};
    auto fit = fit_axes(table, context);
    if (!fit) continue;
    const Formula positions[] = {position(0) / columns, position(0) % columns};
    Generated out{
        fmt::format("{}, of {} x {}", fit->description, dim::to_string(rows.dim), dim::to_string(columns.dim)), {}};
    for (const Part& part : fit->parts) {
      const auto formula = substitute(part.formula, positions, 1);
      if (!formula) break;
      out.parts.push_back({*formula, part.columns});
    }
    if (out.parts.size() == fit->parts.size()) return out;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
