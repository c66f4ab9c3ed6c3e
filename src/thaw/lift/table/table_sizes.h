// Sizes of tables: what the solver gives for a list of them in the traces, and what it leaves to tables.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "thaw/lift/solve/solve.h"
#include "thaw/lift/table/formula.h"

namespace thaw::lifting {

// Two variables that add up to it in every trace: what was cached and what is new.
std::optional<dim::Dim> sum_of_two(std::span<const int64_t> at, std::span<const Variable> variables);

// at: the size in each trace. Beside what the solver knows: the cells of a grid whose sides were cut into parts and
// rounded, the sum of two sizes (of what was cached and what is new), and a size and a few more (a grid and its class
// token).
std::optional<Size> solve_size(std::vector<int64_t> at, const Solver& solver, const Around& around = {});

}  // namespace thaw::lifting
