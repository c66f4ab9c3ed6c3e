#include "thaw/lift/table/keys/separation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace thaw::lifting {

// Steps through the entries of a trace, by growing axis.
std::vector<size_t> strides_of(const View& view, size_t trace) {
  std::vector<size_t> strides(view.growing.size());
  auto stride = static_cast<size_t>(view.width);
  for (size_t axis = strides.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= static_cast<size_t>(view.growing[axis].at[trace]);
  }
  return strides;
}

// The columns [first, first + count) along some axes, at a place of the others in each trace. anchors: by trace, of each axis.
View columns_along(const View& view, int64_t first, int64_t count, const std::vector<size_t>& axes,
                   const std::vector<std::vector<size_t>>& anchors) {
  View out = view.without_entries();
  out.width = count;
  out.growing.clear();
  for (const size_t axis : axes) out.growing.push_back(view.growing[axis]);
  for (size_t k = 0; k < view.traces(); ++k) {
    const std::vector<size_t> strides = strides_of(view, k);
    std::vector<double>& entries = out.entries[k];
    const bool empty = view.entries[k].empty();
    std::vector<int64_t> at(axes.size(), 0);
    auto from = static_cast<size_t>(first);
    for (size_t axis = 0; axis < strides.size(); ++axis)
      if (std::ranges::find(axes, axis) == axes.end()) from += anchors[k][axis] * strides[axis];
    while (!empty) {
      for (int64_t c = 0; c < count; ++c) entries.push_back(view.entries[k][from + static_cast<size_t>(c)]);
      size_t axis = axes.size();
      while (axis-- > 0) {
        from += strides[axes[axis]];
        if (++at[axis] < out.growing[axis].at[k]) break;
        from -= strides[axes[axis]] * static_cast<size_t>(at[axis]);
        at[axis] = 0;
      }
      if (axis == static_cast<size_t>(-1)) break;
    }
  }
  return out;
}

namespace {

class Separation {
 public:
  Separation(const View& view, Through through, Steps steps)
      : view_(view), is_product_(through == Through::kLargest), steps_(is_product_ ? Steps::kNone : steps) {
    for (size_t k = 0; k < view.traces() && is_told_; ++k) {
      const auto& entries = view.entries[k];
      is_told_ = !entries.empty();
      if (!is_told_) break;
      const auto larger = [](double a, double b) { return std::abs(a) < std::abs(b); };
      auto at =
          static_cast<size_t>(is_product_ ? std::max_element(entries.begin(), entries.end(), larger) - entries.begin()
                              : through == Through::kMiddle ? static_cast<std::ptrdiff_t>(entries.size() / 2)
                                                            : std::ptrdiff_t{0});
      corners_.push_back(entries[at]);
      is_told_ = !is_product_ || corners_[k] != 0;
      auto& anchor = anchors_.emplace_back();
      for (const size_t stride : strides_of(view, k)) {
        anchor.push_back(at / stride);
        at %= stride;
      }
    }
  }

  std::optional<Generated> run(TableContext& context, Fit& fit_side) const {
    const std::vector<std::vector<size_t>> groups = is_told_ ? groups_of_axes() : std::vector<std::vector<size_t>>();
    if (groups.size() < 2) return std::nullopt;
    const std::vector<View> sides = sides_of(groups);
    std::string description;
    Formula formula;
    double turns = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      auto fit = fit_side({sides[i], context});
      if (!fit) return std::nullopt;
      turns = std::max(turns, fit->turns);
      std::vector<Formula> along;
      for (const size_t axis : groups[i]) along.push_back(position(static_cast<int>(axis)));
      const auto side = substitute(fit->formula(), along, view_.last_axis());
      if (!side) return std::nullopt;
      if (i == 0) {
        formula = *side;
      } else if (view_.kind == Kind::kTruth) {
        formula = both(formula, *side);
      } else {
        formula = is_product_ ? formula * *side : formula + *side;
      }
      description += fmt::format("{}({})", i == 0 ? "" : is_product_ ? " * " : " + ", fit->description);
    }
    auto fit = checked(view_, formula, std::move(description));
    if (fit) fit->turns = turns;
    return fit;
  }

