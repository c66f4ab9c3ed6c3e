// A single position behind a past: a row that holds multiples of a size, or their cosines and sines.
//
// A decoder's step reads one token. Its rotary angles are one row, as wide in every trace; only the length of the cache
// differs. Multiples say themselves what they are multiples of. A cosine does not, from a few positions: there the
// frequencies must be 1, base^(-1/n), base^(-2/n), …, which one number tells that every entry of every trace confirms.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/waves/wave.h"
#include "thaw/math/rotary_frequencies.h"

namespace thaw::lifting {
namespace {

// The position in each trace is one of these.
std::vector<Size> possible_positions(const TableContext& context) {
  std::vector<Size> sizes;
  for (const Variable& v : context.variables)
    if (v.kind == Variable::Kind::kDim && v.varies()) sizes.push_back({v.symbol, v.at});
  const size_t own = sizes.size();
  for (size_t i = 0; i < own; ++i) sizes.push_back(sizes[i] - constant_size(1, sizes[i].at.size()));
  return sizes;
}

std::optional<Generated> fit_multiples(const View& row, const Size& place) {
  constexpr double kNear = 2.5e-7;  // of float32, rounded twice
  const auto longest = static_cast<size_t>(std::ranges::max_element(place.at) - place.at.begin());
  std::vector<double> factors;
  for (size_t j = 0; j < row.entries[0].size(); ++j) {
    const double factor = row.entries[longest][j] / static_cast<double>(place.at[longest]);
    for (size_t k = 0; k < row.traces(); ++k) {
      const double entry = row.entries[k][j], wanted = factor * static_cast<double>(place.at[k]);
      if (std::abs(entry - wanted) > kNear * std::abs(entry)) return std::nullopt;
    }
    factors.push_back(factor);
  }
  return Generated{fmt::format("multiples of {}", dim::to_string(place.dim)),
                   as_real(place) * numbers(std::move(factors), Kind::kReal, 0)};
}

// Which frequency a column has, and whether it is a sine.
struct Turn {
  size_t frequency = 0;
  bool sine = false;
};

// The ways in which frequencies and functions are laid out along a row.
std::vector<std::vector<Turn>> possible_turns(size_t width) {
  std::vector<std::vector<Turn>> ways;
  const size_t half = std::max<size_t>(1, width / 2);
  const auto add = [&](auto turn_of) {
    std::vector<Turn>& turns = ways.emplace_back();
    for (size_t j = 0; j < width; ++j) turns.push_back(turn_of(j));
  };
  for (const bool sine : {false, true}) {
    add([&](size_t j) { return Turn{j, sine}; });
    add([&](size_t j) { return Turn{j % half, sine}; });
    add([&](size_t j) { return Turn{j / 2, sine}; });
    add([&](size_t j) { return Turn{j % half, (j < half) == sine}; });
    add([&](size_t j) { return Turn{j / 2, (j % 2 == 0) == sine}; });
  }
  return ways;
}

// What the base is where the angle of a column lies within half a turn.
std::vector<double> possible_bases(const View& row, const Size& place, const std::vector<Turn>& turns, size_t count) {
  if (count == 1) return {2};  // a frequency of 1 alone is a power of any
  const auto shortest = static_cast<size_t>(std::ranges::min_element(place.at) - place.at.begin());
  std::vector<double> bases;
  for (size_t j = turns.size(); j-- > 0 && place.at[shortest] > 0;) {
    const double entry = std::clamp(row.entries[shortest][j], -1.0, 1.0);
    const double angle = turns[j].sine ? std::asin(entry) : std::acos(entry);
    if (turns[j].frequency == 0 || angle <= 0) continue;
    const double base = rounded_base(std::pow(angle / static_cast<double>(place.at[shortest]),
                                              -static_cast<double>(count) / static_cast<double>(turns[j].frequency)));
    if (is_written_base(base)) bases.push_back(base);
  }
  return bases;
}

std::optional<Generated> fit_turns(const View& row, const Size& place, const std::vector<Turn>& turns) {
  size_t count = 0;
  for (const Turn& turn : turns) count = std::max(count, turn.frequency + 1);
  const auto frequency = [&](double base, size_t i) {
    return math::rotary_frequency(base, static_cast<double>(i), static_cast<double>(count));
  };
  const auto gives_all = [&](double base) {
    for (size_t k = 0; k < row.traces(); ++k) {
      for (size_t j = 0; j < turns.size(); ++j) {
        const double angle = static_cast<double>(place.at[k]) * frequency(base, turns[j].frequency);
        if (!is_near_wave(row, row.entries[k][j], wave_of(turns[j].sine, 1).at(angle), angle)) return false;
      }
    }
    return true;
  };
  // A few entries lie on many waves.
  constexpr size_t kFewest = 3;
  if (std::max(count, row.traces()) < kFewest) return std::nullopt;
  for (const double base : possible_bases(row, place, turns, count)) {
    if (!gives_all(base)) continue;
    std::vector<double> frequencies, sines;
    for (const Turn& turn : turns) {
      frequencies.push_back(frequency(base, turn.frequency));
      sines.push_back(turn.sine ? 1 : 0);
    }
    const Formula angles = as_real(place) * numbers(std::move(frequencies), Kind::kReal, 0);
    const Formula value = choose(numbers(std::move(sines), Kind::kTruth, 0), sine(angles), cosine(angles));
    return Generated{fmt::format("cos and sin of multiples of {}, base {:g}", dim::to_string(place.dim), base), value};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Generated> fit_one_position(const Given& table) {
  const View& row = table.view;
  const TableContext& context = table.context;
  constexpr size_t kMostColumns = 4096;
  if (!row.length().dim.is_constant() || row.entries[0].size() > kMostColumns) return std::nullopt;
  for (const Size& place : possible_positions(context))
    if (auto fit = fit_multiples(row, place)) return fit;
  if (!are_waves(row)) return std::nullopt;
  for (const Size& place : possible_positions(context))
    for (const std::vector<Turn>& turns : possible_turns(row.entries[0].size()))
      if (auto fit = fit_turns(row, place, turns)) return fit;
  return std::nullopt;
}

}  // namespace thaw::lifting
