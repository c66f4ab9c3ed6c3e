// Cosines and sines of places, of one family of frequencies: the positions of DETR and its kin (Carion et al. 2020), whose slow ones hardly
// turn, so that by themselves they tell neither how often they do nor what they count.
//
// The fast columns tell by what each counts, and its frequency; the family tells the others.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/waves/frequencies.h"
#include "thaw/lift/table/waves/spans.h"
#include "thaw/lift/table/waves/wave.h"

namespace thaw::lifting {
namespace {

// What the rows are counted by; of a grid, how long the longer of its sides is.
struct WaveCounter {
  CounterPtr counter;
  std::optional<Size> longer = {};
};

// How a counter is looked at: as it is, or as places between two ends, of its own range or of the longer side.
struct Scale {
  const Span* span = nullptr;
  bool is_of_longer = false;
};

// What a wave goes by.
struct Coordinate {
  const WaveCounter* of = nullptr;
  Scale scale;

  const Counter& counter() const { return *of->counter; }
  const Size& length() const { return scale.is_of_longer ? *of->longer : counter().range(); }
  double at(int64_t count, int64_t length) const {
    return scale.span ? scale.span->at(count, length) : static_cast<double>(count);
  }
  Formula formula() const {
    return scale.span ? place_in(*scale.span, counter().formula(), length()) : as_real(counter().formula());
  }
  std::string describe() const {
    return scale.span ? fmt::format("{} of {}, by {}", scale.span->name, dim::to_string(length().dim), counter().name())
                      : counter().name();
  }
};

// A column by a counter: where it is, the entry, in each trace; NaN where it is nowhere.
using ByCount = std::vector<std::vector<double>>;

std::optional<ByCount> by_count(const View& view, int64_t column, const Counter& counter) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  ByCount values(view.traces());
  for (size_t k = 0; k < view.traces(); ++k) {
    const int64_t range = counter.range().at[k];
    const std::vector<int64_t>& at = counter.at(k);
    values[k].assign(static_cast<size_t>(std::max<int64_t>(range, 0)), kNone);
    for (size_t row = 0; row < at.size(); ++row) {
      if (at[row] < 0 || at[row] >= range) return std::nullopt;
      double& known = values[k][static_cast<size_t>(at[row])];
      const double entry = view.at(k, static_cast<int64_t>(row), column);
      if (std::isnan(known)) known = entry;
      if (!view.close(known, entry)) return std::nullopt;
    }
  }
  return values;
}

// Rising.
std::vector<Sample> samples_of(const ByCount& values, const Coordinate& coordinate) {
  std::vector<Sample> samples;
  for (size_t k = 0; k < values.size(); ++k)
    for (size_t i = 0; i < values[k].size(); ++i)
      if (!std::isnan(values[k][i]))
        samples.push_back({coordinate.at(static_cast<int64_t>(i), coordinate.length().at[k]), values[k][i]});
  std::ranges::sort(samples, {}, [](const Sample& sample) { return std::pair(sample.x, sample.entry); });
  return samples;
}

bool gives_all(const View& view, const std::vector<Sample>& samples, bool sine, double step) {
  const Wave wave = wave_of(sine, step);
  return std::ranges::all_of(samples, [&](const Sample& sample) {
    return is_near_wave(view, sample.entry, wave.at(sample.x), step * sample.x);
  });
}

// How far the true step may be from a known one.
double within(const View& view, const KnownStep& known) { return 2 * view.tolerance / known.weight; }

struct ColumnWave {
  bool sine = false;
  KnownStep known = {};  // of no weight where the column hardly turns
};

std::optional<ColumnWave> wave_in(const View& view, const std::vector<Sample>& samples) {
  constexpr double kBadly = 0.1;
  std::vector<Sample> above;
  std::ranges::copy_if(samples, std::back_inserter(above), [](const Sample& sample) { return sample.x > 0; });
  if (above.size() < 2) return std::nullopt;
  for (const bool sine : {true, false}) {
    const Angle angle = angle_of(above, sine);
    const KnownStep known{angle.step, angle.weight};
    if (known.weight == 0 || within(view, known) > kBadly * std::abs(known.step)) continue;
    if (gives_all(view, samples, sine, angle.step)) return ColumnWave{sine, known};
  }
  return std::nullopt;
}

// The columns that are waves by one counter.
struct ByOneCounter {
  const WaveCounter* counter;
  std::vector<Scale> scales;  // by each of which all of them are
  std::vector<size_t> columns = {};
  Coordinate coordinate() const { return {counter, scales.front()}; }
};

class WaveFamilies {
 public:
  // over_longer: what another axis of the table tells of it.
  WaveFamilies(const View& view, const std::vector<WaveCounter>& counters, std::optional<bool> over_longer)
      : view_(view),
        counters_(counters),
        over_longer_(over_longer),
        waves_(static_cast<size_t>(view.width)),
        of_column_(static_cast<size_t>(view.width)) {}

