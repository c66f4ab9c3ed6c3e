// Making a loop's body right on a padded window: what mixes positions must not see the padding. Internal to lift/.
//
// Positions that are apart stay apart: elementwise operators, products with weights and norms of each position give
// padding for padding, which is cut off in the end. A softmax over the window, a sum, mean or largest of it, and a
// product that contracts it, are masked. For any other operator that meets the window's axis the reason is given.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "thaw/ir/graph/model.h"

namespace thaw::lifting {

// body: a model of one window. Axes of the size that its inputs call `length` are the window's; every output has one,
// at output_axes. mask: its input of type bool [1, length]. Changes the model and returns nullopt, or returns why it
// cannot: "Softmax 'x' …".
std::optional<std::string> mask_padding(ir::Model& body, const std::string& length, ir::Value* mask,
                                        std::span<const int64_t> output_axes);

}  // namespace thaw::lifting
