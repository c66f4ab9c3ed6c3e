// A weight in blocks on its way into a model: three tensors that are made when it is saved, by one pass over the weight.
//
// Nothing of the weight's size is kept: its codes go out a chunk at a time, and its scales and zeros, which that pass
// gives too, wait until they have been written themselves. Whoever asks for them first, or again, costs another pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thaw/convert.h"
#include "thaw/ir/data/tensor.h"
#include "thaw/quant/blocks/importance.h"
#include "thaw/quant/blocks/weight_matrix.h"

namespace thaw::quantizing::blocks {

// How codes, scales and zeros lie in their tensors. blocks = ceil(k / block).
enum class Layout : uint8_t {
  // MatMulNBits': codes uint8 [n, blocks, block * bits / 8], scales [n * blocks], zeros uint8 [n * ceil(blocks * bits / 8)].
  // A column's last block is filled up. Real zeros are of the scales' type, [n * blocks].
  kColumns,
  // GatherBlockQuantized's of a transposed weight, [n, k]: codes uint8 [n, k * bits / 8], scales [n, blocks],
  // zeros uint8 [n, ceil(blocks * bits / 8)]. Where blocks fill k, its bytes are those of kColumns.
  kTable,
  // DequantizeLinear's: codes, scales and zeros lie as the weight does, [k, n] and [blocks, n], or transposed [n, k] and
  // [n, blocks]; codes of 2 and 4 bits follow each other without a gap. Symmetric ones are signed, around 0.
  kAsStored,
};
// Codes of 3 bits are uint8 [rows, 3] (three_bits.h), of what codes of 4 bits would be; symmetric ones are not signed, and
// their zeros, 4, not stored.
bool signed_codes(const BlockFormat& format, Layout layout);

struct AllDims {
  std::vector<int64_t> codes, scales, zeros;
};
// Those that nodes read, of 3 bits too.
AllDims dims_of(int64_t k, int64_t n, bool transposed, const BlockFormat& format, Layout layout);

struct BlockTensors {
  ir::Tensor codes, scales;
  std::optional<ir::Tensor> zeros;  // none where the format is symmetric
};

using Method = void (*)(const Tile&, const BlockFormat&, TileScales&);

// The tensors, without names. importance: how much errors count; may be empty.
// Writing them throws thaw::Error (kInvalidFile), which names the weight, where one of its numbers is NaN or infinite.
BlockTensors in_blocks(WeightMatrix weight, const BlockFormat& format, Layout layout, Method method,
                       Importance importance = {});

// The same of codes that are there: codes [n, blocks * block] and scales and zeros [n, blocks], as GPTQ returns them.
struct ChosenCodes {
  std::vector<uint8_t> codes;  // one a byte
  std::vector<float> scales;
  std::vector<uint8_t> zeros;
};
BlockTensors in_blocks(ChosenCodes chosen, int64_t k, int64_t n, bool transposed, const BlockFormat& format,
                       Layout layout);

}  // namespace thaw::quantizing::blocks
