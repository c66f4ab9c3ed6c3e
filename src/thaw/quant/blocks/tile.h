// Sixteen blocks of weights beside each other: what every method works on.
//
// A weight's column (its row, where it is stored transposed) is cut into blocks along the axis that a product sums over. A
// tile holds the same block of sixteen columns, a column a lane, so that all that is computed of a block (its extremes,
// its least squares) is computed of sixteen at once and nothing crosses lanes.
//
//   weight ~ scale * (code - zero),  code and, but for real zeros, zero integers of 0 to 2^bits - 1
#pragma once

#include <cstdint>

#include "thaw/ir/data/types.h"

namespace thaw::quantizing::blocks {

inline constexpr int64_t kLanes = 16;
inline constexpr int kLargestBlock = 256;

// Codes that stand for numbers which the scales' type holds: near 65504, the outermost of float16's may not.
struct CodeRange {
  float lowest, highest;
};

struct BlockFormat {
  int bits = 4;             // 2, 3, 4 or 8
  int64_t block = 32;       // weights that share a scale: 16, 32, 64, 128 or 256
  bool symmetric = false;   // the zero of each block is the middle code, 2^(bits - 1), and not stored
  bool real_zeros = false;  // zeros of the scales' type, which need be no codes
  ir::DataType scale_type = ir::DataType::kFloat;  // kFloat, kFloat16 or kBfloat16: what scales are rounded to

  int levels() const { return (1 << bits) - 1; }
  int middle() const { return 1 << (bits - 1); }
  float largest() const;  // of the numbers that the scales' type holds
  CodeRange codes_held(float scale, float zero) const;
  int stored_bits() const { return bits == 3 ? 4 : bits; }  // that a code has for the nodes that read it
  bool operator==(const BlockFormat&) const = default;
};

struct Tile {
  alignas(64) float weights[kLargestBlock * kLanes];  // [count, kLanes]
  // How much the square of an error at each position of the block counts; 1 where nothing is known of the inputs.
  alignas(64) float importance[kLargestBlock];
  // How much it counts in the sum whose square counts too: what the inputs are on the average.
  alignas(64) float means[kLargestBlock];
  bool weighted = false;  // whether importance and means are set
  int count = 0;          // positions that the block has: fewer than its length at the end of a column
};

struct TileScales {
  alignas(64) float scale[kLanes];  // never 0; may be negative
  alignas(64) float zero[kLanes];   // integers, or real
  alignas(
      64) float step[kLanes];  // codes are the nearest to weight / step + zero: the scale, or of `search` a little less
};

// The methods that need nothing but the weights. Weights must be finite. A block of zeros has scale 1.
//
// From the extremes, as ONNX Runtime has it: with zero points the range is widened to hold 0; without, the weight of
// largest magnitude becomes the code 0, which is farther from the middle than the largest code.
void rtn(const Tile& tile, const BlockFormat& format, TileScales& result);
// Least sum of importance * error^2, over scales and integer zeros, and then as long as the weights are (keep_norm); never
// worse than rtn in any block.
void search(const Tile& tile, const BlockFormat& format, TileScales& result);
// The same over real zeros, which need not be within the codes: least squares yield both. Never worse than `search`.
void search_real(const Tile& tile, const BlockFormat& format, TileScales& result);
// Makes the scales of a result of least squares larger until its codes are as long as the weights along them, no further
// than its errors are below those of `other`. The other is taken where it is as good.
void keep_norm(const Tile& tile, const BlockFormat& format, const TileScales& other, TileScales& result);
// Half-quadratic splitting (Badri and Shaji 2023): the scale and zero near rtn's that make sum |error|^0.7 small.
void hqq(const Tile& tile, const BlockFormat& format, TileScales& result);

// Codes [format.block, kLanes], the nearest of each weight. Positions past the tile's count get the zero of their block.
// Returns whether all weights were finite.
bool encode(const Tile& tile, const BlockFormat& format, const TileScales& scales, uint8_t* codes);
// The same, of a weighted tile: codes then move by one where that makes  sum of importance * error^2 + (sum of means * error)^2
// less, the best move first, until none does. Rounding each by itself leaves that sum to chance, which is most of what outputs
// are off where inputs are about the same at all times.
bool encode_about_means(const Tile& tile, const BlockFormat& format, const TileScales& scales, uint8_t* codes);
// As `encode`, a block's codes as words [format.block * stored_bits / 32, kLanes], the first code in the lowest bits.
bool encode_packed(const Tile& tile, const BlockFormat& format, const TileScales& scales, uint32_t* words);

}  // namespace thaw::quantizing::blocks
