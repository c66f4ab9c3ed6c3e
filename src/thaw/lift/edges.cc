// Tables that are the same for every window of a grid but those at its lower or right edge: the masks of shifted
// windows (Swin, Liu et al. 2021), where the last row and column of windows hold what the shift brought from the other
// end.
#include "thaw/lift/generators.h"
#include "thaw/lift/whole_windows.h"

namespace thaw::lift {
namespace {

struct Columns {
  std::vector<double> inside, edge;  // by column of the table: its entry, and that at an edge
  std::vector<double> lower, right;  // truths: whether it changes there
};

// What the table says of windows inside, at the lower and at the right edge; nullopt where no trace has one of them.
std::optional<Columns> read_columns(const View& view, const WindowGrid& grid) {
  const auto width = static_cast<size_t>(view.width);
  Columns columns{std::vector<double>(width), std::vector<double>(width), std::vector<double>(width),
                  std::vector<double>(width)};
  for (size_t k = 0; k < view.traces(); ++k) {
    if (grid.rows[k] < 2 || grid.columns[k] < 2) continue;
    for (size_t c = 0; c < width; ++c) {
      const auto column = static_cast<int64_t>(c);
      const double inside = view.at(k, 0, column), right = view.at(k, grid.columns[k] - 1, column),
                   lower = view.at(k, (grid.rows[k] - 1) * grid.columns[k], column);
      columns.inside[c] = inside;
      columns.lower[c] = view.close(lower, inside) ? 0 : 1;
      columns.right[c] = view.close(right, inside) ? 0 : 1;
      columns.edge[c] = columns.lower[c] != 0 ? lower : right;
    }
    return columns;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Generated> fit_edges(const RowTable& table) {
  const View& view = table.view;
  const int across = view.last_axis();
  for (const WindowGrid& grid : window_grids(table.context.variables, view.length().at)) {
    auto columns = read_columns(view, grid);
    if (!columns) continue;
    const Size down{grid.down, grid.rows}, wide{grid.across, grid.columns};
    const Size one = constant_size(1, view.traces());
    const Formula at_lower = equal(position(0) / Formula(wide), Formula(down - one));
    const Formula at_right = equal(position(0) % Formula(wide), Formula(wide - one));
    const Formula changes = either(both(at_lower, numbers(std::move(columns->lower), Kind::kTruth, across)),
                                   both(at_right, numbers(std::move(columns->right), Kind::kTruth, across)));
    const Formula entries = choose(changes, numbers(std::move(columns->edge), view.kind, across),
                                   numbers(std::move(columns->inside), view.kind, across));
    if (holds(view, entries, 0, view.width))
      return Generated{"the same for each window of a grid but those at its lower and right edge",
                       {{entries, view.width}}};
  }
  return std::nullopt;
}

}  // namespace thaw::lift
