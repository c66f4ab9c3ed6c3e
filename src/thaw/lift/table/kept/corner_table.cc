// Tables along two axes or more that no formula gives, and that are the first entries of one larger table along each: learned biases by
// which of two positions of a window are read (Swin's of clips), also where a few positions stand behind those that grow (the patches
// behind a text).
//
// The largest trace's is kept.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_places.h"

namespace thaw::lifting {
namespace {

// Where a place of a trace is in the largest one, of whose axes the last `behind` places are the trace's last.
int64_t place_in_largest(int64_t at, const Size& n, size_t trace, size_t largest, int64_t behind) {
  return at < n.at[trace] - behind ? at : at + n.at[largest] - n.at[trace];
}

bool are_corners(const View& view, size_t largest, int64_t behind) {
  for (size_t k = 0; k < view.traces(); ++k) {
    if (k == largest) continue;
    const bool is_corner = each_place(view, k, [&](const TablePlace& at, size_t entry) {
      int64_t there = 0;
      for (size_t axis = 0; axis < at.size(); ++axis) {
        const Size& n = view.growing[axis];
        there = there * n.at[largest] + place_in_largest(at[axis], n, k, largest, behind);
      }
      const double* own = &view.entries[k][entry];
      const double* other = &view.entries[largest][static_cast<size_t>(there * view.width)];
      return std::equal(own, own + view.width, other, [&](double a, double b) { return view.close(a, b); });
    });
    if (!is_corner) return false;
  }
  return true;
}

// The largest trace's, of which the last `behind` places along each axis come first: those that grow end with the table.
std::vector<double> kept_table(const View& view, size_t largest, int64_t behind) {
  std::vector<double> kept(view.entries[largest].size());
  each_place(view, largest, [&](const TablePlace& at, size_t entry) {
    int64_t place = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      const int64_t length = view.growing[axis].at[largest];
      place = place * length + (at[axis] + behind) % length;
    }
    std::copy_n(&view.entries[largest][entry], view.width, &kept[static_cast<size_t>(place * view.width)]);
    return true;
  });
  return kept;
}

// How many stand behind those that grow. One more must not be as good: then nothing tells which is meant.
std::optional<int64_t> count_behind(const View& view, size_t largest) {
  int64_t shortest = view.growing.front().at.front();
  for (const Size& n : view.growing) shortest = std::min(shortest, std::ranges::min(n.at));
  for (int64_t behind = 0; behind < shortest; ++behind)
    if (are_corners(view, largest, behind))
      return behind + 1 < shortest && !are_corners(view, largest, behind + 1) ? std::optional(behind) : std::nullopt;
  return std::nullopt;
}

}  // namespace

std::optional<Generated> fit_corner(const Given& table) {
  const View& view = table.view;
  if (std::ranges::any_of(view.entries, [](const auto& entries) { return entries.empty(); })) return std::nullopt;
  const auto largest = largest_trace(view);
  const auto behind = largest ? count_behind(view, *largest) : std::nullopt;
  if (!behind) return std::nullopt;
  std::vector<int64_t> dims;
  for (const Size& n : view.growing) dims.push_back(n.at[*largest]);
  std::string description =
      fmt::format("the first entries of a kept table{}, known up to {}",
                  *behind == 0 ? "" : fmt::format(" before its last {}", *behind), fmt::join(dims, " x "));
  dims.push_back(view.width);
  const auto emit = [form = view.without_entries(), dims, behind = *behind,
                     kept = kept_table(view, *largest, *behind)](TableEmitter& e) {
    ir::Value* rows = emit_kept(kept, dims, form.kind, e);
    for (size_t axis = 0; axis < form.growing.size(); ++axis) {
      const Size& n = form.growing[axis];
      e.note({n.dim, dims[axis]});
      const Formula grows = n - constant_size(behind, n.at.size()), at = position(0);
      const Formula place = behind == 0 ? at : choose(less(at, grows), at + Formula(behind), at - grows);
      const dim::Dim axes[] = {n.dim};
      rows = e.emit("Gather", {rows, emit_formula(place, axes, e)}, {{"axis", static_cast<int64_t>(axis)}});
    }
    return rows;
  };
  return made(view, std::move(description), emit);
}

}  // namespace thaw::lifting
