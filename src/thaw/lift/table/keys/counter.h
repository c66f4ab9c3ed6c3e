// What the rows of a table may be counted by: an integer, below a size, as a function of the row.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thaw/lift/table/table_view.h"

namespace thaw::lifting {

class Counter {
 public:
  // rows: of the table; range: what the counter is below.
  Counter(std::string name, Formula formula, Size rows, Size range)
      : name_(std::move(name)), formula_(std::move(formula)), rows_(std::move(rows)), range_(std::move(range)) {}

  const std::string& name() const { return name_; }
  const Formula& formula() const { return formula_; }  // over axis 0
  const Size& range() const { return range_; }
  // Of each row in a trace; computed once.
  const std::vector<int64_t>& at(size_t trace) const;
  // Of one row.
  int64_t at_row(size_t trace, int64_t row) const;
  // Of a few rows of the first trace, which tell most of what does not count a column.
  const std::vector<int64_t>& of_few() const;

 private:
  // Of so many rows, from one on.
  std::vector<int64_t> counted(size_t trace, int64_t from, int64_t rows) const;

  std::string name_;
  Formula formula_;
  Size rows_, range_;
  mutable std::map<size_t, std::vector<int64_t>> known_;
  mutable std::vector<int64_t> few_;
};
using CounterPtr = std::shared_ptr<const Counter>;

// Digits that a column speaks for: how long its entries stay the same, and after how many they come again. Each is the
// row divided by a size, the rest of it, or both.
std::vector<CounterPtr> digits_of(const View& view, int64_t column, const Solver& solver);

}  // namespace thaw::lifting
