#include "thaw/lift/table/keys/counter.h"

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
int64_t period_of_runs(const View& view, size_t trace, int64_t column, int64_t run) {
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

// A size of a digit. What `bounds` has is no more than the least that it may be: a trace was too short for more. The others tell
// it then, unless a plain size gives all, as of a grid that had a single row.
std::optional<Size> solve_told(const std::vector<int64_t>& at, const std::vector<bool>& bounds, const View& view,
                               const Solver& solver) {
  if (std::ranges::find(bounds, true) == bounds.end()) return solve_count(at, view, solver);
  const auto plain = solver.solutions(at, 1);
  if (!plain.empty() && plain.front().rule <= Rule::kAround) return solve_count(at, view, solver);
  std::optional<int64_t> told;
  for (size_t k = 0; k < at.size(); ++k) {
    if (bounds[k]) continue;
    if (told && *told != at[k]) return std::nullopt;
    told = at[k];
  }
  if (!told || *std::ranges::max_element(at) > *told) return std::nullopt;
  return constant_size(*told, at.size());
}

// by_run: how long entries stay the same is a digit's; else every entry is one of its own, and they come again.
CounterPtr digit_of(const View& view, int64_t column, const Solver& solver, bool by_run) {
  std::vector<int64_t> runs;
  std::vector<bool> single, whole;  // traces of one run, of one period
  bool repeats = false, returns = false;
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t length = view.length().at[k];
    if (length == 0) return nullptr;
    const int64_t run = run_of(view, k, column);
    repeats |= run > 1;
    runs.push_back(by_run ? run : 1);
    single.push_back(by_run && run == length);
  }
  const auto run = solve_told(runs, single, view, solver);
  if (!run) return nullptr;
  // The end of one run in one trace may be anything else of that trace.
  constexpr int64_t kFewestEnds = 2;
  int64_t ends = 0;
  for (size_t k = 0; k < view.traces(); ++k) ends += (view.length().at[k] - 1) / run->at[k];
  if (by_run && run->dim.is_constant() && repeats && ends < kFewestEnds) return nullptr;
  std::vector<int64_t> periods, counts;
  for (size_t k = 0; k < view.traces(); ++k) {
    counts.push_back((view.length().at[k] + run->at[k] - 1) / run->at[k]);
    periods.push_back(period_of_runs(view, k, column, run->at[k]));
    whole.push_back(periods[k] == counts[k]);
    returns |= !whole[k];
  }
  if (by_run ? !repeats && !returns : !repeats || !returns) return nullptr;
  auto range = returns ? solve_told(periods, whole, view, solver) : solve_count(counts, view, solver);
  if (!range && !returns && run->dim.is_constant()) range = ceil_div(view.length(), *run);
  if (!range) return nullptr;
  Formula digit = position(0);
  std::string name = "index";
  if (by_run && repeats) {
    digit = digit / *run;
    name += fmt::format(" / {}", dim::to_string(run->dim));
  }
  if (returns) {
    digit = digit % *range;
    name += fmt::format(" % {}", dim::to_string(range->dim));
  }
  return std::make_shared<const Counter>(name, digit, view.length(), *range);
}

}  // namespace

std::vector<int64_t> Counter::counted(size_t trace, int64_t from, int64_t rows) const {
  Points points{.trace = trace, .positions = {std::vector<double>(static_cast<size_t>(rows))}};
  std::iota(points.positions[0].begin(), points.positions[0].end(), static_cast<double>(from));
  const Numbers all = evaluate(formula_, points);
  std::vector<int64_t> at(all.entries.begin(), all.entries.end());
  at.resize(static_cast<size_t>(rows), 0);  // of a counter that is a constant
  return at;
}

const std::vector<int64_t>& Counter::at(size_t trace) const {
  const auto [known, is_new] = known_.try_emplace(trace);
  if (is_new) known->second = counted(trace, 0, rows_.at[trace]);
  return known->second;
}

int64_t Counter::at_row(size_t trace, int64_t row) const {
  const auto known = known_.find(trace);
  return known == known_.end() ? counted(trace, row, 1).front() : known->second[static_cast<size_t>(row)];
}

const std::vector<int64_t>& Counter::of_few() const {
  constexpr int64_t kFew = 128;
  if (few_.empty()) few_ = counted(0, 0, std::min(kFew, rows_.at[0]));
  return few_;
}

std::vector<CounterPtr> digits_of(const View& view, int64_t column, const Solver& solver) {
  std::vector<CounterPtr> digits;
  // Two that are the same at first may be no more than that: [1, 1, 2] again and again.
  for (const bool by_run : {true, false})
    if (auto digit = digit_of(view, column, solver, by_run)) digits.push_back(std::move(digit));
  return digits;
}

}  // namespace thaw::lifting
