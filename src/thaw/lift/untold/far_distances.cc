#include "thaw/lift/untold/far_distances.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/infer/moved_values.h"
#include "thaw/lift/align/evidence.h"
#include "thaw/lift/align/trace_shapes.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {
namespace {

// By distance, from 0 on, of columns before and behind their row. The last column is the last row's.
struct Sides {
  std::vector<int64_t> before, behind;
};

bool put(std::vector<int64_t>& numbers, std::vector<bool>& known, int64_t distance, int64_t number) {
  const auto at = static_cast<size_t>(distance);
  if (known[at] && numbers[at] != number) return false;
  known[at] = true;
  numbers[at] = number;
  return true;
}

std::optional<Sides> numbers_by_distance(const ir::Tensor& table) {
  std::vector<int64_t> dims;
  for (const int64_t dim : table.dims)
    if (dim != 1) dims.push_back(dim);
  if (dims.size() != 2 || dims[0] < 3 || dims[1] < dims[0] || !ir::is_integer(table.data_type)) return std::nullopt;
  const int64_t rows = dims[0], columns = dims[1], shift = columns - rows;
  const std::vector<int64_t> numbers = table.to_int64();
  const auto length = static_cast<size_t>(columns);
  Sides sides{std::vector<int64_t>(length), std::vector<int64_t>(static_cast<size_t>(rows))};
  std::vector<bool> before(sides.before.size()), behind(sides.behind.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t distance = column - row - shift, number = numbers[static_cast<size_t>(row * columns + column)];
      if (distance <= 0 && !put(sides.before, before, -distance, number)) return std::nullopt;
      if (distance >= 0 && !put(sides.behind, behind, distance, number)) return std::nullopt;
    }
  }
  return sides;
}

bool goes_by(const std::vector<int64_t>& side, int64_t step, size_t from) {
  for (size_t i = from + 1; i < side.size(); ++i)
    if (side[i] != side[i - 1] + step) return false;
  return true;
}

// How many numbers there are where the value is an index, in every trace; nullopt where it is none, or they grow.
std::optional<int64_t> numbers_read_by(const ir::Value& value, const TraceShapes& shapes) {
  std::optional<int64_t> numbers;
  infer::visit_reads(value, [&](const ir::Use& use, const ops::Operator& op) {
    if (numbers || op.operands[use.index] != ops::Role::kIndex) return;
    const auto data = shapes.operand(use.node, op.operands.find(ops::Role::kData));
    const int64_t axis = use.node->attribute_int("axis", 0);
    const auto rank = static_cast<int64_t>(data ? data->dims.size() : 0);
    if (axis < rank && axis >= -rank) numbers = data->dims[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  });
  return numbers;
}

}  // namespace

std::optional<int64_t> open_distance(const ir::Tensor& table, int64_t numbers) {
  const auto sides = numbers_by_distance(table);
  if (!sides || numbers < 2) return std::nullopt;
  const int64_t half = numbers / 2;
  const auto is_open = [&](const std::vector<int64_t>& side, const std::vector<int64_t>& other) {
    if (side.size() < 3 || !goes_by(side, 1, 1) || goes_by(other, -1, 0)) return false;
    const bool is_shared = side[1] < half && other.size() > 1 && other[1] >= half;  // the other side has its own half
    return side.back() < (is_shared ? half : numbers) - 1;
  };
  if (is_open(sides->before, sides->behind)) return static_cast<int64_t>(sides->before.size()) - 1;
  if (is_open(sides->behind, sides->before)) return static_cast<int64_t>(sides->behind.size()) - 1;
  return std::nullopt;
}

void question_distances(Lifting& l) {
  std::optional<TraceShapes> shapes;
  for (const FittedTable& table : l.tables) {
    const Difference& difference = *table.readers.front();
    const ir::Tensor& largest = **std::ranges::max_element(
        difference.tensors, {}, [](const ir::Tensor* tensor) { return tensor->num_elements(); });
    if (!open_distance(largest, std::numeric_limits<int32_t>::max())) continue;
    if (!shapes) shapes.emplace(l.traces, l.variables, l.alignment);
    const auto numbers = numbers_read_by(*difference.value, *shapes);
    const auto reach = numbers ? open_distance(largest, *numbers) : std::nullopt;
    if (!reach) continue;
    l.report.unexplained.push_back(
        {place_of(difference),
         fmt::format(
             "it numbers distances one by one up to {}, the largest of these traces; which of the {} numbers that "
             "are read farther ones share is not determined: add a trace with distances of {} or more",
             *reach, *numbers, *numbers),
         evidence(difference.tensors)});
  }
}

}  // namespace thaw::lifting
