// All generators, in the order in which they are tried.
#include "thaw/lift/table/generators.h"

#include <algorithm>
#include <limits>

#include "thaw/lift/table/keys/key.h"

namespace thaw::lifting {

namespace {

std::optional<Generated> fit_by_keys(const Given& table);
std::optional<Generated> fit_learned_or_by_keys(const Given& table) {
  auto fit = fit_learned(table);
  return fit ? fit : fit_by_keys(table);
}

enum class Of : uint8_t { kWholeTable, kByKeys, kList, kRows, kColumn, kAxes, kColumnOfAxes, kLearned };

constexpr uint8_t bit_of(Kind kind) { return static_cast<uint8_t>(1U << static_cast<unsigned>(kind)); }

// What a generator takes.
struct Takes {
  uint8_t kinds;
  size_t least_axes = 1, most_axes = std::numeric_limits<size_t>::max();
  int64_t least_columns = 1, most_columns = std::numeric_limits<int64_t>::max();
  size_t least_traces = 1;
  bool may_be_rounded = true;  // whether it takes tables whose entries may be as far off as float32 makes them

  Takes axes(size_t count) const {
    return with([&](Takes& t) { t.least_axes = t.most_axes = count; });
  }
  Takes from_axes(size_t least) const {
    return with([&](Takes& t) { t.least_axes = least; });
  }
  Takes columns(int64_t least, int64_t most) const {
    return with([&](Takes& t) { t.least_columns = least, t.most_columns = most; });
  }
  Takes from_columns(int64_t least) const {
    return with([&](Takes& t) { t.least_columns = least; });
  }
  Takes from_traces(size_t least) const {
    return with([&](Takes& t) { t.least_traces = least; });
  }
  Takes not_rounded() const {
    return with([](Takes& t) { t.may_be_rounded = false; });
  }

  bool has(const View& view) const {
    return (kinds & bit_of(view.kind)) != 0 && view.growing.size() >= least_axes && view.growing.size() <= most_axes &&
           view.width >= least_columns && view.width <= most_columns && view.traces() >= least_traces &&
           (may_be_rounded || !view.is_rounded);
  }

