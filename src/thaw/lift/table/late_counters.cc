// Positions that do not count from 0: what the sinusoids of a decoder say that goes on behind a context, or of pooled
// rows.
#include <cmath>

#include <fmt/format.h>

#include "thaw/lift/table/counter.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kLongestContext = 1 << 13;
constexpr double kClose = 1e-5;  // of what float32 keeps of a sine

// How many positions were before the first row: those after which a column's entries are the sines, or cosines, of all.
std::optional<int64_t> positions_before(const View& view) {
  constexpr int64_t kFewestRows = 6;
  constexpr int64_t kKnown = 3;  // shorter ones have counters already
  for (size_t k = 0; k < view.traces(); ++k)
    if (view.length().at[k] < kFewestRows) return std::nullopt;
  for (const int64_t column : {int64_t{0}, view.width / 2, view.width - 1}) {
    for (const bool sine : {true, false}) {
      for (int64_t before = kKnown; before <= kLongestContext; ++before) {
        int64_t row = 0;
        const auto is_wave = [&](int64_t r) {
          const auto at = static_cast<double>(before + r);
          return std::abs(view.at(0, r, column) - (sine ? std::sin(at) : std::cos(at))) <= kClose;
        };
        while (row < view.length().at[0] && is_wave(row)) ++row;
        if (row == view.length().at[0]) return before;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void add_late_counters(const View& view, std::vector<CounterPtr>& counters) {
  if (view.width == 0) return;
  if (const auto before = positions_before(view)) {
    const Size begin = constant_size(*before, view.traces());
    counters.push_back(std::make_shared<const Counter>(fmt::format("index + {}", *before), position(0) + begin,
                                                       view.length(), view.length() + begin));
  }
  // Every second or fourth of the positions behind a first row, which is kept when they are pooled (Funnel).
  for (const int64_t step : {2, 4}) {
    const Formula pooled = larger(position(0) * Formula(step) - Formula(step - 1), Formula(0));
    const Size by = constant_size(step, view.traces());
    counters.push_back(std::make_shared<const Counter>(fmt::format("{} * index behind a first", step), pooled,
                                                       view.length(), view.length() * by));
  }
}

}  // namespace thaw::lifting
