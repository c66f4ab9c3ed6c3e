// Tables of several pieces: what is made for each level of a pyramid and joined, as the levels are where the model joins
// them. Each piece is a table of its own.
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"

namespace thaw::lifting {
namespace {

// The entries [begin, begin + count) of an axis.
ir::Tensor piece_of(const ir::Tensor& table, size_t axis, int64_t begin, int64_t count) {
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

}  // namespace

std::optional<TableFit> fit_joined(std::span<const ir::Tensor* const> tensors, TableContext& context) {
  const size_t rank = tensors.front()->dims.size();
  for (const ir::Tensor* tensor : tensors)
    if (tensor->dims.size() != rank || tensor->data_type != tensors.front()->data_type) return std::nullopt;
  for (size_t axis = 0; axis < rank; ++axis) {
    std::vector<int64_t> at;
    for (const ir::Tensor* tensor : tensors) at.push_back(tensor->dims[axis]);
    const auto known = context.joined.find(at);
    if (known == context.joined.end()) continue;
    const std::vector<std::vector<int64_t>> pieces = known->second;
    // Neither what stands around the whole table nor what is joined again tells more of its pieces.
    const Around around = std::exchange(context.around, {});
    JoinedSizes joined = std::exchange(context.joined, {});
    std::vector<TableFit> fits;
    std::vector<int64_t> begins(tensors.size(), 0);
    for (const std::vector<int64_t>& lengths : pieces) {
      std::vector<ir::Tensor> parts;
      std::vector<const ir::Tensor*> list;
      for (size_t k = 0; k < tensors.size(); ++k) {
        parts.push_back(piece_of(*tensors[k], axis, begins[k], lengths[k]));
        begins[k] += lengths[k];
      }
      for (const ir::Tensor& part : parts) list.push_back(&part);
      std::string reason;
      auto fit = fit_table(list, context, reason);
      if (!fit) break;
      fits.push_back(std::move(*fit));
    }
    context.around = around;
    context.joined = std::move(joined);
    if (fits.size() != pieces.size()) continue;
    TableFit out;
    out.description = fmt::format("{} pieces joined: {}", fits.size(), fits.front().description);
    out.emit = [fits, axis](TableEmitter& e) {
      std::vector<ir::Value*> made;
      for (const TableFit& fit : fits) made.push_back(fit.emit(e));
      return e.concat(made, static_cast<int64_t>(axis));
    };
    return out;
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
