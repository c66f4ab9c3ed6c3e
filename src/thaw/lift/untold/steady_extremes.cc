#include "thaw/lift/untold/steady_extremes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <numbers>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

constexpr double kSingle = 2.5e-7;  // how far a number in float32 may be from what it was
constexpr int64_t kSmallest = 32;   // of sides: smaller numbers are met by chance
constexpr int64_t kMostAlone = 8;   // elements of a list beside a table

bool is_near(double a, double b) { return std::abs(a - b) <= kSingle * std::abs(b); }
bool is_near_any(double number, std::initializer_list<double> of) {
  return std::ranges::any_of(of, [&](double each) { return is_near(number, each); });
}
bool is_whole(double value) { return std::abs(value - std::round(value)) <= kSingle * std::max(1.0, std::abs(value)); }

// 0.05, 0.71, levels of 8 bits: what people write, of so many digits.
bool is_round(double number, int digits) {
  if (number == 0) return true;
  const double first = number / std::pow(10, std::floor(std::log10(number)));
  return is_near_any(number, {255, 127.5, 128, 1 / 255.0, 1 / 127.5, 1 / 128.0}) ||
         is_whole(first * std::pow(10, digits - 1));
}
bool is_plain(double number, int digits) { return is_round(number, digits) || is_whole(number * 16); }
// 1/3 and 1/6, as of activations.
bool is_small_part(double number) {
  constexpr double kLargest = 12;
  return number > 0 && is_whole(1 / number) && 1 / number <= kLargest;
}

// A part of the side that is whole or a half.
bool is_share(double number, double side) {
  constexpr double kMost = 4096;
  const double twice = 2 * number * side;
  return twice >= 1 - kSingle && twice <= kMost && is_whole(twice);
}

// The side, half or a third of it or twice, and its last place; one or two over it; its root and its logarithms.
bool is_side(double number, double side) {
  return is_near_any(number, {side, side - 1, side / 2, (side - 1) / 2, 2 * side, side / 3, side * 2 / 3});
}
bool is_over_side(double number, double side) {
  return is_near_any(number, {1 / side, 2 / side, 0.5 / side, 1 / (side - 1), 2 / (side - 1), 3 / side, 1.5 / side});
}
bool is_function_of_side(double number, double side) {
  const double root = std::sqrt(side);
  return !is_whole(number) && is_near_any(number, {root, 1 / root, root / 2, 2 / root, std::log(side),
                                                   1 / std::log(side), std::log2(side), std::log1p(side)});
}

// Of a table: whether a number is the side, or all that are not plain are parts of it, and there are such.
bool are_parts(std::span<const double> numbers, double side) {
  bool any = false;
  for (const double each : numbers) {
    const double number = std::abs(each);
    if (is_side(number, side) && !is_round(number, 1)) return true;
    if (is_plain(number, 1)) continue;
    if (!is_share(number, side) && !is_share(number / (2 * std::numbers::pi), side) && !is_over_side(number, side) &&
        !is_function_of_side(number, side))
      return false;
    any = true;
  }
  return any;
}

// Of a number alone, or a few: whether one is the side or one over it, or several are parts of it.
bool are_alone_of(std::span<const double> numbers, double side) {
  size_t parts = 0, others = 0;
  for (const double each : numbers) {
    const double number = std::abs(each);
    if ((is_side(number, side) || is_over_side(number, side)) && !is_round(number, 1)) return true;
    if (is_function_of_side(number, side)) return true;
    if (is_plain(number, 2) || is_small_part(number)) continue;
    ++(is_share(number, side) ? parts : others);
  }
  return parts > 1 && others == 0;
}

// Lists of few numbers that are the same in every trace: of the last one, into which nothing is written.
std::vector<std::vector<double>> numbers_alone(const Lifting& l) {
  std::unordered_set<const ir::Tensor*> seen;
  for (const Difference& difference : l.alignment.differences) seen.insert(difference.tensors.back());
  std::vector<std::vector<double>> numbers;
  for (const ir::Node* node : l.traces.back().model->graph->nodes())
    for (const ir::Value* operand : node->inputs()) {
      const ir::Tensor* constant = operand ? operand->constant() : nullptr;
      if (!constant || constant->num_elements() > kMostAlone || !ir::is_floating(constant->data_type)) continue;
      if (!seen.insert(constant).second) continue;
      try {
        numbers.push_back(constant->to_double());
      } catch (const Error&) {
        continue;  // its data cannot be read
      }
    }
  return numbers;
}

struct Steady {
  dim::Dim size;
  int64_t at;
  std::set<int64_t> sides;  // of which numbers may be parts
  // Of an input; of what it is padded or cut to; of maps, which are small and many: numbers alone are none of these.
  enum class Of : uint8_t { kSide, kPieces, kMap } of;
};

// By which numbers the written model cuts sizes, and which it adds.
struct Integers {
  std::set<int64_t> pieces, added;
};
Integers integers_of(const std::vector<dim::Dim>& emitted) {
  Integers all;
  for (const dim::Dim size : emitted) {
    for_each_floor(size, [&](const dim::Atom& floor) {
      if (const auto divisor = floor.operands[1].constant(); divisor && *divisor > 1) all.pieces.insert(*divisor);
    });
    if (size.is_symbolic() && size.expr()->constant > INT32_MIN && size.expr()->constant < INT32_MAX)
      all.added.insert(std::abs(size.expr()->constant));
  }
  return all;
}

