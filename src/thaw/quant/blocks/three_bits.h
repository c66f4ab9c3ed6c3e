// Codes of 3 bits. No type of ONNX's and no kernel has them: eight lie in three bytes of the file, and a few nodes in front of
// what reads them make two codes a byte of them again, as codes of 4 bits lie. ONNX Runtime computes that once, at load.
//
//   Of four bytes with two codes each, 0ccc0ccc:
//     byte 0 = lows of the first | lows of the second << 2     (lows: of both codes the low two bits, 00cc00cc)
//     byte 1 = lows of the third | lows of the fourth << 2
//     byte 2 = of all four the high bits, 000c000c, the second's << 1, the third's << 2, the fourth's << 3
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thaw/ir/data/tensor_source.h"
#include "thaw/ops/rule/emit.h"

namespace thaw::quantizing::blocks {

// Rows of three bytes that so many bytes of two codes each become; the last may be filled up with zeros.
int64_t rows_of_three(int64_t num_bytes);

// Passes on bytes of two codes each, chunk by chunk, as rows of three bytes; the rest when it is finished.
class ThreeBitPacker {
 public:
  explicit ThreeBitPacker(ir::TensorSource::Sink sink) : sink_(std::move(sink)) {}
  void add(std::span<const std::byte> pairs);
  void finish();

 private:
  ir::TensorSource::Sink sink_;
  std::vector<std::byte> left_, out_;
};

// packed: uint8 [rows, 3]. The result: uint8 of these dims, two codes a byte.
ir::Value* pairs_of_codes(const ops::Emit& at, ir::Value* packed, const std::vector<int64_t>& dims);
// The result: uint4 of these dims, 0 to 7.
ir::Value* single_codes(const ops::Emit& at, ir::Value* packed, const std::vector<int64_t>& dims);

// Whether codes are computed of such a tensor, by either.
bool is_of_three_bits(const ir::Value* codes);

// The middle code for every block: the zeros of symmetric blocks, which codes of 4 bits have elsewhere.
ir::Value* middle_pairs(const ops::Emit& at, const std::vector<int64_t>& dims);  // uint8, two a byte
ir::Value* middle_codes(const ops::Emit& at, const std::vector<int64_t>& dims);  // uint4

}  // namespace thaw::quantizing::blocks
