#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/quant/blocks/hqq.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "thaw/quant/blocks/tile-inl.h"

// Half-quadratic splitting: what |error|^p lets stand is split off the error by its shrinkage, and least squares of what
// is left determine the scale, alternating with the quantized values. The authors look for a real zero beside a fixed scale; a zero that is
// an integer leaves nothing to look for there but its neighbours.
HWY_BEFORE_NAMESPACE();
namespace thaw::quantizing::blocks::HWY_NAMESPACE {

constexpr float kNorm = 0.7F, kFirstBeta = 10.0F, kBetaGrowth = 1.01F;
constexpr int kRounds = 6;

// x^(kNorm - 1) of positive normal numbers, to about 0.3 percent: exponents as they stand in a float, and a parabola for
// what the mantissa is off from a logarithm. The shrinkage needs no more.
HWY_INLINE V power_of(V x) {
  const D d;
  const DI di;
  const V one = hn::Set(d, 1.0F), bend = hn::Set(d, 0.3437F);
  const V log = hn::MulAdd(hn::ConvertTo(d, hn::BitCast(di, x)), hn::Set(d, 0x1p-23F), hn::Set(d, -127.0F));
  const V mantissa = hn::Sub(log, hn::Floor(log));
  const V exponent = hn::Mul(hn::MulAdd(hn::Mul(bend, mantissa), hn::Sub(one, mantissa), log), hn::Set(d, kNorm - 1));
  const V rest = hn::Sub(exponent, hn::Floor(exponent));
  const V bits = hn::Add(hn::NegMulAdd(hn::Mul(bend, rest), hn::Sub(one, rest), exponent), hn::Set(d, 127.0F));
  return hn::BitCast(d, hn::ConvertTo(di, hn::Mul(bits, hn::Set(d, 0x1p23F))));
}

void hqq_lanes(const Tile& tile, const BlockFormat& format, int lane, TileScales& result) {
  const D d;
  const V levels = hn::Set(d, static_cast<float>(format.levels())), none = hn::Zero(d), one = hn::Set(d, 1.0F);
  const ScaleAndZero first = rtn_of(extremes_of(tile, lane), format);
  // In rtn's steps, so that blocks of any magnitude are treated alike.
  const V inverse = hn::Div(one, first.scale);
  V least = hn::Set(d, 0x1p126F), best_scale = one, best_zero = first.zero;
  for (int offset = format.symmetric ? 0 : -1; offset <= (format.symmetric ? 0 : 1); ++offset) {
    const V zero = hn::Min(hn::Max(hn::Add(first.zero, hn::Set(d, static_cast<float>(offset))), none), levels);
    V scale = one;
    float beta = kFirstBeta;
    for (int round = 0; round < kRounds; ++round, beta *= kBetaGrowth) {
      const V by = hn::Set(d, 1.0F / beta), turn = hn::Div(one, scale);
      V cross = none, square = none, norm = none;
      for (int i = 0; i < tile.count; ++i) {
        const V w = hn::Mul(hn::Load(d, tile.weights + i * kLanes + lane), inverse);
        const V step = hn::Sub(codes_of(w, turn, zero, levels), zero);
        const V error = hn::NegMulAdd(step, scale, w);
        const V magnitude = hn::Max(hn::Abs(error), hn::Set(d, 1e-6F));
        const V power = power_of(magnitude);
        const V shrunk = hn::CopySign(hn::Max(hn::Sub(magnitude, hn::Mul(by, power)), none), error);
        cross = hn::MulAdd(hn::Sub(w, shrunk), step, cross);
        square = hn::MulAdd(step, step, square);
        norm = hn::MulAdd(magnitude, power, norm);
      }
      const auto better = hn::Lt(norm, least);
      least = hn::IfThenElse(better, norm, least);
      best_scale = hn::IfThenElse(better, scale, best_scale);
      best_zero = hn::IfThenElse(better, zero, best_zero);
      const V next = hn::Div(cross, hn::Max(square, hn::Set(d, 1e-6F)));
      scale = hn::IfThenElse(hn::Gt(hn::Abs(next), hn::Set(d, 1e-3F)), next, scale);
    }
  }
  const V scale = stored_scale(hn::Mul(best_scale, first.scale), format.scale_type);
  hn::Store(scale, d, result.scale + lane);
  hn::Store(scale, d, result.step + lane);
  hn::Store(best_zero, d, result.zero + lane);
}

void hqq_tile(const Tile& tile, const BlockFormat& format, TileScales& result) {
  for_lanes([&](int lane) { hqq_lanes(tile, format, lane, result); });
}

}  // namespace thaw::quantizing::blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::quantizing::blocks {

HWY_EXPORT(hqq_tile);

void hqq(const Tile& tile, const BlockFormat& format, TileScales& result) {
  HWY_DYNAMIC_DISPATCH(hqq_tile)(tile, format, result);
}

}  // namespace thaw::quantizing::blocks
#endif
