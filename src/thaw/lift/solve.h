// Solving an integer that differs between traces: the simplest expression of the variables that gives it in each.
//
// In this order: a constant; a variable; its multiple or exact part; a product of two, times or over a constant; a sum
// with a constant, or what is left of one; one over another; a quotient or share by small numbers, rounded; a product
// of three; the larger or smaller of two. Variables are tried in their order, dims before values. Three traces at sizes
// that are no multiples of each other leave little room for chance; two leave more. One leaves so much that the
// cheapest proposal is taken (propose.h), which may be the integer itself, and something else has to confirm it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "thaw/lift/traces.h"

namespace thaw::lift {

class Solver {
 public:
  // settled: of one trace, what an integer is where that was decided otherwise.
  explicit Solver(std::span<const Variable> variables, std::map<int64_t, dim::Dim> settled = {})
      : variables_(variables), settled_(std::move(settled)) {}

  // wanted: the value in each trace. nullopt where nothing that simple gives it.
  std::optional<dim::Dim> solve(std::span<const int64_t> wanted) const;
  std::span<const Variable> variables() const { return variables_; }

 private:
  std::span<const Variable> variables_;
  std::map<int64_t, dim::Dim> settled_;
};

}  // namespace thaw::lift