 private:
  // Along the axes of each group, where the others are as they are at the anchor.
  std::vector<View> sides_of(const std::vector<std::vector<size_t>>& groups) const {
    std::vector<View> sides;
    for (const std::vector<size_t>& axes : groups) sides.push_back(columns_along(view_, 0, 1, axes, anchors_));
    const std::vector<int64_t> factors = factors_of(sides.front());
    for (size_t k = 0; k < view_.traces(); ++k) {
      const auto factor = static_cast<double>(factors[k]);
      const double rest = factor > 1 ? corners_[k] - std::floor(corners_[k] / factor) * factor : 0;
      for (double& entry : sides.front().entries[k]) entry -= rest;
      for (size_t i = 1; i < sides.size(); ++i)
        for (double& entry : sides[i].entries[k])
          entry = is_product_ ? entry / corners_[k] : entry - corners_[k] + (i == 1 ? rest : 0);
    }
    return sides;
  }

  // What all steps of a side are multiples of; 0 where it is of reals, or constant.
  std::vector<int64_t> factors_of(const View& side) const {
    constexpr double kMostExact = 9007199254740992.0;  // 2^53: a double tells larger integers no longer apart
    std::vector<int64_t> factors(side.traces(), 0);
    if (side.kind != Kind::kInteger || steps_ == Steps::kNone) return factors;
    for (size_t k = 0; k < side.traces(); ++k) {
      const auto& list = side.entries[k];
      for (const double entry : list) {
        if (!(std::abs(entry - list[0]) <= kMostExact)) return std::vector<int64_t>(side.traces(), 0);
        factors[k] = std::gcd(factors[k], static_cast<int64_t>(std::llround(entry - list[0])));
      }
    }
    int64_t common = 0;
    for (const int64_t factor : factors) common = std::gcd(common, factor);
    if (steps_ == Steps::kAlike) factors.assign(factors.size(), common);
    return factors;
  }

  // Axes of which one cannot be told without another are together: some of the entries tell.
  std::vector<std::vector<size_t>> groups_of_axes() const {
    constexpr size_t kFewEntries = 61;
    const size_t axes = view_.growing.size();
    std::vector<size_t> group(axes);
    for (size_t axis = 0; axis < axes; ++axis) group[axis] = axis;
    for (size_t k = 0; k < view_.traces(); ++k) {
      const std::vector<size_t> strides = strides_of(view_, k);
      const std::vector<double>& entries = view_.entries[k];
      const size_t step = std::max<size_t>(1, entries.size() / kFewEntries);
      for (size_t entry = 0; entry < entries.size(); entry += step) {
        // What the entry is without its place along an axis.
        const auto back = [&](size_t from, size_t axis) {
          const auto size = static_cast<size_t>(view_.growing[axis].at[k]);
          const size_t at = entry / strides[axis] % size;
          return from - at * strides[axis] + anchors_[k][axis] * strides[axis];
        };
        for (size_t a = 0; a < axes; ++a)
          for (size_t b = a + 1; b < axes; ++b) {
            if (group[a] == group[b]) continue;
            const double both = entries[entry], of_b = entries[back(entry, a)], of_a = entries[back(entry, b)],
                         none = entries[back(back(entry, a), b)];
            const bool is_apart =
                is_product_ ? view_.close(both * none, of_a * of_b) : view_.close(both + none, of_a + of_b);
            if (!is_apart) std::ranges::replace(group, group[b], group[a]);
          }
      }
    }
    std::vector<std::vector<size_t>> groups;
    for (size_t axis = 0; axis < axes; ++axis) {
      const auto known =
          std::ranges::find_if(groups, [&](const auto& each) { return group[each.front()] == group[axis]; });
      if (known == groups.end())
        groups.push_back({axis});
      else
        known->push_back(axis);
    }
    return groups;
  }

  const View& view_;
  bool is_product_, is_told_ = true;
  Steps steps_;
  std::vector<std::vector<size_t>> anchors_;  // by trace: the place on each axis
  std::vector<double> corners_;
};

}  // namespace

std::optional<Generated> fit_separate(const Given& table, Through through, Steps steps, Fit& fit_side) {
  return Separation(table.view, through, steps).run(table.context, fit_side);
}

}  // namespace thaw::lifting
