// Learned rows of each distance along a side that were interpolated before the export, as attention with decomposed relative
// positions reads them (SAM, ViTDet: get_rel_pos).
#include <algorithm>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// Row d is that of row - column = d - (n - 1); nullopt where an entry is none of its distance.
std::optional<View> rows_by_distance(const View& view) {
  View list = view.without_entries();
  list.type = ir::DataType::kFloat;
  list.growing = {view.growing[0] + view.growing[0] - constant_size(1, view.traces())};
  list.dims = {list.growing[0].dim, dim::Dim(view.width)};
  list.axes = {0};
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t n = view.growing[0].at[k];
    const auto entry = [&](int64_t i, int64_t j, int64_t c) {
      return view.entries[k][static_cast<size_t>((i * n + j) * view.width + c)];
    };
    for (int64_t d = 0; d < 2 * n - 1; ++d) {
      const int64_t i = std::max<int64_t>(0, d - n + 1), j = i + n - 1 - d;
      for (int64_t c = 0; c < view.width; ++c) {
        list.entries[k].push_back(entry(i, j, c));
        for (int64_t step = 1; i + step < n && j + step < n; ++step)
          if (!view.close(entry(i + step, j + step, c), list.entries[k].back())) return std::nullopt;
      }
    }
  }
  return list;
}

}  // namespace

std::optional<TableFit> fit_resized_distances(const View& view, TableContext& context) {
  if (view.kind != Kind::kReal || view.growing.size() != 2 || view.growing[0].at != view.growing[1].at)
    return std::nullopt;
  if (std::ranges::any_of(view.entries, [](const auto& entries) { return entries.empty(); })) return std::nullopt;
  const auto list = rows_by_distance(view);
  auto rows = list ? fit_resized(*list, context) : std::nullopt;
  if (!rows) return std::nullopt;
  const Size& n = view.growing[0];
  const Formula distance = position(0) - position(1) + Formula(n - constant_size(1, view.traces()));
  TableFit out{"by row - column, " + rows->description, {}};
  out.emit = [form = view.without_entries(), rows = std::move(rows->emit), distance, n](TableEmitter& e) {
    const dim::Dim axes[] = {n.dim, n.dim};
    return emit_shaped(form, e.emit("Gather", {rows(e), emit_formula(distance, axes, e)}), e);
  };
  return out;
}

}  // namespace thaw::lifting
