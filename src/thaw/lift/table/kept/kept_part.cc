// Tables that no formula gives, and that are parts of one larger table: its first entries along an axis, its last, or
// those in its middle (learned positions of an image, of which a smaller one takes the middle: Stable Diffusion 3, Esser et al. 2024).
//
// All that the traces have of it is kept.
#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/keys/separation.h"
#include "thaw/lift/table/table_places.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kLargestKept = int64_t{1} << 24;  // entries

// How far in front of some place of the larger table a part of n entries begins.
struct Start {
  std::string_view name;
  Size (*of)(const Size& n);
};
const Start kStarts[] = {
    {"first", [](const Size& n) { return constant_size(0, n.at.size()); }},
    {"last", [](const Size& n) { return n; }},
    {"middle", [](const Size& n) { return n / constant_size(2, n.at.size()); }},
    {"middle", [](const Size& n) { return ceil_div(n, constant_size(2, n.at.size())); }},
};

class Parts {
 public:
  explicit Parts(const View& view) : view_(view) {}

  // Where each trace begins in the coordinates of the one with the most entries; nullopt where one does not overlap it, is otherwise there,
  // or may begin at several places.
  std::optional<std::vector<TablePlace>> begins() const {
    const auto size_of = [](const auto& entries) { return entries.size(); };
    const auto largest =
        static_cast<size_t>(std::ranges::max_element(view_.entries, {}, size_of) - view_.entries.begin());
    if (std::ssize(view_.entries[largest]) > kLargestKept) return std::nullopt;
    std::unordered_map<size_t, std::vector<size_t>> places;  // the first of the entries, by what they are
    for (size_t entry = 0; entry < view_.entries[largest].size(); entry += static_cast<size_t>(view_.width)) {
      std::vector<size_t>& known = places[hash_of_columns(largest, entry)];
      if (known.size() <= kMostPlaces) known.push_back(entry);
    }
    std::vector<TablePlace> begins;
    for (size_t k = 0; k < view_.traces(); ++k) {
      std::set<TablePlace> possible;
      each_place(view_, k, [&](const TablePlace& at, size_t entry) {
        const auto known = places.find(hash_of_columns(k, entry));
        if (known == places.end()) return true;
        for (const size_t there : known->second) {
          TablePlace begin = place_of(there, largest);
          for (size_t axis = 0; axis < at.size(); ++axis) begin[axis] -= at[axis];
          possible.insert(std::move(begin));
        }
        return possible.size() <= kMostPlaces;
      });
      if (possible.size() > kMostPlaces) return std::nullopt;
      std::erase_if(possible, [&](const TablePlace& begin) { return !overlaps(k, largest, begin); });
      if (possible.size() != 1) return std::nullopt;
      begins.push_back(*possible.begin());
    }
    return begins;
  }

 private:
  static constexpr size_t kMostPlaces = 64;
  // That are not the same: as many are no chance. Two integers are more often.
  static constexpr size_t kFewestShared = 4, kFewestIntegers = 16;

  size_t hash_of_columns(size_t trace, size_t entry) const {
    size_t hash = 0;
    for (size_t c = 0; c < static_cast<size_t>(view_.width); ++c)
      hash = hash * 1099511628211U ^ std::hash<double>()(view_.entries[trace][entry + c]);
    return hash;
  }

  TablePlace place_of(size_t entry, size_t trace) const {
    TablePlace at;
    for (const size_t stride : strides_of(view_, trace)) {
      at.push_back(static_cast<int64_t>(entry / stride));
      entry %= stride;
    }
    return at;
  }

  // Whether a trace is the same as another one where both have entries, more than a few.
  bool overlaps(size_t trace, size_t other, const TablePlace& begin) const {
    const std::vector<size_t> strides = strides_of(view_, other);
    std::unordered_set<size_t> shared;
    const bool is_same = each_place(view_, trace, [&](const TablePlace& at, size_t entry) {
      size_t there = 0;
      for (size_t axis = 0; axis < at.size(); ++axis) {
        const int64_t place = at[axis] + begin[axis];
        if (place < 0 || place >= view_.growing[axis].at[other]) return true;
        there += static_cast<size_t>(place) * strides[axis];
      }
      for (size_t c = 0; c < static_cast<size_t>(view_.width); ++c)
        if (!view_.close(view_.entries[trace][entry + c], view_.entries[other][there + c])) return false;
      shared.insert(hash_of_columns(trace, entry));
      return true;
    });
    return is_same && shared.size() >= (view_.exact() ? kFewestIntegers : kFewestShared);
  }

  const View& view_;
};

// Where parts begin along an axis, by the starts that give it in every trace; what more than one of them says is to be the same.
struct Along {
  std::string_view name;
  Size begin;  // in the kept table
  int64_t length = 0;
  std::vector<Limit> limits;
};

std::optional<Along> along(const Size& n, const std::vector<TablePlace>& begins, size_t axis) {
  Along found;
  std::vector<int64_t> at;
  for (const TablePlace& begin : begins) at.push_back(begin[axis]);
  const int64_t first = std::ranges::min(at);
  for (size_t k = 0; k < at.size(); ++k) found.length = std::max(found.length, at[k] + n.at[k] - first);
  // Of two lengths any rule is met by chance, but that nothing moves.
  constexpr size_t kFewestLengths = 3;
  const bool stays = std::ranges::all_of(at, [&](int64_t begin) { return begin == first; });
  if (!stays && std::set<int64_t>(n.at.begin(), n.at.end()).size() < kFewestLengths) return std::nullopt;
  for (const Start& start : kStarts) {
    const Size before = start.of(n);
    const int64_t shift = at.front() + before.at.front() - first;
    const Size begin = constant_size(shift, n.at.size()) - before;
    bool is_it = true;
    for (size_t k = 0; k < at.size(); ++k) is_it = is_it && begin.at[k] == at[k] - first;
    if (!is_it || (!found.name.empty() && dim::same(begin.dim, found.begin.dim))) continue;
    if (found.name.empty()) {
      found.name = start.name;
      found.begin = begin;
    } else {
      found.limits.push_back({found.begin.dim, begin.dim});
      found.limits.push_back({begin.dim, found.begin.dim});
    }
  }
  return found.name.empty() ? std::nullopt : std::optional(std::move(found));
}

