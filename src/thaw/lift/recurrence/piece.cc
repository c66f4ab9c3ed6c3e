#include "thaw/lift/recurrence/piece.h"

#include <algorithm>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/slice.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::lifting {
namespace {

using ops::Role;

// Sets the axis and what the whole has of it.
bool place_axis(Piece& piece, int64_t axis, const infer::Result& facts) {
  const auto shape = ops::constant_shape(facts.fact(piece.whole).shape);
  if (!shape) return false;
  const auto rank = static_cast<int64_t>(shape->size());
  piece.axis = axis < 0 ? axis + rank : axis;
  if (piece.axis < 0 || piece.axis >= rank) return false;
  piece.size = (*shape)[static_cast<size_t>(piece.axis)];
  return true;
}

std::optional<Piece> piece_of_slice(ir::Node& node, const infer::Result& facts) {
  Piece piece{.whole = node.input(0)};
  const auto written = written_slice(node);
  if (!written || !place_axis(piece, written->axis, facts)) return std::nullopt;
  const auto place = [&](int64_t at) {
    return std::clamp(at < 0 ? std::max(at, -piece.size) + piece.size : at, int64_t{0}, piece.size);
  };
  piece.begin = place(written->begin);
  piece.length = place(written->end) - piece.begin;
  return piece.length > 0 ? std::optional(piece) : std::nullopt;
}

std::optional<Piece> piece_of_gather(const ir::Node& node, const infer::Result& facts) {
  Piece piece{.whole = node.input(0)};
  const auto index = only_integer(node, 1);
  if (!index || !place_axis(piece, node.attribute_int("axis", 0), facts)) return std::nullopt;
  const size_t rank = constant_operand(node, 1)->dims.size();  // of GatherElements, as many as there are axes
  if (rank > 1 || *index < -piece.size || *index >= piece.size) return std::nullopt;
  piece.begin = *index < 0 ? *index + piece.size : *index;
  piece.keeps_axis = rank == 1;
  return piece;
}

}  // namespace

std::optional<Piece> piece_of(const ir::Value& value, const infer::Result& facts) {
  ir::Node* node = value.producer();
  if (!node || !node->domain().empty() || !node->input(0)) return std::nullopt;
  if (ops::role_of(*node, 1) == Role::kBounds) return piece_of_slice(*node, facts);
  const ops::Operator* op = ops::registry().find(*node);
  const bool picks = op && op->moves_elements() && node->inputs().size() == 2 && ops::role_of(*node, 1) == Role::kIndex;
  if (picks && op->role_of_attribute("axis") == Role::kAxes) return piece_of_gather(*node, facts);
  const auto slice = slice_of(value);
  Piece piece{.whole = node->input(0)};
  if (!slice || !place_axis(piece, slice->axis, facts)) return std::nullopt;
  piece.begin = slice->begin;
  piece.length = slice->length();
  return piece;
}

}  // namespace thaw::lifting
