// The simplifications of `clean`: standard operators only, the same numbers bit for bit. A file a table.
#pragma once

#include <span>

#include "thaw/optimize/simplify.h"

namespace thaw::optimizing {

std::span<const Simplification> identities();      // nodes that give what they take
std::span<const Simplification> merged_layouts();  // Transposes, Reshapes, Slices, Concats, Pads that follow each other
std::span<const Simplification> merged_numbers();  // Casts, limits, signs, conditions that follow each other
std::span<const Simplification> merged_reductions();   // reductions, stretches of shapes, conditions as numbers
std::span<const Simplification> kept_sizes();          // targets of Reshapes that keep sizes where they are
std::span<const Simplification> directml_forms();      // what DirectML has no kernel for, or a slow one
std::span<const Simplification> equal_quantization();  // dequantized and quantized alike
std::span<const Simplification> plain_einsums();
std::span<const Simplification> plain_sequences();     // sequences and optionals that are tensors
std::span<const Simplification> whole_convolutions();  // of `fuse`: of patches as large as the kernel

}  // namespace thaw::optimizing