// Sizes of which some trace has as much along every axis. The parts of others may hold entries that no trace has. nullopt where no limits
// say it.
std::optional<std::vector<Limit>> known_sizes(const View& view) {
  std::vector<Limit> limits;
  for (const Size& n : view.growing) limits.push_back({n.dim, std::ranges::max(n.at)});
  if (largest_trace(view)) return limits;
  if (view.growing.size() != 2) return std::nullopt;
  const Size &rows = view.growing[0], &columns = view.growing[1];
  std::vector<std::pair<int64_t, int64_t>> traces;
  for (size_t k = 0; k < view.traces(); ++k) traces.emplace_back(rows.at[k], columns.at[k]);
  std::ranges::sort(traces, std::greater());
  std::vector<std::pair<int64_t, int64_t>> widest;  // of so many rows and more, each wider than those before
  for (const auto& trace : traces)
    if (widest.empty() || trace.second > widest.back().second) widest.push_back(trace);
  for (size_t i = 0; i + 1 < widest.size(); ++i)
    limits.push_back(
        {dim::max(rows.dim - dim::Dim(widest[i + 1].first), 0) * dim::max(columns.dim - dim::Dim(widest[i].second), 0),
         dim::Dim(0)});
  return limits;
}

// What the traces have of it, and zeros; nullopt where two of them differ.
std::optional<std::vector<double>> kept_table(const View& view, const std::vector<Along>& axes) {
  int64_t count = 1;
  for (const Along& axis : axes) count *= axis.length;
  std::vector<double> kept(static_cast<size_t>(count * view.width), 0);
  std::vector<bool> is_known(static_cast<size_t>(count), false);
  for (size_t k = 0; k < view.traces(); ++k) {
    const bool is_same = each_place(view, k, [&](const TablePlace& at, size_t entry) {
      int64_t place = 0;
      for (size_t axis = 0; axis < axes.size(); ++axis)
        place = place * axes[axis].length + at[axis] + axes[axis].begin.at[k];
      const auto from = view.entries[k].begin() + static_cast<std::ptrdiff_t>(entry);
      const auto to = kept.begin() + place * view.width;
      if (is_known[static_cast<size_t>(place)])
        return std::equal(from, from + view.width, to, [&](double a, double b) { return view.close(a, b); });
      std::copy(from, from + view.width, to);
      is_known[static_cast<size_t>(place)] = true;
      return true;
    });
    if (!is_same) return std::nullopt;
  }
  return kept;
}

}  // namespace

ir::Value* emit_kept(const std::vector<double>& entries, const std::vector<int64_t>& dims, Kind kind, TableEmitter& e) {
  if (kind == Kind::kReal) return e.floats(dims, std::vector<float>(entries.begin(), entries.end()));
  ir::Value* table = e.emit("Reshape", {e.list(std::vector<int64_t>(entries.begin(), entries.end())), e.list(dims)});
  return kind == Kind::kTruth ? e.cast(table, ir::DataType::kBool) : table;
}

std::optional<Generated> fit_kept_part(const Given& table) {
  const View& view = table.view;
  if (std::ranges::any_of(view.entries, [](const auto& entries) { return entries.empty(); })) return std::nullopt;
  const auto begins = Parts(view).begins();
  auto limits = begins ? known_sizes(view) : std::nullopt;
  if (!limits) return std::nullopt;
  std::vector<Along> axes;
  std::vector<int64_t> dims;
  int64_t count = view.width;
  for (size_t axis = 0; axis < view.growing.size(); ++axis) {
    auto found = along(view.growing[axis], *begins, axis);
    if (!found || count > kLargestKept / found->length) return std::nullopt;
    count *= found->length;
    dims.push_back(found->length);
    std::ranges::copy(found->limits, std::back_inserter(*limits));
    axes.push_back(std::move(*found));
  }
  auto kept = kept_table(view, axes);
  if (!kept) return std::nullopt;
  std::vector<std::string_view> names;
  for (const Along& axis : axes)
    if (std::ranges::count(names, axis.name) == 0) names.push_back(axis.name);
  std::string description = fmt::format("the {} entries of a kept table{}, known up to {}", fmt::join(names, ", "),
                                        names.size() > 1 ? " along its axes" : "", fmt::join(dims, " x "));
  dims.push_back(view.width);
  const auto emit = [form = view.without_entries(), dims, axes, limits = *limits,
                     kept = std::move(*kept)](TableEmitter& e) {
    for (const Limit& limit : limits) e.note(limit);
    ir::Value* rows = emit_kept(kept, dims, form.kind, e);
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      const dim::Dim along[] = {form.growing[axis].dim};
      // Counted from before the first entry, a place would be read from the end.
      const Formula place = larger(position(0) + axes[axis].begin, Formula(0));
      rows = e.emit("Gather", {rows, emit_formula(place, along, e)}, {{"axis", static_cast<int64_t>(axis)}});
    }
    return rows;
  };
  return made(view, std::move(description), emit);
}

}  // namespace thaw::lifting
