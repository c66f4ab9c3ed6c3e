// The lines of an input that tells of several images or clips, one a line (grid_thw [num_images, 3]): each line's product
// is how many entries its image has.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/align/traces.h"
#include "thaw/lift/table/formula/formula.h"

namespace thaw::lifting {

struct InputLine {
  std::string input;
  int64_t index = 0;
  int64_t row = 0;  // how many elements a line has
  Size cells;       // their product

  std::string name() const;
  bool has(const Variable& v) const { return v.index / row == index; }  // an element of the input
};

// By input, of those whose values are told and that have two lines or more.
std::vector<std::vector<InputLine>> lines_of_inputs(std::span<const Variable> variables);

// How many of so many each line has, where one stands for a whole number of cells, or a cell for some: totals by trace.
std::optional<std::vector<Size>> shares_of(std::span<const InputLine> lines, std::span<const int64_t> totals);

// What the lines of one input make together.
std::optional<dim::Dim> sum_of_lines(std::span<const int64_t> at, std::span<const Variable> variables);

}  // namespace thaw::lifting
