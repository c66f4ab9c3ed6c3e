// Tables of several pieces: what is made for each level of a pyramid and joined, as the levels are where the model joins
// them. Each piece is a table of its own.
#include <utility>

#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_piece.h"

namespace thaw::lifting {
std::optional<TableFit> fit_joined(std::span<const ir::Tensor* const> tensors, TableContext& context) {
  for (const PiecesAlong& each : joined_pieces(tensors, context.joined)) {
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
