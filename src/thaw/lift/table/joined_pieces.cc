// Tables of several pieces: what is made for each level of a pyramid and joined, as the levels are where the model joins
// them. Each piece is a table of its own.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_piece.h"

namespace thaw::lifting {
std::optional<TableFit> fit_joined(std::span<const ir::Tensor* const> tensors, TableContext& context) {
  const size_t rank = tensors.front()->dims.size();
  for (const ir::Tensor* tensor : tensors)
    if (tensor->dims.size() != rank || tensor->data_type != tensors.front()->data_type || !can_be_cut(*tensor))
      return std::nullopt;
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
        parts.push_back(piece_along(*tensors[k], axis, begins[k], lengths[k]));
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
