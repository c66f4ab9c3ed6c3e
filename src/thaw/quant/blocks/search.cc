#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/quant/blocks/search.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <algorithm>

#include "thaw/quant/blocks/tile-inl.h"

// For given codes q and zero z the best scale is  s = sum w x (q - z) / sum w (q - z)^2,  and what is left of the error
// is  sum w x^2 - (sum w x (q - z))^2 / sum w (q - z)^2:  one pass over a block yields both. From several zeros around
// rtn's and several scales below its, since cutting extremes off pays; the best go on in turn, codes and scale.
HWY_BEFORE_NAMESPACE();
namespace thaw::quantizing::blocks::HWY_NAMESPACE {

struct Fit {
  V scale, gain;  // gain: what the error is below sum w x^2
};

template <bool kWeighted>
HWY_INLINE Fit refit(const Tile& tile, int lane, V unit, V scale, V zero, V levels) {
  const D d;
  const V inverse = hn::Div(unit, scale);
  // Above 2^23 a sum has no room for a fraction, so that adding rounds it to an integer.
  const V lowest = hn::Set(d, 0x1.8p23F), highest = hn::Add(lowest, levels), origin = hn::Add(lowest, zero);
  V cross0 = hn::Zero(d), square0 = hn::Zero(d), cross1 = hn::Zero(d), square1 = hn::Zero(d);
  const auto add = [&](int i, V& cross, V& square) HWY_ATTR {
    const V w = hn::Load(d, tile.weights + i * kLanes + lane);
    const V step = hn::Sub(hn::Min(hn::Max(hn::MulAdd(w, inverse, origin), lowest), highest), origin);
    if constexpr (kWeighted) {
      const V weighted = hn::Mul(step, hn::Set(d, tile.importance[i]));
      cross = hn::MulAdd(w, weighted, cross);
      square = hn::MulAdd(step, weighted, square);
    } else {
      cross = hn::MulAdd(w, step, cross);
      square = hn::MulAdd(step, step, square);
    }
  };
  int i = 0;
  for (; i + 2 <= tile.count; i += 2) {
    add(i, cross0, square0);
    add(i + 1, cross1, square1);
  }
  if (i < tile.count) add(i, cross0, square0);
  const V cross = hn::Mul(hn::Add(cross0, cross1), unit), square = hn::Add(square0, square1);
  const auto some = hn::Gt(square, hn::Zero(d));
  const V best = hn::Div(cross, hn::IfThenElse(some, square, hn::Set(d, 1.0F)));
  // A scale of 0 would be the end of it.
  const auto good = hn::And(some, hn::Ne(best, hn::Zero(d)));
  return {hn::IfThenElse(good, best, scale), hn::IfThenElse(good, hn::Mul(best, cross), hn::Zero(d))};
}

// The best so far, in units of the block's largest magnitude.
struct Best {
  V scale, zero, gain;
  // Returns whether it is better for any lane.
  HWY_INLINE bool take(const Fit& fit, V at) {
    const auto better = hn::Gt(fit.gain, gain);
    scale = hn::IfThenElse(better, fit.scale, scale);
    zero = hn::IfThenElse(better, at, zero);
    gain = hn::IfThenElse(better, fit.gain, gain);
    return !hn::AllFalse(D(), better);
  }
};

struct Plan {
  int zeros;       // to each side of rtn's
  int scales;      // below the widest
  float narrower;  // by how much, each
};

HWY_INLINE Plan plan_of(int bits) {
  if (bits == 2) return {3, 9, 0.08F};
  if (bits == 3) return {2, 8, 0.06F};
  if (bits == 4) return {2, 7, 0.04F};
  return {1, 5, 0.0025F};
}

template <bool kWeighted>
void search_lanes(const Tile& tile, const BlockFormat& format, int lane, TileScales& result) {
  const D d;
  const V levels = hn::Set(d, static_cast<float>(format.levels())), none = hn::Zero(d), one = hn::Set(d, 1.0F);
  const Extremes range = extremes_of(tile, lane);
  const ScaleAndZero first = rtn_of(range, format);
  const V largest = hn::Max(range.high, hn::Neg(range.low));
  const auto can_search = hn::Gt(largest, hn::Set(d, kLeastNormalized));
  const V unit = hn::Div(one, hn::IfThenElse(can_search, largest, one));
  const V low = hn::Mul(range.low, unit), high = hn::Mul(range.high, unit);
  const Plan plan = plan_of(format.bits);
  Best best{hn::Mul(first.scale, unit), first.zero, none};

  const auto start_from = [&](V zero, V widest) HWY_ATTR {
    // A zero that leaves no code for a block's only sign cannot hold it.
    widest = hn::IfThenElse(hn::Gt(hn::Abs(widest), none), widest, one);
    for (int i = 0; i < plan.scales; ++i) {
      const V scale = hn::Mul(widest, hn::Set(d, 1.0F - plan.narrower * static_cast<float>(i)));
      best.take(refit<kWeighted>(tile, lane, unit, scale, zero, levels), zero);
    }
  };
  if (format.symmetric) {
    const V zero = first.zero;
    const V below = zero, above = hn::Sub(levels, zero);  // codes to each side; the side below has one more
    const V upright = hn::Max(hn::Div(hn::Neg(low), below), hn::Div(high, above));
    const V transposed = hn::Max(hn::Div(high, below), hn::Div(hn::Neg(low), above));
    start_from(zero, upright);
    start_from(zero, hn::Neg(transposed));
  } else {
    for (int i = -plan.zeros; i <= plan.zeros; ++i) {
      const V zero = hn::Min(hn::Max(hn::Add(first.zero, hn::Set(d, static_cast<float>(i))), none), levels);
      // The scale at which both extremes have a code; at the ends there are codes for one sign alone.
      const V left = hn::Div(hn::Neg(low), hn::Max(zero, one)),
              right = hn::Div(high, hn::Max(hn::Sub(levels, zero), one));
      start_from(zero, hn::Max(left, right));
    }
  }
  // In turn, from the best; then from scales a little beside it.
  // What did not change yields the same once more.
  const auto take_turn = [&]() HWY_ATTR {
    return best.take(refit<kWeighted>(tile, lane, unit, best.scale, best.zero, levels), best.zero);
  };
  bool changes = true;
  for (int i = 0; i < 3 && changes; ++i) changes = take_turn();
  const float nudge = plan.narrower / 4;
  for (const float by : {-3.0F, -2.0F, -1.0F, 1.0F, 2.0F, 3.0F}) {
    const V scale = hn::Mul(best.scale, hn::Set(d, 1.0F + nudge * by));
    Fit fit = refit<kWeighted>(tile, lane, unit, scale, best.zero, levels);
    changes = best.take(fit, best.zero) || changes;
  }
  if (changes) take_turn();

  const auto found = hn::And(can_search, hn::Gt(best.gain, none));
  const V step = hn::IfThenElse(found, hn::Mul(best.scale, largest), first.scale);
  hn::Store(step, d, result.step + lane);
  hn::Store(stored_scale(step, format.scale_type), d, result.scale + lane);
  hn::Store(hn::IfThenElse(found, best.zero, first.zero), d, result.zero + lane);
}

void search_tile(const Tile& tile, const BlockFormat& format, TileScales& result) {
  for_lanes([&](int lane) {
    if (tile.weighted)
      search_lanes<true>(tile, format, lane, result);
    else
      search_lanes<false>(tile, format, lane, result);
  });
}

}  // namespace thaw::quantizing::blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::quantizing::blocks {

HWY_EXPORT(search_tile);

void search(const Tile& tile, const BlockFormat& format, TileScales& result) {
  TileScales plain;
  rtn(tile, format, plain);
  HWY_DYNAMIC_DISPATCH(search_tile)(tile, format, result);
  keep_norm(tile, format, plain, result);
}

}  // namespace thaw::quantizing::blocks
#endif
