#include "thaw/frozen/rows.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/dim/expr/expr.h"

namespace thaw::frozen {

namespace {

constexpr int64_t kMostNumbers = 1 << 22;

// The bytes of a table as blocks: for each position of the axes before, the positions of the axis one after the other.
struct Blocks {
  size_t outer = 1, positions = 1, size = 0;  // size: bytes of a position
};

std::optional<Blocks> blocks_of(const ir::Tensor& table, int axis) {
  if (axis < 0 || axis >= std::ssize(table.dims) || table.data_type == ir::DataType::kString) return std::nullopt;
  const int64_t numbers = table.num_elements();
  if (numbers < 1 || numbers > kMostNumbers) return std::nullopt;
  Blocks blocks;
  for (int k = 0; k < axis; ++k) blocks.outer *= static_cast<size_t>(table.dims[static_cast<size_t>(k)]);
  blocks.positions = static_cast<size_t>(table.dims[static_cast<size_t>(axis)]);
  const size_t bytes = table.bytes().size(), parts = blocks.outer * blocks.positions;
  // Numbers of less than a byte share bytes.
  if (bytes % static_cast<size_t>(numbers) != 0 || bytes % parts != 0) return std::nullopt;
  blocks.size = bytes / parts;
  return blocks;
}

bool repeats(std::span<const std::byte> bytes, const Blocks& blocks, size_t count) {
  const size_t row = blocks.positions * blocks.size, first = count * blocks.size;
  for (size_t k = 0; k < blocks.outer; ++k) {
    const auto all = bytes.subspan(k * row, row);
    // What is repeated is equal to itself, moved on by one of them.
    if (!std::ranges::equal(all.first(row - first), all.subspan(first))) return false;
  }
  return true;
}

}  // namespace

std::optional<Repeated> repeated_along(const ir::Tensor& table, int axis, dim::Dim size) {
  try {
    const auto blocks = blocks_of(table, axis);
    if (!blocks) return std::nullopt;
    const auto positions = static_cast<int64_t>(blocks->positions);
    for (int64_t count = 1; count < positions; ++count) {
      if (positions % count != 0) continue;
      const auto times = dim::exact_div(size, count);
      if (times && repeats(table.bytes(), *blocks, static_cast<size_t>(count))) return Repeated{count, *times};
    }
  } catch (const Error&) {
    // Its bytes cannot be read.
  }
  return std::nullopt;
}

ir::Tensor first_along(const ir::Tensor& table, int axis, int64_t count) {
  const Blocks blocks = *blocks_of(table, axis);
  const auto bytes = table.bytes();
  std::vector<std::byte> kept;
  const size_t row = blocks.positions * blocks.size, size = static_cast<size_t>(count) * blocks.size;
  for (size_t k = 0; k < blocks.outer; ++k) {
    const auto first = bytes.subspan(k * row, size);
    kept.insert(kept.end(), first.begin(), first.end());
  }
  std::vector<int64_t> dims = table.dims;
  dims[static_cast<size_t>(axis)] = count;
  return ir::Tensor::from_bytes({}, table.data_type, std::move(dims), std::move(kept));
}

}  // namespace thaw::frozen
