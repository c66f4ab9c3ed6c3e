// Two values, the second from some position on, in a list that was cut into rows of one width: which positions of blocks
// are padding. Where a row is both, its columns are not functions of the row each for itself: column c changes at
// ceil((n - c) / width), of which a few traces tell too little. The list as it was before it was cut says how many
// positions there are.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {

std::optional<std::vector<int64_t>> ends_in_rows(const View& view) {
  if (view.width < 2 || view.traces() < 2) return std::nullopt;
  std::vector<int64_t> ends;
  std::optional<double> after;
  bool cuts_row = false;
  for (const auto& list : view.entries) {
    if (list.empty()) return std::nullopt;
    const double before = view.entries.front().front();
    const auto end = std::ranges::find_if(list, [&](double entry) { return entry != before; });
    if (end != list.end() && !after) after = *end;
    if (!std::all_of(end, list.end(), [&](double entry) { return entry == *after; })) return std::nullopt;
    ends.push_back(end - list.begin());
    cuts_row |= ends.back() % view.width != 0;
  }
  const bool differ = std::ranges::any_of(ends, [&](int64_t end) { return end != ends.front(); });
  if (!after || !cuts_row || !differ) return std::nullopt;
  return ends;
}

void count_rows(View& view, const Solver& solver) {
  const auto ends = view.growing.size() == 1 ? ends_in_rows(view) : std::nullopt;
  const auto end = ends ? solve_end(*ends, view, solver) : std::nullopt;
  if (!end) return;
  const Size rows = ceil_div(*end, constant_size(view.width, view.traces()));
  if (rows.at != view.length().at) return;
  view.growing.front() = rows;
  view.dims[view.axes.front()] = rows.dim;
}

std::optional<Generated> fit_step_in_rows(const Given& table) {
  const View& view = table.view;
  if (!ends_in_rows(view)) return std::nullopt;
  View list = view;  // as it was before it was cut
  list.width = 1;
  list.sides.insert(list.sides.end(), view.growing.begin(), view.growing.end());
  list.growing = {view.length() * constant_size(view.width, view.traces())};
  const auto fit = fit_step({list, table.context});
  std::vector<double> columns(static_cast<size_t>(view.width));
  std::iota(columns.begin(), columns.end(), 0);
  const Formula place =
      position(0) * Formula(view.width) + numbers(std::move(columns), Kind::kInteger, view.last_axis());
  const auto formula = fit ? substitute(fit->formula(), {&place, 1}) : std::nullopt;
  if (!formula) return std::nullopt;
  return Generated{fmt::format("rows of {}: {}", view.width, fit->description), *formula, view.width};
}

namespace {

View columns_from(const View& view, int64_t first, int64_t count) {
  View out = view.without_entries();
  out.width = count;
  for (size_t k = 0; k < view.traces(); ++k)
    for (auto row = view.entries[k].begin(); row != view.entries[k].end(); row += view.width)
      out.entries[k].insert(out.entries[k].end(), row + first, row + first + count);
  return out;
}

// The first column from which on no entry is any but two values; the width where the last one has more.
int64_t first_of_two_values(const View& view) {
  std::vector<double> values;
  for (int64_t column = view.width; column-- > 0;)
    for (const auto& list : view.entries)
      for (size_t at = static_cast<size_t>(column); at < list.size(); at += static_cast<size_t>(view.width)) {
        if (std::ranges::find(values, list[at]) != values.end()) continue;
        values.push_back(list[at]);
        if (values.size() > 2) return column + 1;
      }
  return 0;
}

}  // namespace

std::optional<Generated> fit_step_in_last_columns(const Given& table) {
  const View& view = table.view;
  for (int64_t first = std::max<int64_t>(first_of_two_values(view), 1); first + 1 < view.width; ++first) {
    const View last = columns_from(view, first, view.width - first);
    const auto ends = ends_in_rows(last);
    if (!ends) continue;
    const auto plain = table.context.solver.solutions(*ends, 1);
    if (plain.empty() || plain.front().rule > Rule::kTensor) continue;
    const View others = columns_from(view, 0, first);
    auto generated = fit_list({others, table.context});
    auto step = generated ? fit_step_in_rows({last, table.context}) : std::nullopt;
    if (!step) return std::nullopt;
    generated->description += "; " + step->description;
    generated->parts.push_back(std::move(step->parts.front()));
    return generated;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
