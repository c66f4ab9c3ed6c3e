// One pass over a weight: every block's scale, zero and codes, the codes in the order of their tensor. Internal to
// quant/blocks/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "thaw/ir/data/tensor_source.h"
#include "thaw/quant/blocks/packed_weight.h"

namespace thaw::quantizing::blocks {

// Integers of 2, 4 or 8 bits, one a byte, put together: the first in the lowest bits. `to` holds ceil(codes.size() * bits / 8) bytes.
// Each code has `flip` added without carry: the top bit of a code turns one of 0 to 2^bits - 1 into one with a sign.
void pack_codes(std::span<const uint8_t> codes, int bits, uint8_t flip, std::byte* to);

class BlockPass {
 public:
  struct Kept {
    std::vector<float> scales;      // in the order of their tensor
    std::vector<uint8_t> zeros;     // the same, one a byte
    std::vector<float> real_zeros;  // of a format that has such, instead
  };

  BlockPass(WeightMatrix weight, const BlockFormat& format, Layout layout, Method method, Importance importance);

  int64_t blocks() const { return blocks_; }
  const BlockFormat& format() const { return format_; }
  Layout layout() const { return layout_; }

  // run() follows soon: the system reads ahead what it reads first.
  void expect() const;
  // Passes on the codes, if `sink` is one, and fills `kept`, if it is there. On all processors; the sink is called from
  // this thread alone. Throws thaw::Error where a weight is NaN or infinite.
  void run(const ir::TensorSource::Sink& sink, Kept* kept) const;

 private:
  struct Range {
    int64_t first_n, last_n, first_block, last_block;
  };
  template <typename Emit>
  void quantize(const WeightMatrix::StoredRows& rows, Range range, bool words, Kept* kept, Emit emit) const;
  void quantize_columns(const WeightMatrix::StoredRows& rows, Range range, Kept* kept, std::byte* out) const;
  void run_columns(const ir::TensorSource::Sink& sink, Kept* kept) const;
  void run_strips(const WeightMatrix::StoredRows& rows, const ir::TensorSource::Sink& sink, Kept* kept) const;
  void run_as_stored(const ir::TensorSource::Sink& sink, Kept* kept) const;
  template <typename Each>
  void for_ranges(int64_t step, Each each) const;
  bool begins_with_a_byte(int64_t column) const;
  // Whether each tile's codes are whole bytes of the tensor, which several processors can write to at once.
  bool packs_by_tile() const;
  // Whether the bytes of codes are those of whole blocks, column after column.
  bool has_whole_blocks() const;

  WeightMatrix weight_;
  BlockFormat format_;
  Layout layout_;
  Method method_;
  Importance importance_;
  bool transposed_;  // the tensor of the codes is [n, k]
  int64_t blocks_;
};

}  // namespace thaw::quantizing::blocks
