// Tables that stand side by side: two or three as large as the other axis is long, one after another.
//
// Attention of several streams over one list (ProphetNet) has its masks and distances in one table [n, 2 n]. Each is
// fitted for itself.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// How many times the other axis goes into this one, in every trace.
int64_t parts_along(const View& view, size_t axis) {
  constexpr int64_t kMostParts = 4;
  const Size &whole = view.growing[axis], &part = view.growing[1 - axis];
  const int64_t parts = part.at[0] == 0 ? 0 : whole.at[0] / part.at[0];
  for (size_t k = 0; k < view.traces(); ++k)
    if (whole.at[k] != parts * part.at[k]) return 0;
  return parts > kMostParts || !dim::same(whole.dim, part.dim * dim::Dim(parts)) ? 0 : parts;
}

View square_of(const View& view, size_t axis, int64_t which) {
  View part = view.without_entries();
  part.growing[axis] = view.growing[1 - axis];
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t n = view.growing[1 - axis].at[k], across = view.growing[1].at[k];
    const int64_t row = axis == 0 ? which * n : 0, column = axis == 1 ? which * n : 0;
    for (int64_t i = 0; i < n; ++i) {
      const auto begin = view.entries[k].begin() + (row + i) * across + column;
      part.entries[k].insert(part.entries[k].end(), begin, begin + n);
    }
  }
  return part;
}

}  // namespace

std::optional<Sequence> fit_side_by_side(const View& view, TableContext& context) {
  for (const size_t axis : {size_t{1}, size_t{0}}) {
    const int64_t parts = parts_along(view, axis);
    if (parts < 2) continue;
    const Size& n = view.growing[1 - axis];
    const Formula along = position(static_cast<int>(axis));
    Sequence out;
    for (int64_t which = parts; which-- > 0;) {
      auto fit = fit_together(square_of(view, axis, which), context);
      if (!fit) return std::nullopt;
      // Where another part stands, a place within this one: what a table has no entry for is an error.
      const Formula begin = Formula(n) * Formula(which);
      const Formula within = smaller(larger(along - begin, Formula(0)), Formula(n - constant_size(1, view.traces())));
      const Formula places[] = {axis == 0 ? within : position(0), axis == 1 ? within : position(1)};
      const auto here = substitute(fit->formula, places);
      if (!here) return std::nullopt;
      const Formula end = Formula(n) * Formula(which + 1);
      out.formula = out.formula ? choose(less(along, end), *here, out.formula) : *here;
      out.description = out.description.empty() ? fit->description
                                                : fmt::format("{}; beside it {}", fit->description, out.description);
    }
    if (holds(view, out.formula, 0, 1)) return out;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
