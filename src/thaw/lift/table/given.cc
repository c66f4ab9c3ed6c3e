// How the rows of a list may be counted.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/keys/key.h"

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

}  // namespace

Layouts& layouts_of(const Size& length, TableContext& context) {
  std::shared_ptr<Layouts>& known = context.layouts[length.at];
  if (!known) known = std::make_shared<Layouts>(length, context.solver, context.grids);
  return *known;
}

const std::vector<LayoutPtr>& Given::layouts() const {
  if (layouts_) return *layouts_;
  Layouts& of_length = layouts_of(view.length(), context);
  layouts_ = of_length.plain_and_grids();
  for (const int64_t window : possible_windows(view))
    std::ranges::copy(of_length.windows(window), std::back_inserter(*layouts_));
  return *layouts_;
}

const std::vector<CounterPtr>& Given::counters() const {
  if (counters_) return *counters_;
  counters_.emplace();
  for (const LayoutPtr& layout : layouts()) std::ranges::copy(layout->counters(), std::back_inserter(*counters_));
  for (const int64_t column : {int64_t{0}, view.width - 1})
    if (column >= 0) std::ranges::move(digits_told_by(column), std::back_inserter(*counters_));
  return *counters_;
}

std::vector<CounterPtr> Given::digits_told_by(int64_t column) const {
  std::vector<CounterPtr> found = digits_of(view, column, context.solver);
  const auto is_number = [](const CounterPtr& digit) { return digit->range().dim.is_constant(); };
  if (std::ranges::all_of(found, is_number)) return found;
  // Where a digit is as long as a side of the table's grid in some traces and not in others, the column comes again there by chance.
  const View one = column_of(view, column);
  for (const LayoutPtr& layout : layouts()) {
    if (!layout->is_grid()) continue;
    for (const Counter* counter : {&layout->row(), &layout->column()}) {
      const auto is_by_chance = [&](const CounterPtr& digit) {
        const std::vector<int64_t>&own = digit->range().at, &side = counter->range().at;
        return !is_number(digit) && own != side &&
               std::ranges::mismatch(own, side, std::not_equal_to()).in1 != own.end();
      };
      if (std::ranges::any_of(found, is_by_chance) && by_key(one, key_of(*counter))) std::erase_if(found, is_by_chance);
    }
  }
  return found;
}

const std::vector<CounterPtr>& Given::distances() const {
  if (distances_) return *distances_;
  distances_.emplace();
  if (view.kind != Kind::kReal || view.traces() < 2) return *distances_;
  const auto add = [&](std::string name, const Formula& formula, const Size& range) {
    distances_->push_back(std::make_shared<const Counter>(std::move(name), formula, view.length(), range));
  };
  // Positions relative to the last one, or to the middle of a list of all distances.
  const auto from = [&](std::string name, const Size& zero) {
    add(std::move(name), zero - position(0), view.length());
  };
  const Size one = constant_size(1, view.traces()), two = constant_size(2, view.traces());
  from("rows to the last", view.length() - one);
  const auto is_even = [](int64_t length) { return length % 2 == 0; };
  if (std::ranges::all_of(view.length().at, is_even)) {
    from("distance from the middle", view.length() / two);
    from("distance from before the middle", view.length() / two - one);
  } else if (std::ranges::none_of(view.length().at, is_even)) {
    from("distance from the middle", (view.length() - one) / two);
  }
  const auto behind = [&](const std::string& text, const Size& before) {
    add("index + " + text, position(0) + before, view.length() + before);
  };
  // Positions that do not begin at 0, as those behind ids of padding.
  behind("1", one);
  behind("2", two);
  add_late_counters(view, *distances_);
  // Positions behind a past: tokens that come after those of a cache.
  for (const Variable& past : context.variables)
    if (past.kind == Variable::Kind::kDim && past.varies() && past.at != view.length().at)
      behind(dim::to_string(past.symbol), {past.symbol, past.at});
  return *distances_;
}

}  // namespace thaw::lifting
