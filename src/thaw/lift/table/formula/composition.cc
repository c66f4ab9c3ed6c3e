// Columns over a grid that are put together from a sequence along its rows and one along its columns.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "thaw/lift/table/keys/key.h"
#include "thaw/lift/table/keys/separation.h"
#include "thaw/lift/table/waves/wave.h"

namespace thaw::lifting {
namespace {

// Over rows and columns.
std::optional<Generated> fit_cells(const Given& cells) {
  if (auto fit = fit_separate(cells, Through::kFirst, Steps::kAlike, fit_sequence)) return fit;
  const bool real = cells.view.kind == Kind::kReal;
  return real ? fit_separate(cells, Through::kLargest, Steps::kNone, fit_sequence)
              : fit_separate(cells, Through::kFirst, Steps::kEach, fit_sequence);
}

std::optional<Generated> fit_in_any_way(const View& column, const Given& table) {
  constexpr int kCounterAndDigit = 2;
  const Given once(column, table.context, kCounterAndDigit);
  FittedBefore* before = table.context.before;
  const uint64_t key_as_it_is = FittedBefore::key_of(column, Ways::kSequences),
                 key_by_keys = FittedBefore::key_of(column, Ways::kKeys);
  // Of waves that may be slower ones by another key the slowest is taken, where nothing else is found.
  std::optional<Generated> slowest;
  const auto unless_slower = [&](std::optional<Generated> fit) {
    if (!fit || !fit->may_be_slower) return fit;
    if (!slowest || fit->turns < slowest->turns) slowest = std::move(fit);
    return std::optional<Generated>();
  };
  const auto fit_by_keys = [&] {
    const std::vector<CounterPtr>& counters = table.counters();
    const std::vector<LayoutPtr>& layouts = table.layouts();
    return first_way(before, key_by_keys, counters.size() + layouts.size(), [&](size_t way) {
      if (way < counters.size()) return unless_slower(fit_at_keys(once, {{key_of(*counters[way])}}, fit_sequence));
      const Layout& layout = *layouts[way - counters.size()];
      const bool is_grid = layout.is_grid() && column.kind != Kind::kTruth;
      return is_grid ? fit_at_keys(once, {{key_of(layout)}}, fit_cells) : std::nullopt;
    });
  };
  auto found = first_way(before, key_as_it_is, 2, [&](size_t way) {
    return way == 0 ? unless_slower(fit_sequence({column, table.context})) : fit_by_keys();
  });
  if (!found) found = std::move(slowest);
  // What turns no less often than one of which the entries do not tell is not told by them either.
  const std::optional<double>& open = table.context.open_turns;
  if (found && found->turns > 0 && open && *open <= found->turns) return std::nullopt;
  return found;
}

// Whether waves turn once, twice, three times and so on as often as the slowest: a column of 1 beside these is the one that turns not at all.
bool are_harmonics(std::vector<double> turns) {
  constexpr double kNear = 1e-4;
  const auto are_near = [](double a, double b) { return std::abs(a - b) <= kNear * b; };
  std::ranges::sort(turns);
  turns.erase(std::unique(turns.begin(), turns.end(), are_near), turns.end());
  for (size_t k = 0; k < turns.size(); ++k)
    if (!are_near(turns[k], static_cast<double>(k + 1) * turns.front())) return false;
  return turns.size() > 1;
}

bool is_steady(const View& column) {
  std::optional<double> first;
  for (const std::vector<double>& entries : column.entries)
    for (const double entry : entries) {
      if (!first) first = entry;
      if (!column.close(entry, *first)) return false;
    }
  return true;
}

using FitColumn = std::function<std::optional<Generated>(const View&)>;

std::optional<Generated> each_column(const View& view, TableContext& context, const FitColumn& fit_one) {
  const bool may_be_slow = has_slow_wave(view);
  // Columns that come again are the same nodes.
  struct Known {
    View column;
    std::optional<Generated> fit;
    size_t beside = 0;  // of how many turns waves of the table were known by then
  };
  std::vector<Known> known;
  std::vector<size_t> of_column;
  std::vector<double>& turns = context.turns;
  turns.clear();
  const auto fit = [&](Known& one) {
    context.open_turns.reset();
    one.fit = fit_one(one.column);
    const bool is_wave = one.fit && one.fit->turns > 0;
    if (is_wave && std::ranges::find(turns, one.fit->turns) == turns.end()) turns.push_back(one.fit->turns);
    one.beside = turns.size();
  };
  for (int64_t c = 0; c < view.width; ++c) {
    Known one{column_of(view, c), {}};
    const auto again =
        std::ranges::find_if(known, [&](const Known& other) { return other.column.entries == one.column.entries; });
    of_column.push_back(static_cast<size_t>(again - known.begin()));
    if (again != known.end()) continue;
    fit(one);
    if (!one.fit && !context.open_turns) return std::nullopt;
    if (may_be_slow && one.fit && one.fit->turns == 0 && !is_steady(one.column)) return std::nullopt;
    known.push_back(std::move(one));
  }
  // Waves that are not told by themselves, once the others of the table are known; then all, as one of another frequency may give their entries.
  for (Known& one : known)
    if (!one.fit) fit(one);
  for (Known& one : known) {
    if (one.fit && one.fit->turns > 0 && one.beside < turns.size()) fit(one);
    if (!one.fit) return std::nullopt;
  }
  if (may_be_slow && !are_harmonics(turns)) return std::nullopt;
  Generated out;
  for (size_t c = 0; c < of_column.size(); ++c) {
    if (c == 0) out.description = known[of_column[c]].fit->description;
    if (c > 0 && of_column[c] == of_column[c - 1])
      ++out.parts.back().columns;
    else
      out.parts.push_back({known[of_column[c]].fit->formula(), 1});
  }
  return out;
}

}  // namespace

std::optional<Generated> fit_lines(const Given& table) {
  return each_column(table.view, table.context, [&](const View& column) { return fit_line({column, table.context}); });
}

std::optional<Generated> fit_lines_of_cells(const Given& table) {
  std::vector<Key> keys;
  for (const LayoutPtr& layout : table.layouts())
    if (layout->is_grid())
      for (const Counter* counter : {&layout->row(), &layout->column()}) keys.push_back(key_of(*counter));
  return each_column(table.view, table.context, [&](const View& column) {
    const Given given(column, table.context);
    auto fit = fit_columns_by(given, table.counters());
    return fit ? fit : fit_at_keys(given, keys, fit_whole_line);
  });
}

std::optional<Generated> fit_sequences(const Given& table) {
  return each_column(table.view, table.context, [&](const View& column) { return fit_in_any_way(column, table); });
}

}  // namespace thaw::lifting