// Sizes of one side of an input, of tensors or computed, each with the same of another side.
std::vector<std::pair<Size, Size>> sizes_alike(const Lifting& l) {
  std::vector<dim::Dim> sizes = l.sizes->emitted();
  for (const ir::Node* node : l.traces.front().model->graph->nodes())
    for (const ir::Value* made : node->outputs())
      if (const auto shape = l.tensor_shapes.find(made); shape != l.tensor_shapes.end())
        std::ranges::copy(shape->second, std::back_inserter(sizes));
  std::unordered_set<const dim::Expr*> known, seen;
  for (const dim::Dim size : sizes)
    if (size.is_symbolic()) known.insert(size.expr());
  const auto are_dims = [](const Variable& one, const Variable& other) {
    return &one < &other && one.input == other.input && one.kind == Variable::Kind::kDim && other.kind == one.kind;
  };
  std::vector<std::pair<Size, Size>> alike;
  for (const dim::Dim size : sizes) {
    if (!size.is_symbolic() || !seen.insert(size.expr()).second) continue;
    const std::vector<int> symbols = dim::symbols_of(size);
    for (const Variable& own : l.variables) {
      if (symbols != std::vector<int>{id_of(own)}) continue;
      for (const Variable& other : l.variables) {
        if (!are_dims(own, other)) continue;
        const dim::Dim turned = dim::substitute(size, {{id_of(own), other.symbol}});
        if (!turned.is_symbolic() || !known.contains(turned.expr())) continue;
        Size one{size, in_traces(size, l.variables)}, same{turned, in_traces(turned, l.variables)};
        if (!one.at.empty() && !same.at.empty()) alike.emplace_back(std::move(one), std::move(same));
      }
    }
  }
  return alike;
}

// Extremes of sides, of what these are padded and cut to, and of sizes that the model computes alike of both.
std::vector<Steady> steady_extremes(const Lifting& l, const std::set<int64_t>& pieces) {
  std::vector<Steady> steady;
  const auto add = [&](const Size& size, const std::set<int64_t>& times, Steady::Of of) {
    const int64_t at = size.at.front();
    const auto is_it = [&](const Steady& known) { return dim::same(known.size, size.dim); };
    if (!size.dim.is_symbolic() || std::ranges::any_of(size.at, [&](int64_t each) { return each != at; })) return;
    if (at < 1 || std::ranges::any_of(steady, is_it)) return;
    Steady& each = steady.emplace_back(size.dim, at, std::set<int64_t>(), of);
    for (const int64_t by : times)
      if (at * by >= kSmallest) each.sides.insert(at * by);
  };
  for (const Size& extreme : extreme_sides(l.variables)) {
    add(extreme, {1}, Steady::Of::kSide);
    for (const int64_t piece : pieces) {
      const Size each = constant_size(piece, l.traces.size());
      add(each * ceil_div(extreme, each), {1}, Steady::Of::kPieces);
      add(each * (extreme / each), {1}, Steady::Of::kPieces);
    }
  }
  std::set<int64_t> cells = pieces;
  cells.insert(1);
  for (const auto& [one, other] : sizes_alike(l)) {
    add(smaller_of(one, other), cells, Steady::Of::kMap);
    add(larger_of(one, other), cells, Steady::Of::kMap);
  }
  return steady;
}

}  // namespace

void add_steady_extremes(Domain& domain, const Written& written) {
  const Lifting& l = written.lifting;
  const std::vector<Size> extremes = extreme_sides(l.variables);
  if (extremes.empty()) return;
  const Integers integers = integers_of(l.sizes->emitted());
  const std::vector<Steady> steady = steady_extremes(l, integers.pieces);
  if (steady.empty()) return;
  // A formula that has such a size is of it.
  const auto is_of_extreme = [&](const TableFit::Made& formula) {
    return std::ranges::any_of(formula.sizes, [&](dim::Dim size) {
      return std::ranges::any_of(extremes, [&](const Size& extreme) { return dim::same(size, extreme.dim); });
    });
  };
  const std::vector<std::vector<double>> alone = numbers_alone(l);
  for (const Steady& each : steady) {
    const bool holds = std::ranges::any_of(each.sides, [&](int64_t number) {
      const auto side = static_cast<double>(number);
      const bool is_integer = integers.pieces.contains(number) || integers.added.contains(number);
      return (each.of == Steady::Of::kSide && is_integer) ||
             (each.of != Steady::Of::kMap &&
              std::ranges::any_of(alone, [&](const auto& numbers) { return are_alone_of(numbers, side); })) ||
             std::ranges::any_of(l.tables, [&](const FittedTable& table) {
               return !table.fit.growing.empty() && std::ranges::any_of(table.fit.formulas, [&](const auto& formula) {
                 return !is_of_extreme(formula) && are_parts(formula.numbers, side);
               });
             });
    });
    if (holds) add_undecided(domain, {each.size, dim::Dim(each.at), ""});
  }
}

}  // namespace thaw::lifting
