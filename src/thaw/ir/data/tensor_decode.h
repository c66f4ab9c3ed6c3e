// Elements out of bytes, and bytes out of TensorProto's typed fields. Internal to ir/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/data/tensor.h"

namespace thaw::ir {

// "tensor 'name'", for messages.
std::string describe(const Tensor& tensor);

// The raw little-endian bytes of the typed data fields in `wire`. Their number may differ from what the dims need.
std::vector<std::byte> decode_typed(const Tensor& tensor, std::string_view wire);
std::vector<std::string> decode_strings(std::string_view wire);

// Elements of `bytes`, which have the right length for the tensor's type and dims. Throws for an integer out of range.
void decode_integers(const Tensor& tensor, std::span<const std::byte> bytes, std::vector<int64_t>& values);
void decode_reals(const Tensor& tensor, std::span<const std::byte> bytes, std::vector<double>& values);

}  // namespace thaw::ir
