// A tensor's bytes a chunk at a time, whatever holds them: tensors of any size pass through little memory.
#pragma once

#include <cstddef>

#include "thaw/ir/data/tensor.h"
#include "thaw/ir/data/tensor_source.h"

namespace thaw::ir {

// Passes on all bytes, from first to last: of a tensor that is there, chunks of so many bytes, whose pages of a mapped file
// are given back behind them; of one that is made, the chunks in which it is.
void for_chunks(const Tensor& tensor, size_t most, const TensorSource::Sink& each);

}  // namespace thaw::ir