  // Whether all columns are waves that something tells.
  bool tell() { return find_counters() && follow_neighbours() && find_families(); }

  // Where it is told.
  std::optional<bool> over_longer() const { return over_longer_; }

  std::vector<Part> parts() const {
    std::vector<Part> parts;
    for (size_t begin = 0, end = 0; begin < waves_.size(); begin = end) {
      end = begin + 1;
      while (end < waves_.size() && of_column_[end] == of_column_[begin]) ++end;
      std::vector<double> steps, sines;
      for (size_t j = begin; j < end; ++j) {
        steps.push_back(waves_[j].known.step);
        sines.push_back(waves_[j].sine ? 1 : 0);
      }
      const int axis = view_.last_axis();
      const Formula place = place_of(groups_[*of_column_[begin]].coordinate()),
                    angles = place * numbers(std::move(steps), Kind::kReal, axis);
      const bool are_alike = std::ranges::adjacent_find(sines, std::not_equal_to()) == sines.end();
      const Formula waves = are_alike
                                ? (sines.front() != 0 ? sine(angles) : cosine(angles))
                                : choose(numbers(std::move(sines), Kind::kTruth, axis), sine(angles), cosine(angles));
      parts.push_back({waves, static_cast<int64_t>(end - begin)});
    }
    return parts;
  }

  std::string describe() const {
    const std::string place = groups_.front().coordinate().describe();
    if (families_.empty()) return fmt::format("cos and sin of multiples of {}", place);
    return fmt::format("cos and sin of {:.6g} and powers of {:g} times {}", families_.front().first,
                       families_.front().base, place);
  }

 private:
  // A side that is the longer in every trace is known where it is.
  Formula place_of(const Coordinate& coordinate) const {
    const auto& longer = coordinate.of->longer;
    if (!coordinate.scale.span || !longer || over_longer_) return coordinate.formula();
    return within(coordinate.formula(), {{longer->dim, coordinate.length().dim}});
  }

  double spread_of(size_t column) const {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (size_t k = 0; k < view_.traces(); ++k)
      for (int64_t row = 0; row < view_.length().at[k]; ++row) {
        low = std::min(low, view_.at(k, row, static_cast<int64_t>(column)));
        high = std::max(high, view_.at(k, row, static_cast<int64_t>(column)));
      }
    return high - low;
  }

  // The columns that turn most come first: they tell most of what others may count.
  bool find_counters() {
    constexpr double kFlat = 10;  // tolerances
    std::vector<std::pair<double, size_t>> columns;
    for (size_t column = 0; column < waves_.size(); ++column)
      if (const double spread = spread_of(column); spread > kFlat * view_.tolerance)
        columns.emplace_back(-spread, column);
    std::ranges::sort(columns);
    for (const auto& [spread, column] : columns)
      if (!add_to_group(column) && !begin_group(column)) return false;
    return !groups_.empty() && take_one_length() &&
           std::ranges::all_of(groups_, [&](const ByOneCounter& group) { return is_told(group); });
  }

  bool add_to_group(size_t column) {
    for (size_t i = 0; i < groups_.size(); ++i) {
      std::vector<Scale> scales = scales_that_give(column, *groups_[i].counter, groups_[i].scales);
      if (scales.empty()) continue;
      groups_[i].scales = std::move(scales);
      groups_[i].columns.push_back(column);
      of_column_[column] = i;
      return true;
    }
    return false;
  }

