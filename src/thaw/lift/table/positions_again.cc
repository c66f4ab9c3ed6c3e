// Biases of two lists of which the second counts its positions from 0 again: a text, and the patches of an image behind it
// (LayoutLMv3). Each entry is that of position - position, within a list and from one to the other.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// How long the first list may be: a size, or what one leaves.
std::vector<Size> possible_firsts(const Size& both, const TableContext& context) {
  constexpr int64_t kShortest = 2;
  std::vector<Size> firsts;
  for (const Variable& v : context.variables) {
    if (v.kind != Variable::Kind::kDim || !v.varies()) continue;
    const Size size{v.symbol, v.at}, rest = both - size;
    const auto is_list = [](int64_t n) { return n >= kShortest; };
    if (!std::ranges::all_of(size.at, is_list) || !std::ranges::all_of(rest.at, is_list)) continue;
    firsts.push_back(size);
    firsts.push_back(rest);
  }
  return firsts;
}

// The entry of each distance, from that of the last column on; nullopt where two entries of one distance differ.
std::optional<std::vector<double>> entries_by_distance(const View& view, size_t trace, int64_t first, int64_t longer) {
  const int64_t n = view.growing[0].at[trace];
  const auto position_of = [&](int64_t i) { return i < first ? i : i - first; };
  std::vector<double> list(static_cast<size_t>(2 * longer - 1), std::numeric_limits<double>::quiet_NaN());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const double entry = view.entries[trace][static_cast<size_t>(i * n + j)];
      double& known = list[static_cast<size_t>(position_of(i) - position_of(j) + longer - 1)];
      if (known != known) {
        known = entry;
      } else if (!view.close(known, entry)) {
        return std::nullopt;
      }
    }
  }
  return list;
}

}  // namespace

std::optional<Sequence> fit_positions_again(const View& view, TableContext& context) {
  if (view.kind != Kind::kReal || view.width != 1 || view.growing[0].at != view.growing[1].at) return std::nullopt;
  for (const Size& first : possible_firsts(view.growing[0], context)) {
    const Size second = view.growing[0] - first;
    // As if one list, the longer of the two, stood beside itself.
    View list = view.without_entries(), table = list;
    Size longer{dim::max(first.dim, second.dim), first.at};
    for (size_t k = 0; k < view.traces(); ++k) longer.at[k] = std::max(first.at[k], second.at[k]);
    table.growing = {longer, longer};
    for (size_t k = 0; k < view.traces(); ++k) {
      auto distances = entries_by_distance(view, k, first.at[k], longer.at[k]);
      if (!distances) break;
      list.entries[k] = std::move(*distances);
      for (int64_t i = 0; i < longer.at[k]; ++i)
        for (int64_t j = 0; j < longer.at[k]; ++j)
          table.entries[k].push_back(list.entries[k][static_cast<size_t>(i - j + longer.at[k] - 1)]);
    }
    if (list.entries.back().empty()) continue;
    list.growing = {longer + longer - constant_size(1, view.traces())};
    const auto fit = fit_distance_table(list, table);
    if (!fit) continue;
    const auto again = [&](int axis) {
      return choose(less(position(axis), first), position(axis), position(axis) - Formula(first));
    };
    const Formula places[] = {again(0), again(1)};
    const auto formula = substitute(fit->formula, places);
    if (!formula) continue;
    if (auto whole = checked(view, *formula,
                             fmt::format("{}, of positions that count from 0 again behind the first {}",
                                         fit->description, dim::to_string(first.dim))))
      return whole;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
