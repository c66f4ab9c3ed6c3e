// Cells of one length laid over another: lines between two ends, the neighbours of a place and what they weigh.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

double rounded(double value) {
  constexpr double kNear = 2e-5;
  const double whole = std::round(value * 2) / 2;
  return std::abs(value - whole) <= kNear * std::max(1.0, std::abs(value)) ? whole : value;
}

// Where the cells of one length fall on another: (index * over + shift) / under, as integers.
struct Scaling {
  const char* name;
  Formula scaled, under;
  Formula over = {};  // of multiples of a step, which may be rounded to even places
};

std::vector<Scaling> scalings(const Size& n, const Size& side) {
  const Formula i = position(0), two(2);
  const Size one = constant_size(1, n.at.size());
  const Formula steps = larger(n - one, Formula(1));
  return {{"first to first and last to last", i * (side - one), steps, side - one},
          {"cell by cell", i * side, n, side},
          {"from centre to centre", larger((two * i + Formula(1)) * side - n, Formula(0)), two * n},
          {"by centres", (two * i + Formula(1)) * side, two * n}};
}

// What a place becomes: the cell that it is in or the one above it, or how much of it is the upper one's.
struct RoundedPlace {
  const char* name;
  Formula (*of)(const Scaling& scaling, const Formula& last);
};

// Of two as near the upper one.
Formula nearest_of(const Scaling& s) { return (s.scaled + s.scaled + s.under) / (s.under + s.under); }
Formula nearest_even_of(const Scaling& s) {
  if (!s.over) return {};
  const Formula upper = nearest_of(s);
  const Formula is_halfway = equal((s.scaled + s.scaled + s.under) % (s.under + s.under), Formula(0));
  return upper - as_integer(both(is_halfway, equal(upper % Formula(2), Formula(1))));
}

// As frameworks compute it: a step in float32, each place a multiple of it, of two as near the even one.
Formula nearest_single_of(const Scaling& s) {
  if (!s.over) return {};
  const Formula step = in_single(as_real(s.over) / as_real(s.under));
  const Formula place = in_single(step * as_real(position(0))), half = real_number(0.5);
  const Formula upper = whole_part(in_single(place + half));
  const Formula is_halfway = equal(in_single(as_real(upper) - half), place);
  return upper - as_integer(both(is_halfway, equal(upper % Formula(2), Formula(1))));
}

Formula nearest_lower_of(const Scaling& s) {
  return s.over ? (s.scaled + s.scaled + s.under - Formula(1)) / (s.under + s.under) : Formula();
}
Formula within_last(const Formula& place, const Formula& last) { return place ? smaller(place, last) : place; }

constexpr RoundedPlace kCells[] = {
    {"the nearest or lower of",
     [](const Scaling& s, const Formula& last) { return smaller(s.scaled / s.under, last); }},
    {"the upper of",
     [](const Scaling& s, const Formula& last) { return smaller(s.scaled / s.under + Formula(1), last); }},
    {"the nearest of", [](const Scaling& s, const Formula& last) { return smaller(nearest_of(s), last); }},
    {"the nearest, of two the even, of",
     [](const Scaling& s, const Formula& last) { return within_last(nearest_even_of(s), last); }},
    {"the nearest in float32, of two the even, of",
     [](const Scaling& s, const Formula& last) { return within_last(nearest_single_of(s), last); }},
    {"the nearest, of two the lower, of",
     [](const Scaling& s, const Formula& last) { return within_last(nearest_lower_of(s), last); }},
};

Formula share_of_upper(const Scaling& s) { return as_real(s.scaled % s.under) / as_real(s.under); }
constexpr RoundedPlace kWeights[] = {
    {"the weight of the upper of", [](const Scaling& s, const Formula&) { return share_of_upper(s); }},
    {"the weight of the lower of", [](const Scaling& s, const Formula&) { return real_number(1) - share_of_upper(s); }},
};

// Cells of a length laid over those of another.
struct Neighbours {
  Size side;
  size_t scaling;
  const RoundedPlace* rounding;

  Formula over(const Size& n) const { return over(n, side); }
  Formula over(const Size& n, const Size& of) const {
    return rounding->of(scalings(n, of)[scaling], of - constant_size(1, of.at.size()));
  }
  bool holds_in(const View& view) const {
    const Formula formula = over(view.length());
    return formula && holds(view, formula, 0, 1);
  }
  Generated generated(const Size& n) const { return {text(n), over(n)}; }
  std::string text(const Size& n) const {
    return fmt::format("{} {} positions, {}", rounding->name, dim::to_string(side.dim),
                       scalings(n, side)[scaling].name);
  }
};

