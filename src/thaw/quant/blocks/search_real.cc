#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/quant/blocks/search_real.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "thaw/quant/blocks/tile-inl.h"

// For given codes q the best scale and zero are those of a straight line through the points (q, w):  s = cov(q, w) / var(q),
// z = mean(q) - mean(w) / s,  and what is left of the error is  var(w) - cov(q, w)^2 / var(q).  In turn with the codes, from
// several ranges about the middle of the block's: cutting extremes off pays, on both sides or on one.
HWY_BEFORE_NAMESPACE();
namespace thaw::quantizing::blocks::HWY_NAMESPACE {

constexpr int kRealRounds = 3;
constexpr float kNarrower = 0.05F;  // of the range, each
constexpr int kRanges = 7, kSides = 1;

// Of weights as (weight - middle) / half the range.
struct Line {
  V scale, zero, gain;  // gain: what the error is below that of one value for all
};

template <bool kWeighted>
HWY_INLINE Line line_of(const Tile& tile, int lane, V middle, V unit, V scale, V zero, V levels) {
  const D d;
  const V inverse = hn::Div(hn::Set(d, 1.0F), scale), none = hn::Zero(d);
  V count = none, codes = none, weights = none, cross = none, square = none;
  for (int i = 0; i < tile.count; ++i) {
    const V w = hn::Mul(hn::Sub(hn::Load(d, tile.weights + i * kLanes + lane), middle), unit);
    const V q = codes_of(w, inverse, zero, levels);
    const V by = kWeighted ? hn::Set(d, tile.importance[i]) : hn::Set(d, 1.0F);
    const V q_by = hn::Mul(q, by);
    count = hn::Add(count, by);
    codes = hn::Add(codes, q_by);
    weights = hn::MulAdd(w, by, weights);
    cross = hn::MulAdd(w, q_by, cross);
    square = hn::MulAdd(q, q_by, square);
  }
  const V mean_code = hn::Div(codes, count), mean_weight = hn::Div(weights, count);
  const V covariance = hn::NegMulAdd(codes, mean_weight, cross), variance = hn::NegMulAdd(codes, mean_code, square);
  const auto good = hn::And(hn::Gt(variance, hn::Mul(count, hn::Set(d, 1e-6F))),
                            hn::Gt(hn::Abs(covariance), hn::Mul(count, hn::Set(d, 1e-6F))));
  const V slope = hn::IfThenElse(good, hn::Div(covariance, hn::IfThenElse(good, variance, hn::Set(d, 1.0F))), scale);
  return {slope, hn::IfThenElse(good, hn::Sub(mean_code, hn::Div(mean_weight, slope)), zero),
          hn::IfThenElse(good, hn::Mul(slope, covariance), none)};
}

// A zero as its type holds it.
HWY_INLINE V stored_zero(V zero, ir::DataType type) {
  const D d;
  const V magnitude = hn::Abs(zero);
  if (type == ir::DataType::kFloat16) {
    const V kept = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x1p-14F)), hn::Zero(d), shortened<13>(magnitude));
    return hn::CopySign(hn::Min(kept, hn::Set(d, 65504.0F)), zero);
  }
  return type == ir::DataType::kBfloat16 ? hn::CopySign(shortened<16>(magnitude), zero) : zero;
}

template <bool kWeighted>
void search_real_lanes(const Tile& tile, const BlockFormat& format, int lane, TileScales& result) {
  const D d;
  const V none = hn::Zero(d), one = hn::Set(d, 1.0F), most = hn::Set(d, static_cast<float>(format.levels()));
  V low = hn::Load(d, tile.weights + lane), high = low;
  for (int i = 1; i < tile.count; ++i) {
    const V w = hn::Load(d, tile.weights + i * kLanes + lane);
    low = hn::Min(low, w);
    high = hn::Max(high, w);
  }
  // Each by itself: the sum of the largest floats is infinite.
  const V half = hn::Sub(hn::Mul(high, hn::Set(d, 0.5F)), hn::Mul(low, hn::Set(d, 0.5F)));
  const V middle = hn::Add(hn::Mul(high, hn::Set(d, 0.5F)), hn::Mul(low, hn::Set(d, 0.5F)));
  const auto has_range =
      hn::And(hn::Gt(half, hn::Set(d, 0x1p-100F)), hn::Gt(half, hn::Mul(hn::Abs(middle), hn::Set(d, 1e-6F))));
  const V unit = hn::Div(one, hn::IfThenElse(has_range, half, one));
  Line best{hn::Set(d, 2.0F / static_cast<float>(format.levels())), hn::Mul(most, hn::Set(d, 0.5F)), none};
  const auto take = [&](const Line& line) HWY_ATTR {
    const auto better = hn::Gt(line.gain, best.gain);
    best.scale = hn::IfThenElse(better, line.scale, best.scale);
    best.zero = hn::IfThenElse(better, line.zero, best.zero);
    best.gain = hn::IfThenElse(better, line.gain, best.gain);
  };
  for (int i = 0; i < kRanges; ++i) {
    for (int side = -kSides; side <= kSides; ++side) {
      // From -1 + cut to 1 - cut, or with all of the cut on one side.
      const float cut = kNarrower * static_cast<float>(i), scale = (2 - 2 * cut) / static_cast<float>(format.levels());
      const float zero = (1 - cut * static_cast<float>(1 + side)) / scale;
      Line line{hn::Set(d, scale), hn::Set(d, zero), none};
      for (int round = 0; round < 2; ++round) {
        line = line_of<kWeighted>(tile, lane, middle, unit, line.scale, line.zero, most);
        take(line);
      }
      if (i == 0) break;
    }
  }
  for (int round = 0; round < kRealRounds; ++round)
    take(line_of<kWeighted>(tile, lane, middle, unit, best.scale, best.zero, most));

  const V scale = stored_scale(hn::Mul(best.scale, hn::IfThenElse(has_range, half, one)), format.scale_type);
  const V zero = stored_zero(hn::Sub(best.zero, hn::Div(middle, scale)), format.scale_type);
  // One value is a step from its zero.
  const V size = stored_scale(nonzero(hn::Abs(middle)), format.scale_type);
  const V aside = hn::IfThenElse(hn::Eq(middle, none), none, hn::CopySign(one, hn::Neg(middle)));
  hn::Store(hn::IfThenElse(has_range, scale, size), d, result.scale + lane);
  hn::Store(hn::IfThenElse(has_range, scale, size), d, result.step + lane);
  hn::Store(hn::IfThenElse(has_range, zero, aside), d, result.zero + lane);
}

void search_real_tile(const Tile& tile, const BlockFormat& format, TileScales& result) {
  for_lanes([&](int lane) {
    if (tile.weighted)
      search_real_lanes<true>(tile, format, lane, result);
    else
      search_real_lanes<false>(tile, format, lane, result);
  });
}

}  // namespace thaw::quantizing::blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::quantizing::blocks {

HWY_EXPORT(search_real_tile);

void search_real(const Tile& tile, const BlockFormat& format, TileScales& result) {
  TileScales whole;
  search(tile, format, whole);
  HWY_DYNAMIC_DISPATCH(search_real_tile)(tile, format, result);
  keep_norm(tile, format, whole, result);
}

}  // namespace thaw::quantizing::blocks
#endif
