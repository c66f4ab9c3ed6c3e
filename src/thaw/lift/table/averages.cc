// Matrices of averages: how an image of any size is pooled to a fixed number of cells.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"

namespace thaw::lifting {

std::optional<Generated> fit_averages(const RowTable& table) {
  const View& view = table.view;
  const auto is_short = [](const auto& list) { return list.empty() || list.front() <= 0; };
  if (view.kind != Kind::kReal || view.width == 0 || std::ranges::any_of(view.entries, is_short)) return std::nullopt;
  std::vector<double> each;
  for (int64_t cell = 0; cell < view.width; ++cell) each.push_back(static_cast<double>(cell));
  const Formula i = position(0), cell = numbers(std::move(each), Kind::kInteger, view.last_axis());
  const Formula n = view.length(), cells(view.width);
  const Formula begin = cell * n / cells;
  const Formula end = (cell * n + n + (cells - Formula(1))) / cells;
  const Formula inside = both(negation(less(i, begin)), less(i, end));
  const Formula average = choose(inside, real_number(1) / as_real(end - begin), real_number(0));
  if (!holds(view, average, 0, view.width)) return std::nullopt;
  return Generated{fmt::format("averages of {} in {} cells", dim::to_string(view.length().dim), view.width),
                   {{average, view.width}}};
}

}  // namespace thaw::lifting
