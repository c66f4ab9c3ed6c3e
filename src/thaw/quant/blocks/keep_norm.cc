#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/quant/blocks/keep_norm.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "thaw/quant/blocks/tile-inl.h"

// The result of least squares is shorter than the weights by the error that is left, in all columns of all layers alike, and a
// network's outputs shrink by the product of that (Banner et al. 2019, Nagel et al. 2019). Codes stay those of the best fit.
// The scale that they are multiplied by becomes the one at which  sum w x s (q - z) = sum w x^2:  larger by about the share
// of sum w x^2 that the error is, which adds that share of the error to it.
HWY_BEFORE_NAMESPACE();
namespace thaw::quantizing::blocks::HWY_NAMESPACE {

// The sum of importance * error^2, of weights times `unit`.
template <bool kWeighted>
HWY_INLINE V left_by(const Tile& tile, int lane, const Coding& coding, V unit) {
  const D d;
  V even = hn::Zero(d), odd = even;  // each waits for its last sum
  const auto add = [&](int i, V& sum) HWY_ATTR {
    const V error = hn::Mul(coding.error(hn::Load(d, tile.weights + i * kLanes + lane)), unit);
    const V weighted = kWeighted ? hn::Mul(error, hn::Set(d, tile.importance[i])) : error;
    sum = hn::MulAdd(error, weighted, sum);
  };
  int i = 0;
  for (; i + 2 <= tile.count; i += 2) {
    add(i, even);
    add(i + 1, odd);
  }
  if (i < tile.count) add(i, even);
  return hn::Add(even, odd);
}

template <bool kWeighted>
void keep_norm_of_lanes(const Tile& tile, const BlockFormat& format, int lane, const TileScales& other,
                        TileScales& result) {
  const D d;
  const V none = hn::Zero(d), one = hn::Set(d, 1.0F);
  const Extremes range = extremes_of(tile, lane);
  const V largest = hn::Max(range.high, hn::Neg(range.low));
  const auto can_tell = hn::Gt(largest, hn::Set(d, kLeastNormalized));
  const V size = hn::IfThenElse(can_tell, largest, one), unit = hn::Div(one, size);
  const V step = hn::Load(d, result.step + lane), zero = hn::Load(d, result.zero + lane);
  const Coding nearest = coding_of(step, zero, step, format);
  V along = none, missing = none, held = none, left = none;  // of weights and their codes, in units of the largest
  for (int i = 0; i < tile.count; ++i) {
    const V w = hn::Load(d, tile.weights + i * kLanes + lane);
    const V error = hn::Mul(nearest.error(w), unit), by = kWeighted ? hn::Set(d, tile.importance[i]) : one;
    const V weighted = hn::Mul(hn::Mul(w, unit), by), coded = hn::NegMulAdd(one, error, hn::Mul(w, unit));
    along = hn::MulAdd(weighted, coded, along);
    missing = hn::MulAdd(weighted, error, missing);
    held = hn::MulAdd(hn::Mul(coded, by), coded, held);
    left = hn::MulAdd(hn::Mul(error, by), error, left);
  }
  const auto some = hn::And(hn::Gt(along, none), hn::Gt(held, none));
  const V left_by_other = left_by<kWeighted>(tile, lane, coding_of(other, lane, format), unit);
  const V affordable = hn::Sqrt(hn::Div(hn::Max(hn::Sub(left_by_other, left), none), held));
  const V more = hn::IfThenElse(some, hn::Min(hn::Div(missing, along), affordable), none);
  const V scale = stored_scale(nonzero(hn::MulAdd(step, more, step)), format.scale_type);
  // Rounding the scale to its type may cost what was found. Of a NaN, of a zero far away, nothing is less.
  const V left_at_last = left_by<kWeighted>(tile, lane, coding_of(scale, zero, step, format), unit);
  const auto is_better = hn::And(can_tell, hn::Lt(left_at_last, left_by_other));
  hn::Store(hn::IfThenElse(is_better, scale, hn::Load(d, other.scale + lane)), d, result.scale + lane);
  hn::Store(hn::IfThenElse(is_better, step, hn::Load(d, other.step + lane)), d, result.step + lane);
  hn::Store(hn::IfThenElse(is_better, zero, hn::Load(d, other.zero + lane)), d, result.zero + lane);
}

void keep_norm_of_tile(const Tile& tile, const BlockFormat& format, const TileScales& other, TileScales& result) {
  for_lanes([&](int lane) {
    if (tile.weighted)
      keep_norm_of_lanes<true>(tile, format, lane, other, result);
    else
      keep_norm_of_lanes<false>(tile, format, lane, other, result);
  });
}

}  // namespace thaw::quantizing::blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::quantizing::blocks {

HWY_EXPORT(keep_norm_of_tile);

void keep_norm(const Tile& tile, const BlockFormat& format, const TileScales& other, TileScales& result) {
  HWY_DYNAMIC_DISPATCH(keep_norm_of_tile)(tile, format, other, result);
}

}  // namespace thaw::quantizing::blocks
#endif
