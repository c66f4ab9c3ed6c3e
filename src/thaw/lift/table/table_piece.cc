#include "thaw/lift/table/table_piece.h"

#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace thaw::lifting {

bool can_be_cut(const ir::Tensor& table) {
  constexpr int kByte = 8;
  const int bits = ir::bits_of(table.data_type);
  return bits > 0 && bits % kByte == 0;
}

ir::Tensor piece_along(const ir::Tensor& table, size_t axis, int64_t begin, int64_t count) {
  std::vector<int64_t> dims = table.dims;
  const auto num_entries = static_cast<size_t>(table.num_elements());
  const std::span<const std::byte> bytes = table.bytes();
  size_t inner = num_entries == 0 ? 0 : bytes.size() / num_entries;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<size_t>(dims[i]);
  const size_t outer = inner == 0 ? 0 : bytes.size() / inner / static_cast<size_t>(dims[axis]);
  const size_t step = inner * static_cast<size_t>(dims[axis]), taken = inner * static_cast<size_t>(count);
  std::vector<std::byte> out(outer * taken);
  for (size_t i = 0; i < outer; ++i)
    std::memcpy(out.data() + i * taken, bytes.data() + i * step + static_cast<size_t>(begin) * inner, taken);
  dims[axis] = count;
  return ir::Tensor::from_bytes(table.name, table.data_type, std::move(dims), std::move(out));
}

}  // namespace thaw::lifting
