#include "thaw/lift/table/table_piece.h"

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

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

std::vector<PiecesAlong> joined_pieces(std::span<const ir::Tensor* const> tensors, const JoinedSizes& joined) {
  std::vector<PiecesAlong> all;
  const ir::Tensor& first = *tensors.front();
  for (const ir::Tensor* tensor : tensors)
    if (tensor->dims.size() != first.dims.size() || tensor->data_type != first.data_type || !can_be_cut(*tensor))
      return all;
  for (size_t axis = 0; axis < first.dims.size(); ++axis) {
    std::vector<int64_t> at;
    for (const ir::Tensor* tensor : tensors) at.push_back(tensor->dims[axis]);
    const auto known = joined.find(at);
    if (known == joined.end()) continue;
    PiecesAlong& cut = all.emplace_back(PiecesAlong{axis, {}});
    std::vector<int64_t> begins(tensors.size(), 0);
    for (const std::vector<int64_t>& lengths : known->second) {
      std::vector<ir::Tensor>& piece = cut.pieces.emplace_back();
      for (size_t k = 0; k < tensors.size(); ++k) {
        piece.push_back(piece_along(*tensors[k], axis, begins[k], lengths[k]));
        begins[k] += lengths[k];
      }
    }
  }
  return all;
}

std::vector<const ir::Tensor*> pointers_to(const std::vector<ir::Tensor>& tensors) {
  std::vector<const ir::Tensor*> list;
  for (const ir::Tensor& tensor : tensors) list.push_back(&tensor);
  return list;
}

TableFit join(std::vector<TableFit> pieces, size_t axis) {
  TableFit out;
  out.description = fmt::format("{} pieces joined: {}", pieces.size(), pieces.front().description);
  out.emit = [pieces = std::move(pieces), axis](TableEmitter& e) {
    std::vector<ir::Value*> made;
    for (const TableFit& piece : pieces) made.push_back(piece.emit(e));
    return e.concat(made, static_cast<int64_t>(axis));
  };
  return out;
}

}  // namespace thaw::lifting
