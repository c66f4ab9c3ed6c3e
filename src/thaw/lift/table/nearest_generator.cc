// What to say of a table that no generator gives: which of them comes nearest.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// How many entries from the first on a formula gives, of the first column in a trace.
int64_t leading_entries(const View& view, const Formula& formula, size_t trace) {
  const Numbers got = evaluate(formula, all_places(view.growing, trace));
  int64_t right = 0;
  while (right < view.length().at[trace] &&
         view.close(view.at(trace, right, 0), got.entries[got.entries.size() == 1 ? 0 : static_cast<size_t>(right)]))
    ++right;
  return right;
}

}  // namespace

std::string nearest_of(const Given& table) {
  const View& view = table.view;
  const auto longest = static_cast<size_t>(std::max_element(view.length().at.begin(), view.length().at.end()) -
                                           view.length().at.begin());
  const int64_t length = view.length().at[longest];
  constexpr int64_t kTold = 4;  // entries that say nothing yet
  int64_t most = kTold;
  std::string name;
  const auto consider = [&](const Formula& formula, auto describe) {
    const int64_t right = leading_entries(view, formula, longest);
    if (right > most && right < length) {
      most = right;
      name = describe();
    }
  };
  if (view.width > 0 && length > 1 && view.kind != Kind::kTruth) {
    for (const CounterPtr& counter : table.counters()) {
      // The line through its first two values.
      const auto& at = counter->at(longest);
      size_t next = 1;
      while (next < at.size() && at[next] == at[0]) ++next;
      if (next == at.size()) continue;
      const double step = (view.at(longest, static_cast<int64_t>(next), 0) - view.at(longest, 0, 0)) /
                          static_cast<double>(at[next] - at[0]);
      const double start = view.at(longest, 0, 0) - step * static_cast<double>(at[0]);
      consider(as_real(counter->formula()) * real_number(step) + real_number(start),
               [&] { return "affine in " + counter->name(); });
    }
    if (view.kind == Kind::kInteger) {
      for (const LayoutPtr& from : table.layouts())
        for (const LayoutPtr& to : table.layouts())
          if (from->is_grid() && to->is_grid())
            consider(to->index(from->place(position(0))),
                     [&] { return fmt::format("where {} stand in {}", from->describe(), to->describe()); });
    }
  }
  std::string text = "no generator gives its entries";
  if (!name.empty()) return text + fmt::format("; nearest: '{}' gives the first {} of {}", name, most, length);
  // Numbers of a wide table that grow with the grid and follow no formula were learned.
  constexpr int64_t kWide = 8;
  if (view.kind != Kind::kReal || view.width < kWide) return text;
  // Without the sides of the grid, rows of any table of positions look so.
  const bool grid_is_told =
      std::ranges::any_of(table.layouts(), [](const LayoutPtr& layout) { return layout->is_grid(); });
  if (!grid_is_told && !view.dims.empty() && view.traces() > 1)
    return text +
           "; where its rows are the cells of a grid (patches), no input tells the grid's sides: give grid_thw's "
           "values "
           "in each trace (--trace-values), and bring it back where the exporter took it out (--add-input "
           "'grid_thw:int64[1,3]')";
  text += fmt::format(
      "; {} numbers a row look learned, and interpolated before the export: give a trace at the size that they were "
      "learned at, export with the interpolation in the graph, or build the model with thaw build",
      view.width);
  return text;
}

}  // namespace thaw::lifting
