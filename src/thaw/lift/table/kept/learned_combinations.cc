// Wide tables whose columns are learned combinations of a few: what the first layer of an MLP makes of coordinates (continuous position
// biases of Swin v2 and of timm's relpos models), which today's exporter folds. A few columns tell all others, in all traces alike; only
// these are fitted.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/kept/linear_sums.h"
#include "thaw/lift/table/waves/wave.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostSources = 3;              // coordinates of a clip
constexpr int64_t kMostCombinedWork = 1 << 24;  // entries that are looked at
constexpr double kLeastOfSource = 1e-3;  // of the widest column: what is narrower may be a curve that looks straight

// Some rows of all traces, column by column, each without its mean.
struct Samples {
  size_t rows = 0;
  std::vector<std::vector<double>> columns;
  std::vector<double> means;
  double scale = 0;  // the largest entry
};

Samples samples_of(const View& view) {
  const auto width = static_cast<size_t>(view.width);
  size_t rows = 0;
  for (const auto& entries : view.entries) rows += entries.size() / width;
  const size_t step = 1 + rows * width / static_cast<size_t>(kMostCombinedWork);
  Samples out;
  out.columns.resize(width);
  size_t row = 0;
  for (const auto& entries : view.entries) {
    for (size_t at = 0; at < entries.size(); at += width, ++row) {
      if (row % step != 0) continue;
      ++out.rows;
      for (size_t c = 0; c < width; ++c) {
        out.columns[c].push_back(entries[at + c]);
        out.scale = std::max(out.scale, std::abs(entries[at + c]));
      }
    }
  }
  for (std::vector<double>& column : out.columns) {
    const double mean = std::accumulate(column.begin(), column.end(), 0.0) / static_cast<double>(out.rows);
    out.means.push_back(mean);
    for (double& entry : column) entry -= mean;
  }
  return out;
}

double largest(const std::vector<double>& column) {
  double most = 0;
  for (const double entry : column) most = std::max(most, std::abs(entry));
  return most;
}

// How many rows differ, counted up to one more than these.
size_t rows_apart(const View& view, size_t most) {
  const auto width = static_cast<size_t>(view.width);
  std::set<std::vector<double>> apart;
  for (const auto& entries : view.entries)
    for (auto row = entries.begin(); row != entries.end() && apart.size() <= most; row += view.width)
      apart.emplace(row, row + static_cast<std::ptrdiff_t>(width));
  return apart.size();
}

// The columns that give all others: weights[s][c] of source s in column c, and what is added to the sum.
struct Combination {
  std::vector<size_t> sources;
  std::vector<std::vector<double>> weights;
  std::vector<double> added;
};

// Gram and Schmidt's way, the column next that is farthest from those before it.
std::optional<Combination> combination_of(Samples samples) {
  std::vector<std::vector<double>>& rest = samples.columns;  // of each, what is orthogonal to the sources so far
  const size_t width = rest.size();
  std::vector<std::vector<double>> shares;  // shares[s][c]: of what source s brings, at length 1, in column c
  Combination out;
  double widest = 0;
  for (;;) {
    size_t farthest = 0;
    double most = 0;
    for (size_t c = 0; c < width; ++c)
      if (const double far = largest(rest[c]); far > most) std::tie(farthest, most) = std::pair(c, far);
    if (out.sources.empty()) widest = most;
    if (most <= kMostUnequal * samples.scale) break;
    if (most < kLeastOfSource * widest || out.sources.size() == kMostSources) return std::nullopt;
    std::vector<double> unit = rest[farthest];
    const double length = std::sqrt(dot(unit, unit));
    for (double& entry : unit) entry /= length;
    std::vector<double>& share = shares.emplace_back();
    for (std::vector<double>& column : rest) {
      share.push_back(dot(unit, column));
      for (size_t i = 0; i < column.size(); ++i) column[i] -= share.back() * unit[i];
    }
    out.sources.push_back(farthest);
  }
  if (out.sources.empty()) return std::nullopt;
  // Of the orthogonal ones to the columns themselves, from the last on.
  const size_t count = out.sources.size();
  out.weights.assign(count, std::vector<double>(width, 0));
  for (size_t c = 0; c < width; ++c) {
    double added = samples.means[c];
    for (size_t s = count; s-- > 0;) {
      double left = shares[s][c];
      for (size_t later = s + 1; later < count; ++later) left -= shares[s][out.sources[later]] * out.weights[later][c];
      out.weights[s][c] = left / shares[s][out.sources[s]];
      added -= out.weights[s][c] * samples.means[out.sources[s]];
    }
    out.added.push_back(std::abs(added) <= kMostUnequal * samples.scale ? 0 : added);
  }
  return out;
}

std::optional<Generated> fit_source(const Given& column) {
  return column.view.growing.size() > 1 ? fit_together(column) : fit_rows(column);
}

}  // namespace

std::optional<Generated> fit_learned_combinations(const Given& table) {
  const View& view = table.view;
  for (const auto& entries : view.entries)
    if (!std::ranges::all_of(entries, [](double entry) { return std::isfinite(entry); })) return std::nullopt;
  // Slow cosines are combinations of each other as far as the traces go.
  if (view.growing.size() == 1 && has_slow_wave(view)) return std::nullopt;
  const auto combination = combination_of(samples_of(view));
  // Any few rows are combinations of as many columns less one.
  if (!combination || rows_apart(view, combination->sources.size() + 1) <= combination->sources.size() + 1)
    return std::nullopt;
  const int columns = view.last_axis();
  Formula sum;
  std::vector<std::string> made;
  for (size_t s = 0; s < combination->sources.size(); ++s) {
    const View column = column_of(view, static_cast<int64_t>(combination->sources[s]));
    auto source = fit_source({column, table.context});
    if (!source) return std::nullopt;
    const Formula term = source->formula() * numbers(combination->weights[s], Kind::kReal, columns);
    sum = sum ? sum + term : term;
    made.push_back(std::move(source->description));
  }
  if (std::ranges::any_of(combination->added, [](double added) { return added != 0; }))
    sum = sum + numbers(combination->added, Kind::kReal, columns);
  if (!holds(view, sum, 0, view.width)) return std::nullopt;
  return Generated{fmt::format("{} learned combinations of {}", view.width, fmt::join(made, "; ")), sum, view.width};
}

}  // namespace thaw::lifting
