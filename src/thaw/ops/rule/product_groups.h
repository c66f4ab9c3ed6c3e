// Which axes of a reshaping's input became which axes of its output: those of which as many elements are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "thaw/ops/rule/fact.h"

namespace thaw::ops {

// Runs of axes [in_begin, in_end) and [out_begin, out_end) with equal products, as short as can be.
struct AxisGroup {
  size_t in_begin, in_end, out_begin, out_end;
};

// The groups in order, as far as products agree. Sizes are positive; or they are what each axis has in several traces, where the
// products agree in all of them.
std::vector<AxisGroup> leading_groups(std::span<const int64_t> in, std::span<const int64_t> out);
std::vector<AxisGroup> leading_groups(std::span<const std::vector<int64_t>> in,
                                      std::span<const std::vector<int64_t>> out);

// The groups in order, covering all axes; nullopt where the products do not agree. Sizes are positive.
std::optional<std::vector<AxisGroup>> group_by_product(const std::vector<int64_t>& in, const std::vector<int64_t>& out);

// Both shapes as products of the same factors in the same order: what is left where no number says which of two products is the
// less, and one size must be divided by the other. An axis of 1 has no factor.
struct CommonFactors {
  std::vector<size_t> axes;                 // the axis of the input that each comes from, ascending
  std::vector<std::vector<size_t>> of_out;  // which of them an axis of the output is the product of, in order
};
// nullopt where sizes are not known to be multiples of each other.
std::optional<CommonFactors> common_factors(const Shape& in, const Shape& out);

}  // namespace thaw::ops
