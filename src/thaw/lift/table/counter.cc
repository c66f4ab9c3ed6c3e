#include "thaw/lift/table/counter.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

// How many entries from the first on are the same.
int64_t run_of(const View& view, size_t trace, int64_t column) {
  const int64_t length = view.length().at[trace];
  int64_t end = 1;
  while (end < length && view.at(trace, end, column) == view.at(trace, 0, column)) ++end;
  return end;
}

// After how many runs the entries come again; all of them where they do not.
int64_t period_of(const View& view, size_t trace, int64_t column, int64_t run) {
  const int64_t length = view.length().at[trace], runs = (length + run - 1) / run;
  const auto entry = [&](int64_t i) { return view.at(trace, i * run, column); };
  for (int64_t period = 1; period < runs; ++period) {
    if (entry(period) != entry(0)) continue;
    int64_t i = period;
    while (i < runs && entry(i) == entry(i - period)) ++i;
    if (i == runs) return period;
  }
  return runs;
}

// by_run: how long entries stay the same is a digit's; else every entry is one of its own, and they come again.
CounterPtr digit_of(const View& view, int64_t column, const Solver& solver, bool by_run) {
  std::vector<int64_t> runs, periods, counts;
  bool repeats = false, returns = false;
  for (size_t k = 0; k < view.traces(); ++k) {
    if (view.length().at[k] == 0) return nullptr;
    const int64_t run = run_of(view, k, column);
    repeats |= run > 1;
    runs.push_back(by_run ? run : 1);
    counts.push_back((view.length().at[k] + runs[k] - 1) / runs[k]);
    periods.push_back(period_of(view, k, column, runs[k]));
    returns |= periods[k] < counts[k];
  }
  if (by_run ? !repeats && !returns : !repeats || !returns) return nullptr;
  const auto run = solve_size(runs, solver), period = solve_size(periods, solver), count = solve_size(counts, solver);
  if (!run || (returns && !period) || (!returns && !count)) return nullptr;
  Formula digit = position(0);
  std::string name = "index";
  if (by_run && repeats) {
    digit = digit / *run;
    name += fmt::format(" / {}", dim::to_string(run->dim));
  }
  if (returns) {
    digit = digit % *period;
    name += fmt::format(" % {}", dim::to_string(period->dim));
  }
  return std::make_shared<const Counter>(name, digit, view.length(), returns ? *period : *count);
}

}  // namespace

const std::vector<int64_t>& Counter::at(size_t trace) const {
  const auto [known, is_new] = known_.try_emplace(trace);
  if (is_new) {
    Points points{.trace = trace, .positions = {std::vector<double>(static_cast<size_t>(rows_.at[trace]))}};
    std::iota(points.positions[0].begin(), points.positions[0].end(), 0);
    const Numbers all = evaluate(formula_, points);
    known->second.assign(all.entries.begin(), all.entries.end());
    known->second.resize(points.positions[0].size(), 0);  // of a counter that is a constant
  }
  return known->second;
}

std::vector<CounterPtr> digits_of(const View& view, int64_t column, const Solver& solver) {
  std::vector<CounterPtr> digits;
  // Two that are the same at first may be no more than that: [1, 1, 2] again and again.
  for (const bool by_run : {true, false})
    if (auto digit = digit_of(view, column, solver, by_run)) digits.push_back(std::move(digit));
  return digits;
}

}  // namespace thaw::lifting
