// Columns over a size: centres of cells in shares of a side that they do not fill, boxes in shares of the shorter side.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

bool is_own(const View& view, const Size& size) {
  const auto is_it = [&](const Size& own) { return dim::same(own.dim, size.dim); };
  return std::ranges::any_of(view.growing, is_it) || std::ranges::any_of(view.sides, is_it);
}

double divisor_at(const Size& size, size_t trace, bool is_root) {
  const auto number = static_cast<double>(size.at[trace]);
  return is_root ? std::sqrt(number) : number;
}

// Whether the entries times a size are as high as cosines and sines of a whole turn are, of which no row is the same in every trace.
bool is_as_high_as_waves(const View& view, const Size& size, bool is_root) {
  constexpr double kLeast = 0.86, kMost = 1 + 1e-5;  // of a turn in three places
  for (size_t k = 0; k < view.traces(); ++k) {
    if (size.at[k] < 2) return false;  // else the column over it is as high, and so on
    double height = 0;
    for (const double entry : view.entries[k]) height = std::max(height, std::abs(entry));
    height *= divisor_at(size, k, is_root);
    if (!(height >= kLeast && height <= kMost)) return false;
  }
  return true;
}

// What a column may be over, times which a row is the same in every trace; each once: the table's own sizes, the inputs', the shorter and the
// longer side of one, and those of tensors. Of roots its own sizes alone.
std::vector<Size> possible_divisors(const View& view, size_t row, const TableContext& context, bool is_root) {
  std::vector<Size> sizes;
  const auto add = [&](const Size& size) {
    const auto product = [&](size_t k) { return view.entries[k][row] * divisor_at(size, k, is_root); };
    bool is_alike = size.at.front() > 0, varies = false;
    for (size_t k = 1; k < view.traces() && is_alike; ++k) {
      is_alike = size.at[k] > 0 && view.close(product(k), product(0));
      varies |= size.at[k] != size.at.front();
    }
    const auto is_it = [&](const Size& known) { return known.at == size.at; };
    if (!is_alike && is_own(view, size) && is_as_high_as_waves(view, size, is_root)) is_alike = varies = true;
    if (is_alike && varies && std::ranges::none_of(sizes, is_it)) sizes.push_back(size);
  };
  for (const std::vector<Size>* own : {&view.growing, &view.sides})
    for (const Size& size : *own) add(size);
  if (is_root) return sizes;
  for (const Size& size : known_sizes(context.solver)) add(size);
  // Of images that are padded to whole cells.
  if (view.sides.size() == 2) {
    add(smaller_of(view.sides[0], view.sides[1]));
    add(larger_of(view.sides[0], view.sides[1]));
  }
  return sizes;
}

// Where every trace's side is a multiple of something, other tables that are over a part of it may be over the side, too, as what is over an
// input's own side shows that this model has such: that the sides are those multiples. And where another side, or its part, is as many times
// as large in every trace, that it is so.
std::vector<Limit> limits_of(const Size& size, const std::vector<Size>& divisors, const Solver& solver) {
  std::vector<Limit> limits = limits_of_multiples(size, divisors, OfSides::kOther, solver);
  const std::vector<int> symbols = dim::symbols_of(size.dim);
  for (const Variable& v : solver.variables()) {
    const int64_t divisor = common_divisor(v.at);
    if (v.kind == Variable::Kind::kDim && v.varies() && divisor > 1 && std::ranges::count(symbols, id_of(v)) > 0)
      add_equal(limits, v.symbol, dim::Dim(divisor) * dim::floor_div(v.symbol, divisor));
  }
  return limits;
}

// The row that is farthest from 0 in all traces: near it anything is close.
std::optional<size_t> row_that_tells(const View& view) {
  constexpr double kNearNothing = 1e-5;
  const auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  std::optional<size_t> found;
  double farthest = kNearNothing;
  for (size_t row = 0; row < std::ranges::min(view.entries, shorter).size(); ++row) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& list : view.entries) least = std::isnan(list[row]) ? 0 : std::min(least, std::abs(list[row]));
    if (!std::isfinite(least) || least <= farthest) continue;
    farthest = least;
    found = row;
  }
  return found;
}

// The column times a size, or its root, as another one.
std::optional<Generated> fit_over(const Given& column, const Size& size, bool is_root,
                                  const std::vector<Size>& divisors) {
  const View& view = column.view;
  View times = view;
  for (size_t k = 0; k < view.traces(); ++k)
    for (double& entry : times.entries[k]) entry *= divisor_at(size, k, is_root);
  const auto fit = fit_sequence({times, column.context, column.digits});
  if (!fit) return std::nullopt;
  const Formula number = as_real(size);
  Formula formula = as_real(fit->formula()) / (is_root ? square_root(number) : number);
  const Solver& solver = column.context.solver;
  if (is_own(view, size)) {
    const std::vector<Size> extremes = extremes_of_no_side(solver.variables());
    formula = within(formula, limits_of_multiples(size, extremes, OfSides::kOther, solver));
  } else {
    formula = within(computed_with(formula, {fit->description, {size.dim}}), limits_of(size, divisors, solver));
  }
  const std::string text = dim::to_string(size.dim);
  return checked(view, std::move(formula),
                 fmt::format("({}) / {}", fit->description, is_root ? fmt::format("sqrt({})", text) : text));
}

}  // namespace

std::optional<Generated> fit_over_size(const Given& column) {
  const auto row = row_that_tells(column.view);
  if (!row) return std::nullopt;
  for (const bool is_root : {false, true}) {
    const std::vector<Size> divisors = possible_divisors(column.view, *row, column.context, is_root);
    for (const Size& size : divisors)
      if (auto over = fit_over(column, size, is_root, divisors)) return over;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