std::vector<Neighbours> neighbours_in(const View& view, const Size& side) {
  std::vector<Neighbours> found;
  const std::vector<Scaling> all = scalings(view.length(), side);
  const std::span<const RoundedPlace> roundings =
      view.kind == Kind::kInteger ? std::span<const RoundedPlace>(kCells) : std::span<const RoundedPlace>(kWeights);
  for (size_t i = 0; i < all.size(); ++i)
    for (const RoundedPlace& rounding : roundings)
      if (const Neighbours each{side, i, &rounding}; each.holds_in(view)) found.push_back(each);
  return found;
}

// Sizes between the traces', and each variable at many from the smallest on, the others as the first trace has them.
std::vector<std::vector<int64_t>> sizes_to_look_at(const TableContext& context) {
  constexpr int64_t kMostOfOne = 512;
  std::vector<std::vector<int64_t>> all = context.solver.unseen();
  std::vector<int64_t> first;
  for (const Variable& v : context.variables) first.push_back(v.at.front());
  for (size_t i = 0; i < first.size(); ++i) {
    const int64_t largest = 2 * std::ranges::max(context.variables[i].at), step = 1 + largest / kMostOfOne;
    for (int64_t size = 1; context.variables[i].varies() && size <= largest; size += step) {
      all.push_back(first);
      all.back()[i] = size;
    }
  }
  return all;
}

// Sizes at which two of them differ, by variable; nullopt where they do at none that is looked at.
std::optional<std::vector<int64_t>> sizes_that_tell(const Neighbours& one, const Neighbours& other, const Size& n,
                                                    const std::vector<std::vector<int64_t>>& looked_at,
                                                    std::span<const Variable> variables) {
  constexpr int64_t kLongest = 4096;
  for (const std::vector<int64_t>& sizes : looked_at) {
    const dim::Assignment at = assignment_at(variables, sizes);
    const auto there = [&](const Size& size) { return Size{size.dim, {dim::evaluate(size.dim, at).value_or(0)}}; };
    const Size length = there(n);
    if (length.at[0] < 1 || length.at[0] > kLongest || there(one.side).at[0] < 1 || there(other.side).at[0] < 1)
      continue;
    const Points all = all_places({&length, 1}, 0);
    const auto cells = [&](const Neighbours& each) {
      return evaluate(each.over(length, there(each.side)), all).entries;
    };
    if (cells(one) != cells(other)) return sizes;
  }
  return std::nullopt;
}

// The first, where all of them are the same at all sizes that are looked at.
std::optional<Generated> only_one_of(const std::vector<Neighbours>& found, const View& view, TableContext& context) {
  if (found.empty()) return std::nullopt;
  const Size& n = view.length();
  const std::vector<std::vector<int64_t>> looked_at =
      found.size() > 1 ? sizes_to_look_at(context) : std::vector<std::vector<int64_t>>();
  for (const Neighbours& other : std::span(found).subspan(1)) {
    const auto telling = sizes_that_tell(found.front(), other, n, looked_at, context.variables);
    if (!telling) continue;
    context.untold = fmt::format("'{}' and '{}' give its entries alike; a trace at {} tells", found.front().text(n),
                                 other.text(n), text_of_sizes(context.variables, *telling));
    return std::nullopt;
  }
  return found.front().generated(n);
}

// Whether all steps are alike in each trace, of several there: then nothing tells places that are rounded one by one from multiples of a
// rounded step.
bool is_line_everywhere(const View& view) {
  bool several = false;
  for (const auto& list : view.entries) {
    for (size_t i = 2; i < list.size(); ++i)
      if (list[i] - list[i - 1] != list[1] - list[0]) return false;
    several |= list.size() > 2;
  }
  return several;
}

}  // namespace