  bool begin_group(size_t column) {
    for (const WaveCounter& counter : counters_) {
      std::vector<Scale> all{{}};
      for (const bool is_of_longer : {false, true})
        for (const Span& span : all_spans())
          if (!is_of_longer || counter.longer) all.push_back({&span, is_of_longer});
      std::vector<Scale> scales = scales_that_give(column, counter, all);
      if (scales.empty()) continue;
      of_column_[column] = groups_.size();
      groups_.push_back({&counter, std::move(scales), {column}});
      return true;
    }
    return false;
  }

  std::vector<Scale> scales_that_give(size_t column, const WaveCounter& counter,
                                      const std::vector<Scale>& among) const {
    std::vector<Scale> found;
    if (const auto values = by_count(view_, static_cast<int64_t>(column), *counter.counter))
      std::ranges::copy_if(among, std::back_inserter(found), [&](const Scale& scale) {
        return wave_in(view_, samples_of(*values, {&counter, scale})).has_value();
      });
    return found;
  }

  // All are over their own length, or all over the longer side. Where no column tells which, and no other axis, it is their own: place_of.
  bool take_one_length() {
    const auto all_may_be = [&](bool is_of_longer) {
      return std::ranges::all_of(groups_, [&](const ByOneCounter& group) {
        return std::ranges::any_of(group.scales, [&](const Scale& each) { return each.is_of_longer == is_of_longer; });
      });
    };
    const bool may_be_own = all_may_be(false), may_be_longer = all_may_be(true);
    const bool is_of_longer = may_be_own && may_be_longer ? over_longer_.value_or(false) : may_be_longer;
    const auto is_of_grid = [](const ByOneCounter& group) {
      return group.counter->longer && std::ranges::any_of(group.scales, [](const Scale& each) { return each.span; });
    };
    if (may_be_own != may_be_longer && std::ranges::any_of(groups_, is_of_grid)) over_longer_ = is_of_longer;
    for (ByOneCounter& group : groups_)
      std::erase_if(group.scales, [&](const Scale& each) { return each.is_of_longer != is_of_longer; });
    return std::ranges::none_of(groups_, [](const ByOneCounter& group) { return group.scales.empty(); });
  }

  std::vector<Sample> samples(size_t column, const Coordinate& coordinate) const {
    const auto values = by_count(view_, static_cast<int64_t>(column), coordinate.counter());
    return values ? samples_of(*values, coordinate) : std::vector<Sample>();
  }

  // Where several scales give all columns of a counter, and something else elsewhere, nothing tells which.
  bool is_told(const ByOneCounter& group) const {
    return std::ranges::all_of(std::span(group.scales).subspan(1), [&](const Scale& scale) {
      const Coordinate one = group.coordinate(), other{group.counter, scale};
      return std::ranges::all_of(group.columns, [&](size_t column) {
        const auto a = wave_in(view_, samples(column, one)), b = wave_in(view_, samples(column, other));
        return a && b && are_same(*a, one, *b, other);
      });
    });
  }

  // Told by lengths around those of the traces.
  static bool are_same(const ColumnWave& a, const Coordinate& of_a, const ColumnWave& b, const Coordinate& of_b) {
    constexpr double kNear = 1e-3;
    constexpr int64_t kLengths = 8;
    const int64_t longest = std::ranges::max(of_a.length().at);
    const auto at = [](const ColumnWave& wave, const Coordinate& of, int64_t i, int64_t length) {
      return wave_of(wave.sine, wave.known.step).at(of.at(i, length));
    };
    for (int64_t length = longest + 1; length <= longest + kLengths; ++length)
      for (int64_t i = 0; i < length; ++i)
        if (std::abs(at(a, of_a, i, length) - at(b, of_b, i, length)) > kNear) return false;
    return true;
  }

