#include "thaw/lift/table/table_sizes.h"

#include <numeric>
#include <utility>

namespace thaw::lifting {
namespace {

// A number of times the cells of a grid whose sides were cut into parts, rounded: patches, or windows, of an image.
std::optional<dim::Dim> cells(const std::vector<int64_t>& at, std::span<const Variable> variables) {
  constexpr int64_t kLargestPart = 64;
  for (size_t i = 0; i < variables.size(); ++i) {
    for (size_t j = i + 1; j < variables.size(); ++j) {
      for (int64_t part = 2; part <= kLargestPart; ++part) {
        for (const int64_t added : {int64_t{0}, part - 1}) {
          bool fits = true;
          int64_t times = 0;
          for (size_t k = 0; k < at.size() && fits; ++k) {
            const int64_t product = (variables[i].at[k] + added) / part * ((variables[j].at[k] + added) / part);
            fits = product > 0 && at[k] % product == 0 && (k == 0 || at[k] / product == times);
            if (fits) times = at[k] / product;
          }
          // Two traces leave room for chance.
          if (!fits || times == 0 || (at.size() < 3 && times != 1)) continue;
          const auto side = [&](dim::Dim d) { return added == 0 ? dim::floor_div(d, part) : dim::ceil_div(d, part); };
          return dim::Dim(times) * side(variables[i].symbol) * side(variables[j].symbol);
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<dim::Dim> sum_of_two(std::span<const int64_t> at, std::span<const Variable> variables) {
  for (size_t i = 0; i < variables.size(); ++i) {
    for (size_t j = i + 1; j < variables.size(); ++j) {
      bool sum = true;
      for (size_t k = 0; k < at.size(); ++k) sum &= variables[i].at[k] + variables[j].at[k] == at[k];
      if (sum) return variables[i].symbol + variables[j].symbol;
    }
  }
  return std::nullopt;
}

bool are_sides(const Variable& one, const Variable& other) {
  const auto is_side = [](const Variable& v) { return v.kind == Variable::Kind::kDim && v.varies() && !v.is_batch; };
  return &one != &other && one.input == other.input && is_side(one) && is_side(other);
}

std::vector<Size> extreme_sides(std::span<const Variable> variables) {
  std::vector<Size> sides;
  for (const Variable& v : variables)
    for (const Variable& other : variables) {
      if (&other < &v || !are_sides(v, other)) continue;
      const Size a{v.symbol, v.at}, b{other.symbol, other.at};
      sides.push_back(smaller_of(a, b));
      sides.push_back(larger_of(a, b));
    }
  return sides;
}

std::vector<Size> extremes_of_no_side(std::span<const Variable> variables) {
  std::vector<Size> extremes = extreme_sides(variables);
  std::erase_if(extremes, [&](const Size& extreme) {
    return std::ranges::any_of(variables, [&](const Variable& v) { return v.at == extreme.at; });
  });
  return extremes;
}

std::optional<Size> solve_size(std::vector<int64_t> at, const Solver& solver, const Around& around) {
  if (const auto dim = solver.solve(at, around)) return Size{*dim, std::move(at)};
  if (const auto dim = cells(at, solver.variables())) return Size{*dim, std::move(at)};
  if (const auto dim = sum_of_two(at, solver.variables())) return Size{*dim, std::move(at)};
  // A grid and a few tokens before it.
  constexpr int64_t kMostFirst = 8;
  // What counts within a table is no grid, and a term for one of so many numbers is met by chance.
  const bool may_be_grid = !around.counts || around.ends;
  for (int64_t first = 1; first <= kMostFirst; ++first) {
    std::vector<int64_t> rest = at;
    for (int64_t& size : rest) size -= first;
    const auto is_plain = [&] {
      const auto found = solver.solutions(rest, 1);
      return !found.empty() && found.front().rule <= Rule::kLine;
    };
    auto dim = at.size() >= 3 && (may_be_grid || is_plain()) ? solver.solve(rest) : std::nullopt;
    if (!dim && may_be_grid) dim = cells(rest, solver.variables());
    if (dim && !dim->is_constant()) return Size{*dim + dim::Dim(first), std::move(at)};
  }
  return std::nullopt;
}

namespace {

std::optional<Size> solve_near(std::vector<int64_t> at, const View& view, const Solver& solver, bool ends) {
  Around around;
  around.counts = true;
  around.ends = ends;
  for (const std::vector<Size>* sizes : {&view.growing, &view.sides})
    for (const Size& size : *sizes) around.sizes.push_back({.symbol = size.dim, .at = size.at});
  return solve_size(std::move(at), solver, around);
}

}  // namespace

std::optional<Size> solve_count(std::vector<int64_t> at, const View& view, const Solver& solver) {
  return solve_near(std::move(at), view, solver, false);
}
std::optional<Size> solve_end(std::vector<int64_t> at, const View& view, const Solver& solver) {
  return solve_near(std::move(at), view, solver, true);
}

void add_equal(std::vector<Limit>& limits, dim::Dim a, dim::Dim b) {
  if (dim::same(a, b)) return;
  limits.push_back({a, b});
  limits.push_back({b, a});
}

std::vector<Size> sides_of_inputs(std::span<const Variable> variables) {
  std::vector<Size> sides;
  for (const Variable& v : variables)
    if (v.kind == Variable::Kind::kDim) sides.push_back({v.symbol, v.at});
  for (Size& side : extreme_sides(variables)) sides.push_back(std::move(side));
  return sides;
}

std::vector<Size> known_sizes(const Solver& solver) {
  std::vector<Size> sizes = sides_of_inputs(solver.variables());
  if (const TensorSizes* tensors = solver.tensors())
    for (const auto& [at, size] : *tensors) sizes.push_back({size.dim, at});
  return sizes;
}

std::vector<Limit> limits_of_multiples(const Size& size, const std::vector<Size>& others, OfSides sides,
                                       const Solver& solver, bool is_plain) {
  std::vector<Limit> limits;
  const std::vector<int> symbols = dim::symbols_of(size.dim);
  const std::vector<Size> extremes = is_plain ? std::vector<Size>() : extremes_of_no_side(solver.variables());
  for (const Size& other : others) {
    if (size.at.front() <= 0 || other.at.front() <= 0) continue;
    const int64_t common = std::gcd(size.at.front(), other.at.front());
    const int64_t times = size.at.front() / common, of_other = other.at.front() / common;
    bool is_multiple = true;
    for (size_t k = 0; k < size.at.size() && is_multiple; ++k)
      is_multiple = size.at[k] % times == 0 && size.at[k] / times * of_other == other.at[k];
    std::vector<dim::Dim> all = is_multiple ? solver.sizes_as_large(other.at) : std::vector<dim::Dim>();
    if (is_multiple && sides == OfSides::kAny) all.push_back(other.dim);
    for (const dim::Dim alike : all)
      if (sides == OfSides::kAny || dim::symbols_of(alike) != symbols)
        add_equal(limits, dim::Dim(of_other) * size.dim, dim::Dim(times) * alike);
    for (const Size& extreme : extremes)
      if (is_multiple && extreme.at == other.at)
        add_equal(limits, dim::Dim(of_other) * size.dim, dim::Dim(times) * extreme.dim);
  }
  return limits;
}

std::vector<Limit> limits_of_step(int64_t step, const Size& count, const Solver& solver) {
  constexpr int64_t kLeast = 2;  // positions that count are no further apart where there are fewer of them
  if (step < kLeast) return {};
  const std::vector<int> symbols = dim::symbols_of(count.dim);
  for (const Variable& side : solver.variables()) {
    const bool is_its =
        symbols.size() == 1 && side.varies() && side.kind == Variable::Kind::kDim && id_of(side) == symbols.front();
    if (!is_its) continue;
    for (size_t k = 0; k < count.at.size(); ++k)
      if (count.at[k] <= 0 || side.at[k] / count.at[k] != step) return {};
    const dim::Dim quotient = dim::floor_div(side.symbol, count.dim), number(step);
    if (!dim::same(quotient, number)) return {{quotient, number}, {number, quotient}};
  }
  return {};
}

}  // namespace thaw::lifting
