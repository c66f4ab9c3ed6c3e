// Tables of several pieces: what is made for each level of a pyramid and joined, as the levels are where the model joins
// them. Each piece is a table of its own.
#include "thaw/lift/table/joined_pieces.h"

#include <utility>

#include <fmt/format.h>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_piece.h"

namespace thaw::lifting {

namespace {

std::vector<PiecesAlong> cut(std::span<const ir::Tensor* const> tensors, const JoinedSizes& joined) {
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
    PiecesAlong& way = all.emplace_back(PiecesAlong{axis, {}});
    std::vector<int64_t> begins(tensors.size(), 0);
    for (const std::vector<int64_t>& lengths : known->second) {
      std::vector<ir::Tensor>& piece = way.pieces.emplace_back();
      for (size_t k = 0; k < tensors.size(); ++k) {
        piece.push_back(piece_along(*tensors[k], axis, begins[k], lengths[k]));
        begins[k] += lengths[k];
      }
    }
  }
  return all;
}

}  // namespace

const std::vector<PiecesAlong>& JoinedPieces::ways() const {
  if (!ways_) ways_ = cut(tensors_, joined_);
  return *ways_;
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

std::optional<TableFit> fit_joined(const JoinedPieces& pieces, TableContext& context) {
  for (const PiecesAlong& each : pieces.ways()) {
    // Neither what stands around the whole table nor what is joined again tells more of its pieces.
    const Around around = std::exchange(context.around, {});
    JoinedSizes joined = std::exchange(context.joined, {});
    std::vector<TableFit> fits;
    for (const std::vector<ir::Tensor>& piece : each.pieces) {
      std::string reason;
      auto fit = fit_table(pointers_to(piece), context, reason);
      if (!fit) break;
      fits.push_back(std::move(*fit));
    }
    context.around = around;
    context.joined = std::move(joined);
    if (fits.size() == each.pieces.size()) return join(std::move(fits), each.axis);
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
