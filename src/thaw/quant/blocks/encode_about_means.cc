#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/quant/blocks/encode_about_means.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "thaw/quant/blocks/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thaw::quantizing::blocks::HWY_NAMESPACE {

// Errors are in steps: squares of weights may be too small for a float.
struct Lanes {
  int first;
  Coding coding;
  V scale;  // that codes are multiplied by, in steps: 1 or a little more
};

// For a code times `scale`.
HWY_INLINE V error_at(const Tile& tile, const Lanes& lanes, const float* codes, int i, V scale) {
  const D d;
  const V move = hn::Sub(hn::Load(d, codes + i * kLanes + lanes.first), lanes.coding.zero);
  const V weight = hn::Load(d, tile.weights + i * kLanes + lanes.first);
  return hn::MulSub(weight, lanes.coding.inverse, hn::Mul(scale, move));
}

// Of each lane, the position whose move by one pays most, and which way; no gain where none pays.
struct Move {
  V gain, position, step;
};

// Squares are those of codes times the step: counted by the scale, they would bring weights down to where least squares had them.
HWY_INLINE Move best_move(const Tile& tile, const Lanes& lanes, const float* codes) {
  const D d;
  const V none = hn::Zero(d), one = hn::Set(d, 1.0F), two = hn::Set(d, 2.0F);
  V total = none;
  for (int i = 0; i < tile.count; ++i)
    total = hn::MulAdd(hn::Set(d, tile.means[i]), error_at(tile, lanes, codes, i, lanes.scale), total);
  Move best{none, none, none};
  for (int i = 0; i < tile.count; ++i) {
    const V mean =
        hn::Mul(hn::Set(d, tile.means[i]), lanes.scale);  // that the sum falls by where the code rises by one
    const V step = hn::CopySign(one, hn::Mul(mean, total));
    const V moved = hn::Add(hn::Load(d, codes + i * kLanes + lanes.first), step);
    const V twice = hn::Mul(two, step);
    const V of_square =
        hn::Mul(hn::Set(d, tile.importance[i]), hn::NegMulAdd(twice, error_at(tile, lanes, codes, i, one), one));
    const V of_sum = hn::Mul(mean, hn::NegMulAdd(twice, total, mean));
    const V gain = hn::Neg(hn::Add(of_square, of_sum));
    const auto is_code = hn::And(hn::Ge(moved, lanes.coding.lowest), hn::Le(moved, lanes.coding.highest));
    const auto better = hn::And(hn::Gt(gain, best.gain), is_code);
    best.gain = hn::IfThenElse(better, gain, best.gain);
    best.position = hn::IfThenElse(better, hn::Set(d, static_cast<float>(i)), best.position);
    best.step = hn::IfThenElse(better, step, best.step);
  }
  return best;
}

void move_codes(const Tile& tile, const BlockFormat& format, const TileScales& scales, uint8_t* bytes) {
  alignas(64) float codes[kLargestBlock * kLanes];
  for (int i = 0; i < tile.count * kLanes; ++i) codes[i] = bytes[i];
  for_lanes([&](int first) {
    const D d;
    const Coding coding = coding_of(scales, first, format);
    const Lanes lanes{first, coding, hn::Mul(coding.scale, coding.inverse)};
    // Each move makes it less; the bound is for what rounding of floats may do.
    for (int moves = 0; moves < tile.count; ++moves) {
      const Move best = best_move(tile, lanes, codes);
      if (hn::AllFalse(d, hn::Gt(best.gain, hn::Zero(d)))) break;
      alignas(64) float gains[kLanes], positions[kLanes], steps[kLanes];
      hn::Store(best.gain, d, gains);
      hn::Store(best.position, d, positions);
      hn::Store(best.step, d, steps);
      for (int i = 0; i < static_cast<int>(hn::Lanes(d)); ++i)
        if (gains[i] > 0) codes[static_cast<int>(positions[i]) * kLanes + first + i] += steps[i];
    }
  });
  for (int i = 0; i < tile.count * kLanes; ++i) bytes[i] = static_cast<uint8_t>(codes[i]);
}

}  // namespace thaw::quantizing::blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::quantizing::blocks {

HWY_EXPORT(move_codes);

bool encode_about_means(const Tile& tile, const BlockFormat& format, const TileScales& scales, uint8_t* codes) {
  if (!encode(tile, format, scales, codes)) return false;
  if (tile.weighted) HWY_DYNAMIC_DISPATCH(move_codes)(tile, format, scales, codes);
  return true;
}

}  // namespace thaw::quantizing::blocks
#endif