  // What hardly turns counts what the columns beside it do.
  bool follow_neighbours() {
    const auto follow = [&](size_t j, size_t neighbour) {
      if (of_column_[j] || !of_column_[neighbour]) return;
      of_column_[j] = of_column_[neighbour];
      groups_[*of_column_[j]].columns.push_back(j);
      waves_[j].sine = std::abs(view_.at(0, 0, static_cast<int64_t>(j))) < 0.5;
    };
    for (size_t j = 1; j < waves_.size(); ++j) follow(j, j - 1);
    for (size_t j = waves_.size() - 1; j-- > 0;) follow(j, j + 1);
    return std::ranges::all_of(of_column_, [](const auto& group) { return group.has_value(); });
  }

  bool find_families() {
    for (ByOneCounter& group : groups_) {
      std::ranges::sort(group.columns);
      const Coordinate coordinate = group.coordinate();
      std::vector<KnownStep> known;
      std::vector<std::vector<Sample>> all;
      for (const size_t column : group.columns) {
        all.push_back(samples(column, coordinate));
        if (const auto wave = wave_in(view_, all.back())) waves_[column] = *wave;
        known.push_back(waves_[column].known);
      }
      if (!std::ranges::all_of(known, [&](const KnownStep& each) { return is_sampled(each, coordinate); }))
        return false;
      const auto gives_columns = [&](const std::vector<double>& steps) {
        for (size_t i = 0; i < all.size(); ++i)
          if (!gives_all(view_, all[i], waves_[group.columns[i]].sine, steps[i])) return false;
        return are_paired(group.columns, known, steps);
      };
      const auto steps = first_steps(group.columns, known, gives_columns);
      if (!steps) return false;
      for (size_t i = 0; i < all.size(); ++i) waves_[group.columns[i]].known.step = (*steps)[i];
    }
    return true;
  }

  // Whether the steps of the longest trace are no more than a quarter of a turn: else a slower wave may give the same entries.
  static bool is_sampled(const KnownStep& known, const Coordinate& coordinate) {
    constexpr double kQuarter = std::numbers::pi / 2;
    const Span* span = coordinate.scale.span;
    const int64_t longest = std::ranges::max(coordinate.length().at);
    return !span || std::abs(known.step) * static_cast<double>(span->of) <= kQuarter * span->under(longest);
  }

  // By a family, of this counter or, of a shorter side, of another one; else each cosine by the sine of its place among these.
  std::optional<std::vector<double>> first_steps(const std::vector<size_t>& columns,
                                                 const std::vector<KnownStep>& known,
                                                 const std::function<bool(const std::vector<double>&)>& gives_columns) {
    std::vector<Family> families = possible_families(known);
    for (const Family& other : families_)
      if (other.width <= columns.size()) families.push_back(other);
    for (const Family& family : families) {
      std::vector<double> steps;
      for (size_t i = 0; i < columns.size(); ++i) steps.push_back(family.at(i));
      if (!gives_columns(steps)) continue;
      families_.push_back(family);
      return steps;
    }
    auto steps = steps_of_pairs(columns, known);
    return steps && gives_columns(*steps) ? std::move(steps) : std::nullopt;
  }

  std::optional<std::vector<double>> steps_of_pairs(const std::vector<size_t>& columns,
                                                    const std::vector<KnownStep>& known) const {
    std::vector<size_t> sines, cosines;
    for (size_t i = 0; i < columns.size(); ++i) (waves_[columns[i]].sine ? sines : cosines).push_back(i);
    if (sines.size() != cosines.size()) return std::nullopt;
    std::vector<double> steps(columns.size());
    for (size_t j = 0; j < sines.size(); ++j) {
      const KnownStep &one = known[sines[j]], &other = known[cosines[j]],
                      &better = one.weight < other.weight ? other : one;
      if (better.weight == 0) return std::nullopt;
      steps[sines[j]] = steps[cosines[j]] = better.step;
    }
    return steps;
  }

  // Whether each column that hardly turns has a cosine or sine of the same step: without, it may as well count something else.
  bool are_paired(const std::vector<size_t>& columns, const std::vector<KnownStep>& known,
                  const std::vector<double>& steps) const {
    if (std::ranges::none_of(known, [](const KnownStep& each) { return each.weight == 0; })) return true;
    std::vector<double> of_sines, of_cosines;
    for (size_t i = 0; i < columns.size(); ++i) (waves_[columns[i]].sine ? of_sines : of_cosines).push_back(steps[i]);
    std::ranges::sort(of_sines);
    std::ranges::sort(of_cosines);
    return of_sines == of_cosines;
  }

