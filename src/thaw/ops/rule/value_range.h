// Between what the integers of a tensor lie: what an entry says of its outputs by its operands' (Operator::range).
//
// Small tensors are followed element by element; of the others, tables of positions and what is computed from them, this is what
// tells that they name rows of a table.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/ops/rule/context.h"

namespace thaw::ops {

// The numbers of elements, each expression once, constants as their lowest and highest; nullopt where one is not known, or there are
// more expressions than `most`.
struct Numbers {
  std::vector<dim::Dim> expressions;
  std::optional<int64_t> lowest, highest;
};
std::optional<Numbers> numbers_of(const Elements& elements, size_t most);

// Of elements that are all known; nullopt for others, for none, and for too many expressions.
std::optional<ValueRange> range_of_elements(const Elements& elements);
// Of a constant's integers; nullopt where there are none, or too many to read.
std::optional<ValueRange> range_of_constant(const ir::Tensor& tensor);
// Whatever lies in one of the two: where an end is not known, that end is unknown.
ValueRange hull(const ValueRange& a, const ValueRange& b);

// RangeRules.
void range_moved(Context& ctx);    // every output holds some numbers of the operands whose role is kData
void range_kept(Context& ctx);     // the same, and where there are any, all of them
void range_reduced(Context& ctx);  // each is one of those that were reduced; of none, there is no telling
void range_of_sum(Context& ctx);
void range_of_difference(Context& ctx);
void range_of_product(Context& ctx);
void range_of_quotient(Context& ctx);
void range_of_modulo(Context& ctx);
void range_negated(Context& ctx);
void range_of_sizes(Context& ctx);  // Abs
void range_of_lesser(Context& ctx);
void range_of_greater(Context& ctx);
void range_clipped(Context& ctx);
void range_cast(Context& ctx);

}  // namespace thaw::ops
