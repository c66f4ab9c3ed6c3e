// What the kernels over tiles share, compiled for each of Highway's targets. No pragma: it is read once a target.
#if defined(THAW_QUANT_BLOCKS_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef THAW_QUANT_BLOCKS_TILE_INL_H
#undef THAW_QUANT_BLOCKS_TILE_INL_H
#else
#define THAW_QUANT_BLOCKS_TILE_INL_H
#endif

#include <hwy/highway.h>

#include "thaw/quant/blocks/tile.h"

HWY_BEFORE_NAMESPACE();
namespace thaw::quantizing::blocks::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr float kFarthestReach = 0x1p100F;  // of codes from their zero, that no infinity comes in

constexpr float kLeastNormalized = 0x1p-100F;  // a smaller block is left to rtn: its inverse might be infinite

using D = hn::CappedTag<float, kLanes>;
using V = hn::Vec<D>;
using DU = hn::Rebind<uint32_t, D>;
using DI = hn::Rebind<int32_t, D>;

// Calls each(first lane) for all lanes of a tile, as many at once as a vector has.
template <typename Each>
HWY_INLINE void for_lanes(Each each) {
  const D d;
  for (int lane = 0; lane < kLanes; lane += static_cast<int>(hn::Lanes(d))) each(lane);
}

// Rounded to nearest even, to a mantissa that is kBits shorter.
template <int kBits>
HWY_INLINE V shortened(V magnitude) {
  const D d;
  const DU du;
  const auto bits = hn::BitCast(du, magnitude);
  const auto odd = hn::And(hn::ShiftRight<kBits>(bits), hn::Set(du, 1));
  const auto nearest = hn::Add(bits, hn::Add(odd, hn::Set(du, (1U << (kBits - 1)) - 1)));
  return hn::BitCast(d, hn::ShiftLeft<kBits>(hn::ShiftRight<kBits>(nearest)));
}

// A scale as its type holds it, and neither 0 nor infinite. A float16 below its normal numbers is rounded away from 0:
// its last bit may be as large as itself, and a scale that is too small cuts a block's extremes off.
HWY_INLINE V stored_scale(V scale, ir::DataType type) {
  const D d;
  const V magnitude = hn::Abs(scale);
  const auto within = [&](V rounded, float least, float most) HWY_ATTR {
    return hn::CopySign(hn::Max(hn::Min(rounded, hn::Set(d, most)), hn::Set(d, least)), scale);
  };
  if (type == ir::DataType::kFloat16) {
    const V small = hn::Mul(hn::Ceil(hn::Mul(magnitude, hn::Set(d, 0x1p24F))), hn::Set(d, 0x1p-24F));
    const V rounded = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x1p-14F)), small, shortened<13>(magnitude));
    return within(rounded, 0x1p-24F, 65504.0F);
  }
  if (type == ir::DataType::kBfloat16) return within(shortened<16>(magnitude), 0x1p-126F, 0x1.fep127F);
  return within(magnitude, 0x1p-126F, 0x1.fffffep127F);
}

HWY_INLINE V codes_between(V lowest, V highest, V weights, V inverse, V zero) {
  return hn::Min(hn::Max(hn::Round(hn::MulAdd(weights, inverse, zero)), lowest), highest);
}

// The nearest codes, as floats.
HWY_INLINE V codes_of(V weights, V inverse, V zero, V levels) {
  return codes_between(hn::Zero(D()), levels, weights, inverse, zero);
}

// How the weights of a block become codes, and what those stand for.
struct Coding {
  V scale, zero, inverse;
  V lowest, highest;  // the codes that stand for numbers of the scales' type

  HWY_INLINE V codes(V weights) const { return codes_between(lowest, highest, weights, inverse, zero); }
  HWY_INLINE V error(V weights) const { return hn::NegMulAdd(hn::Sub(codes(weights), zero), scale, weights); }
};

HWY_INLINE Coding coding_of(V scale, V zero, V step, const BlockFormat& format) {
  const D d;
  const V none = hn::Zero(d), levels = hn::Set(d, static_cast<float>(format.levels()));
  const V reach = hn::Min(hn::Div(hn::Set(d, format.largest()), hn::Abs(scale)), hn::Set(d, kFarthestReach));
  const V lowest = hn::Ceil(hn::Sub(zero, reach)), highest = hn::Floor(hn::Add(zero, reach));
  return {scale, zero, hn::Div(hn::Set(d, 1.0F), step), hn::Min(hn::Max(lowest, none), levels),
          hn::Max(hn::Min(highest, levels), none)};
}

HWY_INLINE Coding coding_of(const TileScales& scales, int lane, const BlockFormat& format) {
  const D d;
  return coding_of(hn::Load(d, scales.scale + lane), hn::Load(d, scales.zero + lane), hn::Load(d, scales.step + lane),
                   format);
}

// Of the weights of some lanes: the least and the largest, 0 among them.
struct Extremes {
  V low, high;
};

HWY_INLINE Extremes extremes_of(const Tile& tile, int lane) {
  const D d;
  Extremes found{hn::Zero(d), hn::Zero(d)};
  for (int i = 0; i < tile.count; ++i) {
    const V w = hn::Load(d, tile.weights + i * kLanes + lane);
    found.low = hn::Min(found.low, w);
    found.high = hn::Max(found.high, w);
  }
  return found;
}

struct ScaleAndZero {
  V scale, zero;
};

// Of scale 0, which only a block of zeros has, 1 is made.
HWY_INLINE V nonzero(V scale) {
  const D d;
  return hn::IfThenElse(hn::Eq(scale, hn::Zero(d)), hn::Set(d, 1.0F), scale);
}

HWY_INLINE ScaleAndZero rtn_of(const Extremes& range, const BlockFormat& format) {
  const D d;
  const V middle = hn::Set(d, static_cast<float>(format.middle()));
  if (format.symmetric) {
    const V farthest = hn::IfThenElse(hn::Gt(range.high, hn::Neg(range.low)), range.high, range.low);
    return {stored_scale(nonzero(hn::Neg(hn::Mul(farthest, hn::Set(d, 1.0F / static_cast<float>(format.middle()))))),
                         format.scale_type),
            middle};
  }
  const V levels = hn::Set(d, static_cast<float>(format.levels()));
  // Each by itself: the difference of the largest floats is infinite.
  const V scale =
      stored_scale(nonzero(hn::Sub(hn::Div(range.high, levels), hn::Div(range.low, levels))), format.scale_type);
  const V zero = hn::Min(hn::Max(hn::Round(hn::Neg(hn::Div(range.low, scale))), hn::Zero(d)), levels);
  const auto none = hn::And(hn::Eq(range.high, hn::Zero(d)), hn::Eq(range.low, hn::Zero(d)));
  return {scale, hn::IfThenElse(none, middle, zero)};
}

}  // namespace thaw::quantizing::blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