  const View& view_;
  const std::vector<WaveCounter>& counters_;
  std::optional<bool> over_longer_;
  std::vector<ColumnWave> waves_;                 // by column
  std::vector<std::optional<size_t>> of_column_;  // its group
  std::vector<ByOneCounter> groups_;
  std::vector<Family> families_;
};

std::vector<WaveCounter> wave_counters(const Given& table) {
  std::vector<WaveCounter> counters;
  for (const LayoutPtr& layout : table.layouts())
    for (const CounterPtr& counter : layout->counters()) {
      counters.push_back({counter});
      if (layout->is_grid()) counters.back().longer = larger_of(layout->height(), layout->width());
    }
  // A side of a grid by itself.
  const std::vector<Size>& sides = table.view.sides;
  if (sides.size() == 2 && !counters.empty() && !counters.front().longer)
    counters.front().longer = larger_of(sides[0], sides[1]);
  for (const CounterPtr& counter : table.counters())
    if (std::ranges::find(counters, counter, &WaveCounter::counter) == counters.end()) counters.push_back({counter});
  return counters;
}

bool has_empty(const View& list) {
  return std::ranges::any_of(list.length().at, [](int64_t length) { return length == 0; });
}

// Whether it gives the table, as it is written.
bool gives(const View& view, const Generated& generated) {
  int64_t column = 0;
  return std::ranges::all_of(generated.parts, [&](const Part& part) {
    const int64_t first = std::exchange(column, column + part.columns);
    return holds(view, part.formula, first, part.columns);
  });
}

// How high waves are: the squares of a cosine and a sine of one angle add up to that of it in every row.
std::optional<double> height_of_pair(const View& view) {
  constexpr double kNear = 1e-5, kParts = 1000, kWritten = 1e-6;
  for (int64_t other = 1; other < view.width; ++other) {
    double first = 0, sum = 0, count = 0;
    bool is_it = true;
    for (size_t k = 0; k < view.traces() && is_it; ++k)
      for (int64_t row = 0; row < view.length().at[k] && is_it; ++row) {
        const double square = std::pow(view.at(k, row, 0), 2) + std::pow(view.at(k, row, other), 2);
        if (count == 0) first = square;
        is_it = first > 0 && std::abs(square - first) <= kNear * first;
        sum += square;
        ++count;
      }
    if (!is_it || count == 0) continue;
    const double height = std::sqrt(sum / count), written = std::round(height * kParts) / kParts;
    return std::abs(written - height) <= kWritten * height ? static_cast<double>(static_cast<float>(written)) : height;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Generated> fit_wave_families(const Given& table) {
  const View& view = table.view;
  if (has_empty(view) || !are_waves(view)) return std::nullopt;
  const std::vector<WaveCounter> counters = wave_counters(table);
  WaveFamilies families(view, counters, table.context.over_longer);
  if (!families.tell()) return std::nullopt;
  Generated found(families.describe(), families.parts());
  if (!gives(view, found)) return std::nullopt;
  table.context.over_longer = families.over_longer();
  return found;
}

std::optional<Generated> fit_waves_of_one_height(const Given& table) {
  const View& view = table.view;
  const auto height = has_empty(view) ? std::nullopt : height_of_pair(view);
  if (!height || std::abs(*height - 1) <= view.tolerance) return std::nullopt;
  View unit = view;
  for (std::vector<double>& entries : unit.entries)
    for (double& entry : entries) entry /= *height;
  auto found = are_waves(unit) ? fit_rows({unit, table.context}) : std::nullopt;
  if (!found) return std::nullopt;
  found->description += fmt::format(", times {:.6g}", *height);
  for (Part& part : found->parts) part.formula = part.formula * real_number(*height);
  return gives(view, *found) ? found : std::nullopt;
}

}  // namespace thaw::lifting