std::optional<Generated> fit_linspace(const Given& column) {
  const View& view = column.view;
  const Size& n = view.length();
  size_t longest = 0, shortest = 0;
  std::vector<double> steps, firsts;
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto& list = view.entries[k];
    size_t begin = 0, end = list.size();  // of those that are known
    while (begin < end && std::isnan(list[begin])) ++begin;
    while (begin < end && std::isnan(list[end - 1])) --end;
    if (end - begin < 2) return std::nullopt;
    steps.push_back((list[end - 1] - list[begin]) / static_cast<double>(end - begin - 1));
    firsts.push_back(begin == 0 ? list[0] : list[begin] - steps[k] * static_cast<double>(begin));
    for (size_t i = 0; i < list.size(); ++i)
      if (!view.close(list[i], firsts[k] + steps[k] * static_cast<double>(i))) return std::nullopt;
    if (n.at[k] > n.at[longest]) longest = k;
    if (n.at[k] < n.at[shortest]) shortest = k;
  }
  if (longest == shortest) return std::nullopt;
  for (const int64_t less : {1, 0, -1}) {
    const double span = rounded(steps[longest] * static_cast<double>(n.at[longest] - less));
    const double long_step = span / static_cast<double>(n.at[longest] - less),
                 short_step = span / static_cast<double>(n.at[shortest] - less);
    if (long_step == short_step) continue;
    const double shift = rounded((firsts[longest] - firsts[shortest]) / (long_step - short_step));
    const double start = rounded(firsts[longest] - shift * long_step);
    const Size count = n - constant_size(less, view.traces());
    const Formula steps_of = less == 1 ? larger(count, Formula(1)) : Formula(count);
    Formula formula =
        (as_real(position(0)) + real_number(shift)) * real_number(span) / as_real(steps_of) + real_number(start);
    // One more than there are is no plainer than another size. Cells that fill a side in every trace may be in shares of it.
    const Solver& solver = column.context.solver;
    const std::vector<Size> others = less < 0 ? known_sizes(solver) : sides_of_inputs(solver.variables());
    formula = within(formula, limits_of_multiples(count, others, OfSides::kAny, solver));
    if (auto fit = checked(
            view, formula,
            fmt::format("(index + {:g}) * {:g} / ({} - {}) + {:g}", shift, span, dim::to_string(n.dim), less, start)))
      return fit;
  }
  return std::nullopt;
}

std::optional<Generated> fit_positions(const Given& column) {
  const View& view = column.view;
  if (is_line_everywhere(view)) return std::nullopt;
  std::vector<int64_t> low, high;  // of the other length, by trace
  for (size_t k = 0; k < view.traces(); ++k) {
    const auto& list = view.entries[k];
    if (list.front() < 0 || list.size() < 2 || !std::is_sorted(list.begin(), list.end())) return std::nullopt;
    const int64_t last = std::llround(list.back()), n = view.length().at[k];
    low.push_back(last + 1);
    high.push_back((last + 1) * n / (n - 1) + 1);
  }
  for (const Variable& v : column.context.variables) {
    bool fits = true;
    for (size_t k = 0; k < view.traces(); ++k) fits &= low[k] <= v.at[k] && v.at[k] <= high[k];
    if (!fits) continue;
    const std::vector<Neighbours> found = neighbours_in(view, Size{v.symbol, v.at});
    if (!found.empty()) return only_one_of(found, view, column.context);
  }
  constexpr int64_t kMostTried = 64;
  const int64_t least = std::max<int64_t>(2, *std::max_element(low.begin(), low.end()));
  const int64_t most = std::min(least + kMostTried, *std::min_element(high.begin(), high.end()));
  std::vector<Neighbours> found;
  for (int64_t side = least; side <= most; ++side)
    std::ranges::copy(neighbours_in(view, constant_size(side, view.traces())), std::back_inserter(found));
  return only_one_of(found, view, column.context);
}

// Of traces that all have as many: no size is asked for, as one for each run of one position would be.
std::optional<Generated> fit_few_positions(const Given& list) {
  const View& view = list.view;
  const auto ends_alike = [&](const std::vector<double>& entries) {
    return !entries.empty() && entries.back() == view.entries[0].back();
  };
  const bool grows = std::ranges::any_of(view.length().at, [&](int64_t n) { return n != view.length().at[0]; });
  return grows && std::ranges::all_of(view.entries, ends_alike) ? fit_positions(list) : std::nullopt;
}

std::optional<Generated> fit_weights(const Given& column) {
  const View& view = column.view;
  constexpr int64_t kLargestSide = int64_t{1} << 20;
  std::vector<int64_t> sides = column.context.sides;
  const auto& list = view.entries[0];
  if (std::any_of(list.begin(), list.end(), [](double w) { return w < 0 || w > 1; })) return std::nullopt;
  const auto n = static_cast<double>(list.size());
  for (size_t i = list.size() / 3; i + 1 < list.size() && i < list.size() / 3 + 3; ++i) {
    const double step = std::abs(list[i + 1] - list[i]);
    for (const double each : {step, 1 - step})
      for (const double side : {each * n, each * (n - 1) + 1}) sides.push_back(std::llround(side));
  }
  std::sort(sides.begin(), sides.end());
  sides.erase(std::unique(sides.begin(), sides.end()), sides.end());
  for (const int64_t side : sides)
    if (side > 1 && side < kLargestSide)
      if (const auto found = neighbours_in(view, constant_size(side, view.traces())); !found.empty())
        return found.front().generated(view.length());
  return std::nullopt;
}

}  // namespace thaw::lifting
