#include "thaw/lift/table/keys/key.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace thaw::lifting {
namespace {

constexpr int64_t kMostEntries = int64_t{1} << 26;
constexpr int64_t kSkipped = -2;

// Row by row over the parts; -1 where one of them is none.
Formula place_of(const Key& key) {
  Formula place(0), inside;
  for (const Key::Part& part : key.parts) {
    place = place * Formula(part.range) + part.formula;
    const Formula is_one = both(negation(less(part.formula, Formula(0))), less(part.formula, part.range));
    inside = inside ? both(inside, is_one) : is_one;
  }
  return choose(inside, place, Formula(-1));
}

// How many places these axes have in a trace; nullopt where that is no table.
std::optional<int64_t> num_places(std::span<const Size> axes, size_t trace, int64_t width) {
  int64_t count = 1;
  for (const Size& axis : axes) {
    const int64_t range = axis.at[trace];
    if (range < 1 || count > kMostEntries / std::max<int64_t>(width, 1) / range) return std::nullopt;
    count *= range;
  }
  return count;
}

// The entries of one trace by their places.
class ByPlace {
 public:
  ByPlace(const View& view, size_t trace, int64_t count)
      : view_(view), from_(view.entries[trace]), width_(static_cast<size_t>(view.width)), left_(count) {
    entries_.resize(static_cast<size_t>(count) * width_);
    known_.resize(static_cast<size_t>(count));
  }

  // The next entries, one for each column; false where they are others than are known there, or it is no place.
  bool put(int64_t at) {
    if (at < 0 || static_cast<size_t>(at) >= known_.size()) return false;
    const auto place = static_cast<size_t>(at);
    const bool is_new = !known_[place];
    for (size_t c = 0; c < width_; ++c, ++next_) {
      double& entry = entries_[place * width_ + c];
      if (is_new || std::isnan(entry)) entry = from_[next_];
      if (!view_.close(entry, from_[next_])) return false;
    }
    known_[place] = true;
    left_ -= is_new ? 1 : 0;
    return true;
  }
  void skip() { next_ += width_; }
  bool is_whole() const { return left_ == 0; }
  // NaN where none was put.
  std::vector<double> entries() && {
    for (size_t i = 0; i < entries_.size(); ++i)
      if (!known_[i / width_]) entries_[i] = std::numeric_limits<double>::quiet_NaN();
    return std::move(entries_);
  }

 private:
  const View& view_;
  const std::vector<double>& from_;
  size_t width_, next_ = 0;
  std::vector<double> entries_;
  std::vector<bool> known_;
  int64_t left_;
};

bool put_all(const View& view, size_t trace, const Formula& place, bool may_skip, ByPlace& to) {
  constexpr int64_t kFewRows = 4, kTimes = 16, kAtOnce = 1 << 16;
  int64_t inner = 1;
  Points points = all_places(view.growing, trace);
  std::vector<int64_t> dims;
  for (const Size& size : view.growing) dims.push_back(size.at[trace]);
  for (size_t axis = 1; axis < dims.size(); ++axis) inner *= dims[axis];
  points.positions.push_back({0});
  dims.push_back(1);
  const int64_t rows = view.growing[0].at[trace], step = std::max<int64_t>(1, kAtOnce / std::max<int64_t>(inner, 1));
  // The first few rows, and then more, tell most of what is no key.
  for (int64_t begin = 0, end = 0; begin < rows; begin = end) {
    end = std::min({rows, begin + step, std::max(kFewRows, kTimes * begin)});
    auto& positions = points.positions[0];
    positions.resize(static_cast<size_t>(end - begin));
    std::iota(positions.begin(), positions.end(), static_cast<double>(begin));
    dims[0] = end - begin;
    for (const double at : spread(evaluate(place, points), dims)) {
      if (may_skip && at == kSkipped) {
        to.skip();
      } else if (!(at >= 0) || !to.put(static_cast<int64_t>(at))) {
        return false;
      }
    }
  }
  return may_skip || to.is_whole();
}

// A table with these axes, of the view's entries.
View with_axes(const View& view, std::vector<Size> axes) {
  View out = view.without_entries();
  out.dims.clear();
  out.axes.clear();
  for (const Size& size : axes) {
    out.axes.push_back(out.dims.size());
    out.dims.push_back(size.dim);
  }
  if (view.width > 1) out.dims.emplace_back(view.width);
  out.sides.insert(out.sides.end(), view.growing.begin(), view.growing.end());
  out.growing = std::move(axes);
  return out;
}

}  // namespace

std::optional<View> by_key(const View& view, const Key& key, const Formula* only) {
  std::vector<Size> ranges;
  for (const Key::Part& part : key.parts) ranges.push_back(part.range);
  View out = with_axes(view, std::move(ranges));
  out.has_gaps = view.has_gaps || only;
  const Formula of_key = place_of(key), place = only ? choose(*only, of_key, Formula(kSkipped)) : of_key;
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto count = num_places(out.growing, k, view.width);
    if (!count) return std::nullopt;
    ByPlace entries(view, k, *count);
    if (!put_all(view, k, place, only != nullptr, entries)) return std::nullopt;
    out.entries[k] = std::move(entries).entries();
  }
  return out;
}

std::optional<Generated> at_key(Generated by_key, const View& view, const Key& key) {
  std::vector<Formula> places;
  for (const Key::Part& part : key.parts) places.push_back(part.formula);
  for (Part& part : by_key.parts) {
    const auto formula = substitute(part.formula, places, view.last_axis());
    if (!formula) return std::nullopt;
    part.formula = *formula;
  }
  by_key.description += ", " + key.name;
  return by_key;
}

std::optional<Generated> fit_at_keys(const Given& table, std::span<const Key> keys, Fit& fit) {
  const auto fit_at = [&](size_t way) {
    const auto by = by_key(table.view, keys[way]);
    auto found = by ? fit({*by, table.context, table.digits - 1}) : std::nullopt;
    return found ? at_key(std::move(*found), table.view, keys[way]) : std::nullopt;
  };
  FittedBefore* before = keys.size() > 1 ? table.context.before : nullptr;
  const uint64_t key = before ? FittedBefore::key_of(table.view, Ways::kKeys, keys.size()) : 0;
  return first_way(before, key, keys.size(), fit_at);
}

}  // namespace thaw::lifting