 private:
  template <typename Change>
  Takes with(const Change& change) const {
    Takes other = *this;
    change(other);
    return other;
  }
};
constexpr Takes kIntegers{bit_of(Kind::kInteger)}, kReals{bit_of(Kind::kReal)}, kTruths{bit_of(Kind::kTruth)};
constexpr Takes kNumbers{kIntegers.kinds | kReals.kinds}, kAny{kNumbers.kinds | kTruths.kinds};
const Takes kWideReals = kReals.columns(8, 8192).from_traces(2);

struct Generator {
  Of of;
  const char* what;
  Takes takes;
  Fit* fit;
  Keys* keys = nullptr;  // of the table by one of these
};

constexpr int64_t kMostFormulas = 256;  // with a formula each

const Generator kGenerators[] = {
    {Of::kWholeTable, "a list", kAny.axes(1), fit_list},
    {Of::kWholeTable, "along several axes", kAny.from_axes(2), fit_axes},
    {Of::kWholeTable, "one position: multiples of a size, or their cosines and sines",
     kReals.axes(1).columns(1, 1).from_traces(2), fit_one_position},
    {Of::kWholeTable, "a few rows for each cell of a grid", kNumbers.axes(1).from_traces(2).not_rounded(),
     fit_rows_of_cells},
    {Of::kWholeTable, "learned", kAny.not_rounded(), fit_learned},
    {Of::kWholeTable, "by a key", kAny, fit_by_keys},

    {Of::kByKeys, "pairs of positions, learned or by another key", kAny.axes(1), fit_learned_or_by_keys,
     pairs_of_positions},
    {Of::kByKeys, "distances, or cells of grids", kAny.axes(2), fit_any, distances_and_cells},
    {Of::kByKeys, "the same behind a first row and column", kAny.axes(2).from_columns(2), fit_by_keys_behind_first},

    {Of::kList, "two values in the last columns", kAny.columns(1, kMostFormulas), fit_step_in_last_columns},
    {Of::kList, "rows", kAny, fit_rows},
    {Of::kList, "learned combinations of a few columns", kWideReals, fit_learned_combinations},
    {Of::kList, "a few kept rows, then others", kAny.from_traces(2), fit_after_first},
    {Of::kList, "numbers again and again, but for both ends", kReals.columns(1, 1).from_traces(2), fit_ends},
    {Of::kList, "by pairs of positions", kAny, fit_axes, pairs_of_positions},
    {Of::kList, "tiles", kReals.from_traces(2), fit_tiled},
    {Of::kList, "kept rows in front of padding", kAny.from_traces(2), fit_padded_behind},
    {Of::kList, "kept rows behind padding", kAny.from_traces(2), fit_padded_in_front},
    {Of::kList, "kept rows between padding", kAny.from_traces(2), fit_padded_on_both_sides},
    {Of::kList, "kept rows by edges of a grid", kAny.from_traces(2), fit_lookup_by_edge},
    {Of::kList, "kept rows by a counter", kAny.from_traces(2), fit_lookup_by_counter},
    {Of::kList, "the last or middle rows of a kept table", kAny.from_traces(3), fit_kept_part},
    {Of::kList, "kept rows by row and column", kAny.from_traces(2), fit_lookup_by_cell},

    {Of::kRows, "averages of cells", kReals, fit_averages},
    {Of::kRows, "positions of as many in every trace", kIntegers.columns(1, 1).from_traces(2), fit_few_positions},
    {Of::kRows, "functions of one counter", kNumbers, fit_columns},
    {Of::kRows, "cosines and sines of places, of one family", kReals.from_columns(3).from_traces(2), fit_wave_families},
    {Of::kRows, "sinusoids as high as a pair of them tells", kReals.from_columns(3).from_traces(2),
     fit_waves_of_one_height},
    {Of::kRows, "lines", kIntegers.columns(1, kMostFormulas), fit_lines},
    {Of::kRows, "another order of a grid", kIntegers, fit_reordering},
    {Of::kRows, "sizes times row and column", kIntegers, fit_grid_indices},
    {Of::kRows, "bilinear interpolation", kNumbers.columns(4, 4), fit_interpolation},
    {Of::kRows, "sequences, also along a grid", kAny.columns(1, kMostFormulas), fit_sequences},
    {Of::kRows, "angles of row and column", kReals.from_columns(2), fit_mixed_angles},

    {Of::kColumn, "a number", kAny, fit_constant},
    {Of::kColumn, "integers written as reals", kReals, fit_whole_numbers},
    {Of::kColumn, "a line", kIntegers, fit_line},
    {Of::kColumn, "a cosine or sine", kNumbers, fit_sinusoid},
    {Of::kColumn, "places between two ends", kReals, fit_linspace},
    {Of::kColumn, "one over a size", kReals, fit_share},
    {Of::kColumn, "log-odds", kReals, fit_logit},
    {Of::kColumn, "logarithms of distances", kReals.from_traces(2), fit_log_distance},
    {Of::kColumn, "a cosine or sine of a place", kReals, fit_sinusoid_of_place},
    {Of::kColumn, "a step", kAny, fit_step},
    {Of::kColumn, "positions of another length", kIntegers, fit_positions},
    {Of::kColumn, "weights of neighbours", kReals, fit_weights},
    {Of::kColumn, "positions in float32", kNumbers.from_traces(2), fit_single_places},
    {Of::kColumn, "a cosine or sine of a place, and a number", kReals.from_traces(2), fit_raised_sinusoid_of_place},
    {Of::kColumn, "the same numbers", kAny.from_traces(2), fit_same},
    {Of::kColumn, "by a digit of the index", kAny, fit_sequence, digits},
    {Of::kColumn, "a multiple of another", kIntegers, fit_multiple},
    {Of::kColumn, "over a size", kReals.from_traces(2), fit_over_size},

    {Of::kAxes, "learned combinations of a few columns", kWideReals, fit_combinations_of_axes},
    {Of::kAxes, "column by column", kAny.columns(1, kMostFormulas), fit_columns_of_axes},

    {Of::kColumnOfAxes, "a sum", kNumbers, fit_sum},
    {Of::kColumnOfAxes, "groups that are so far apart", kAny.axes(2), fit_mask},
    {Of::kColumnOfAxes, "distances", kAny.axes(2), fit_diagonals},
    {Of::kColumnOfAxes, "behind a first row and column", kNumbers.axes(2), fit_diagonals_behind_first},
    {Of::kColumnOfAxes, "a product", kAny, fit_product},
    {Of::kColumnOfAxes, "a sum of distances", kNumbers, fit_sum_through_middle},
    {Of::kColumnOfAxes, "outside of a rectangle", kTruths, fit_outside},
    {Of::kColumnOfAxes, "positions that count from 0 again", kReals.axes(2), fit_diagonals, positions_again},
    {Of::kColumnOfAxes, "sinusoids of a Fourier transform", kReals.axes(2).from_traces(2), fit_sequence,
     products_of_positions},
    {Of::kColumnOfAxes, "tables side by side", kAny.axes(2), fit_side_by_side},
    {Of::kColumnOfAxes, "groups, behind a first column", kAny.axes(2), fit_mask_after_first},
    {Of::kColumnOfAxes, "by runs", kAny.axes(2), fit_together, runs},

    {Of::kLearned, "tiles", kReals.from_traces(2), fit_tiled},
    {Of::kLearned, "the corner of a kept table", kAny.from_axes(2).from_traces(2), fit_corner},
    {Of::kLearned, "the first, last or middle entries of a kept table", kAny.from_axes(2).from_traces(3),
     fit_kept_part},
    {Of::kLearned, "resized", kReals.from_columns(2).from_traces(2), fit_resized},
    {Of::kLearned, "rows and columns, resized and added", kReals.from_columns(2).from_traces(2), fit_factorized},
};

std::optional<Generated> first_of(Of of, const Given& table) {
  std::vector<const Generator*> all;
  for (const Generator& generator : kGenerators)
    if (generator.of == of && generator.takes.has(table.view) && (!generator.keys || table.digits > 0))
      all.push_back(&generator);
  const uint64_t key =
      FittedBefore::key_of(table.view, Ways::kGenerators,
                           static_cast<uint64_t>(of) * (Given::kMostDigits + 1) + static_cast<uint64_t>(table.digits));
  return first_way(table.context.before, key, all.size(), [&](size_t way) {
    const Generator& generator = *all[way];
    auto generated = generator.keys ? fit_at_keys(table, generator.keys(table), *generator.fit) : generator.fit(table);
    // What is not known in time may be a size of it.
    const bool is_known = generated && std::ranges::all_of(generated->parts, can_be_emitted, &Part::formula);
    return is_known ? std::move(generated) : std::nullopt;
  });
}

std::optional<Generated> fit_by_keys(const Given& table) { return first_of(Of::kByKeys, table); }

bool is_empty(const View& view) {
  return std::ranges::any_of(view.entries, [](const auto& list) { return list.empty(); });
}

}  // namespace

std::optional<Generated> fit_whole_table(const Given& table) {
  table.context.turns.clear();
  table.context.over_longer.reset();
  return first_of(Of::kWholeTable, table);
}
std::optional<Generated> fit_rows(const Given& list) { return first_of(Of::kRows, list); }
std::optional<Generated> fit_axes(const Given& table) { return first_of(Of::kAxes, table); }
std::optional<Generated> fit_together(const Given& table) { return first_of(Of::kColumnOfAxes, table); }
std::optional<Generated> fit_learned(const Given& table) { return first_of(Of::kLearned, table); }
std::optional<Generated> fit_sequence(const Given& column) {
  return is_empty(column.view) ? std::nullopt : first_of(Of::kColumn, column);
}
std::optional<Generated> fit_any(const Given& table) {
  auto fit = table.view.growing.size() == 1 ? fit_list(table) : fit_axes(table);
  return fit ? fit : fit_learned(table);
}
std::optional<Generated> fit_list(const Given& list) {
  // Where a row holds both of two values, its columns are no functions of the row each for itself.
  return ends_in_rows(list.view) ? fit_step_in_rows(list) : first_of(Of::kList, list);
}

}  // namespace thaw::lifting
