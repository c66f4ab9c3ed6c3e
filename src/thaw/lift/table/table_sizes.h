// Sizes of tables: what the solver gives for a list of them in the traces, and what it leaves to tables.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "thaw/lift/solve/solve.h"
#include "thaw/lift/table/table_view.h"

namespace thaw::lifting {

// Two variables that add up to it in every trace: what was cached and what is new.
std::optional<dim::Dim> sum_of_two(std::span<const int64_t> at, std::span<const Variable> variables);

// at: the size in each trace. Beside what the solver knows: the cells of a grid whose sides were cut into parts and
// rounded, the sum of two sizes (of what was cached and what is new), and a size and a few more (a grid and its class
// token).
std::optional<Size> solve_size(std::vector<int64_t> at, const Solver& solver, const Around& around = {});

// Whether two variables are sides of one input, also in traces where one follows the other: 80 x 72 and 72 x 64 say nothing of others.
bool are_sides(const Variable& one, const Variable& other);

// Of each two sides of one input that differ: the shorter one, and the longer.
std::vector<Size> extreme_sides(std::span<const Variable> variables);
// Those that are no one side in all traces.
std::vector<Size> extremes_of_no_side(std::span<const Variable> variables);

// The same of what the entries of a table are counted by, and of where they change: sizes of the table itself are nearest, and no node says
// more of it. Of where they change the traces leave more open.
std::optional<Size> solve_count(std::vector<int64_t> at, const View& view, const Solver& solver);
std::optional<Size> solve_end(std::vector<int64_t> at, const View& view, const Solver& solver);

// That two sizes are one.
void add_equal(std::vector<Limit>& limits, dim::Dim a, dim::Dim b);

// Those of all inputs, and the shorter and the longer side of each.
std::vector<Size> sides_of_inputs(std::span<const Variable> variables);
// These, and the sizes of tensors.
std::vector<Size> known_sizes(const Solver& solver);

// Where one of these, or what else is as large as it in every trace, is so many times as large as the size in every trace: that it is. A number over
// the one is a number over the other there. kOther: where it is of other sides; a side and its own part are plainer than one another. An extreme
// is no part of an area: where one side is the longer in every trace, and the same, the area is as many times the shorter one. is_plain: the number
// is one over the size, or the size, and nothing so plain over such an extreme.
enum class OfSides : uint8_t { kOther, kAny };
std::vector<Limit> limits_of_multiples(const Size& size, const std::vector<Size>& others, OfSides sides,
                                       const Solver& solver, bool is_plain = false);

// Where positions, so many of them, are as far apart in every trace as a side over how many there are, rounded down, as torchvision spreads
// its anchors: that a model which takes the number runs where it is this quotient. None where they are not.
std::vector<Limit> limits_of_step(int64_t step, const Size& count, const Solver& solver);

}  // namespace thaw::lifting
