#include "thaw/lift/steady_extremes.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <set>
#include <span>
#include <unordered_set>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

constexpr double kLevels[] = {255, 127.5, 128};  // of 8 bits
constexpr double kSingle = 2.5e-7;               // how far a number in float32 may be from what it was

bool is_near(double a, double b) { return std::abs(a - b) <= kSingle * std::abs(b); }
bool is_whole(double value) { return std::abs(value - std::round(value)) <= kSingle * std::max(1.0, std::abs(value)); }

// 0.5, 3, 0.1, and levels of 8 bits: nobody writes these as a share of a side.
bool is_plain(double number) {
  const auto is_of = [&](double level) { return is_near(number, level) || is_near(number, 1 / level); };
  return std::ranges::any_of(kLevels, is_of) || is_whole(number * 16) || is_whole(number * 10);
}

// A part of the side that is whole or a half.
bool is_share(double number, double side) {
  constexpr double kMost = 4096;
  const double twice = 2 * number * side;
  return twice >= 1 - kSingle && twice <= kMost && is_whole(twice);
}

// The side, half of it or twice, and its last place.
bool is_side(double number, double side) {
  return std::ranges::find(kLevels, number) == std::end(kLevels) &&
         std::ranges::any_of(std::initializer_list<double>{side, side - 1, side / 2, (side - 1) / 2, 2 * side},
                             [&](double each) { return number == each; });
}

// Whether the numbers that are not plain are all shares of the side, and there are such.
bool are_shares(std::span<const double> numbers, double side) {
  bool any = false;
  for (const double each : numbers) {
    const double number = std::abs(each);
    if (is_side(number, side)) return true;
    if (is_plain(number)) continue;
    if (!is_share(number, side) && !is_share(number, side - 1)) return false;
    any = true;
  }
  return any;
}

// Numbers that stand alone and are the same in every trace: of the last one, into which nothing is written.
std::vector<double> numbers_alone(const Lifting& l) {
  std::unordered_set<const ir::Tensor*> differ;
  for (const Difference& difference : l.alignment.differences) differ.insert(difference.tensors.back());
  std::vector<double> numbers;
  for (const ir::Node* node : l.traces.back().model->graph->nodes())
    for (const ir::Value* operand : node->inputs()) {
      const ir::Tensor* constant = operand ? operand->constant() : nullptr;
      if (!constant || constant->num_elements() != 1 || !ir::is_floating(constant->data_type)) continue;
      if (differ.contains(constant)) continue;
      try {
        numbers.push_back(constant->to_double().front());
      } catch (const Error&) {
        continue;  // its data cannot be read
      }
    }
  return numbers;
}

}  // namespace

void add_steady_extremes(Domain& domain, const Lifting& l) {
  const size_t traces = l.traces.size();
  std::set<int64_t> pieces;  // into which the model cuts sizes
  for (const dim::Dim size : l.sizes->emitted())
    for_each_floor(size, [&](const dim::Atom& floor) {
      if (const auto divisor = floor.operands[1].constant(); divisor && *divisor > 1) pieces.insert(*divisor);
    });
  std::vector<Size> steady;
  const auto add = [&](Size size) {
    const int64_t at = size.at.front();
    if (at > 0 && std::ranges::all_of(size.at, [&](int64_t each) { return each == at; }))
      steady.push_back(std::move(size));
  };
  for (const Size& extreme : extreme_sides(l.variables)) {
    add(extreme);
    for (const int64_t piece : pieces) {
      const Size each = constant_size(piece, traces);
      add(each * ceil_div(extreme, each));
      add(each * (extreme / each));
    }
  }
  const std::vector<double> alone = steady.empty() ? std::vector<double>() : numbers_alone(l);
  for (const Size& size : steady) {
    const auto side = static_cast<double>(size.at.front());
    const auto holds_shares = [&](std::span<const double> numbers) { return are_shares(numbers, side); };
    const bool in_table = std::ranges::any_of(l.tables, [&](const FittedTable& table) {
      return !table.fit.growing.empty() && std::ranges::any_of(table.fit.numbers, holds_shares);
    });
    // Alone, powers of two are scales.
    const auto is_share_alone = [&](const double& number) {
      int exponent = 0;
      const bool is_power = std::frexp(std::abs(number), &exponent) == 0.5 && !is_near(std::abs(number), 1 / side);
      return !is_power && holds_shares({&number, 1});
    };
    if (in_table || std::ranges::any_of(alone, is_share_alone))
      add_undecided(domain, {size.dim, dim::Dim(size.at.front()), ""});
  }
}

}  // namespace thaw::lifting
