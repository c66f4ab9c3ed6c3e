// Masks of windows that were rolled over the edge of a grid, where the windows grow with the grid: as many windows in every trace, each of
// as many cells as its part of the grid has. A window at the edge holds cells of both edges, which must not see each other: those before a
// cut along its rows, or its columns, and those behind.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// Where a side of the window is cut in each trace, from its end: so far was the grid rolled.
using Cuts = std::vector<int64_t>;

// What the first cell sees along its row or column; nullopt where that changes more than once, empty where it never does.
std::optional<Cuts> cuts_of(const View& view, const Layout& layout, bool down, double inner) {
  Cuts cuts;
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t width = layout.width().at[k], side = down ? layout.height().at[k] : width;
    const auto sees = [&](int64_t i) { return view.entries[k][static_cast<size_t>(down ? i * width : i)] == inner; };
    int64_t cut = 0;
    while (cut < side && sees(cut)) ++cut;
    for (int64_t i = cut; i < side; ++i)
      if (sees(i)) return std::nullopt;
    if (cut == side) continue;
    if (cuts.size() != k) return std::nullopt;
    cuts.push_back(side - cut);
  }
  if (!cuts.empty() && cuts.size() != view.traces()) return std::nullopt;
  return cuts;
}

struct SideCut {
  const Counter& along;
  const Size& side;
  const char* name;
};

// Whether the cells of both axes are on one side of the cut.
std::optional<Formula> on_one_side(const SideCut& cut, const Cuts& cuts, const Solver& solver, std::string& text) {
  const auto rolled = solver.solve(cuts);
  if (!rolled) return std::nullopt;
  const Formula behind(cut.side - Size{*rolled, cuts}), across = position(1);
  const auto of_column = substitute(cut.along.formula(), {&across, 1});
  if (!of_column) return std::nullopt;
  text += fmt::format("{}{} {}", text.empty() ? "" : " and of ", dim::to_string(*rolled), cut.name);
  return equal(as_integer(less(cut.along.formula(), behind)), as_integer(less(*of_column, behind)));
}

}  // namespace

std::optional<Sequence> fit_cut_mask(const View& view, TableContext& context) {
  if (view.growing[0].at != view.growing[1].at) return std::nullopt;
  for (const auto& list : view.entries)
    if (list.empty()) return std::nullopt;
  const auto values = two_values(view);
  if (!values) return std::nullopt;
  const auto [inner, outer] = *values;
  for (const LayoutPtr& layout : layouts_of(view.growing[0], context).plain_and_grids()) {
    if (!layout->is_grid() || layout->block() > 1) continue;
    if ((layout->height() * layout->width()).at != view.growing[0].at) continue;
    const auto down = cuts_of(view, *layout, true, inner), across = cuts_of(view, *layout, false, inner);
    if (!down || !across) continue;
    Formula inside;
    std::string text;
    const SideCut sides[] = {{layout->row(), layout->height(), "rows"}, {layout->column(), layout->width(), "columns"}};
    bool known = true;
    for (const auto& [cut, cuts] : {std::pair(&sides[0], &*down), std::pair(&sides[1], &*across)}) {
      if (cuts->empty()) continue;
      const auto same = on_one_side(*cut, *cuts, context.solver, text);
      known &= same.has_value();
      if (same) inside = inside ? both(inside, *same) : *same;
    }
    if (!known || !inside) continue;
    const Formula formula = choose(inside, numbers({inner}, view.kind, 0), numbers({outer}, view.kind, 0));
    if (holds(view, formula, 0, 1))
      return Sequence{fmt::format("{} where both are of the last {} of {}, or neither, else {}", inner, text,
                                  layout->describe(), outer),
                      formula};
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
