#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/quant/blocks/search.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <algorithm>
#include <cmath>

#include "thaw/quant/blocks/tile-inl.h"

// For given codes q and zero z the best scale is  s = sum w x (q - z) / sum w (q - z)^2,  and what is left of the error
// is  sum w x^2 - (sum w x (q - z))^2 / sum w (q - z)^2:  one pass over a block yields both. From several zeros around
// rtn's and several scales below its, since cutting extremes off pays; the best go on in turn, codes and scale.
//
// Where each weight counts alike, those many passes are over 16-bit integers, twice as many at once, and only the last turns
// over the numbers themselves. A weight next to the middle between two codes may get the other one there, which leaves
// about the same error.
HWY_BEFORE_NAMESPACE();
namespace thaw::quantizing::blocks::HWY_NAMESPACE {

// Of a block for some codes, the weights in units of its largest magnitude.
struct Sums {
  V cross, square;  // sum w x (q - z), sum w (q - z)^2
};

// A block of some lanes, as it is.
template <bool kWeighted>
class Exactly {
 public:
  Exactly(const Tile& tile, int lane, V unit, const BlockFormat& format) : tile_(tile), lane_(lane), unit_(unit) {
    levels_ = hn::Set(D(), static_cast<float>(format.levels()));
  }

  static constexpr float kUnitOfCross = 1;

  // What weights are multiplied by, of a scale with that inverse; and a number near 1 that this is multiplied by.
  HWY_INLINE V factor(V inverse) const { return hn::Mul(inverse, unit_); }
  using Times = float;
  static HWY_INLINE Times times(float number) { return number; }

  struct Range {
    V lowest, highest, origin;
  };
  // Above 2^23 a sum has no room for a fraction, so that adding rounds it to an integer.
  HWY_INLINE Range range(V zero) const {
    const V lowest = hn::Set(D(), 0x1.8p23F);
    return {lowest, hn::Add(lowest, levels_), hn::Add(lowest, zero)};
  }

  HWY_INLINE Sums sums(V factor, Times times, const Range& range) const {
    const D d;
    const V by = hn::Mul(factor, hn::Set(d, times));
    const auto [lowest, highest, origin] = range;
    V cross0 = hn::Zero(d), square0 = hn::Zero(d), cross1 = hn::Zero(d), square1 = hn::Zero(d);
    const auto add = [&](int i, V& cross, V& square) HWY_ATTR {
      const V w = hn::Load(d, tile_.weights + i * kLanes + lane_);
      const V step = hn::Sub(hn::Min(hn::Max(hn::MulAdd(w, by, origin), lowest), highest), origin);
      if constexpr (kWeighted) {
        const V weighted = hn::Mul(step, hn::Set(d, tile_.importance[i]));
        cross = hn::MulAdd(w, weighted, cross);
        square = hn::MulAdd(step, weighted, square);
      } else {
        cross = hn::MulAdd(w, step, cross);
        square = hn::MulAdd(step, step, square);
      }
    };
    int i = 0;
    for (; i + 2 <= tile_.count; i += 2) {
      add(i, cross0, square0);
      add(i + 1, cross1, square1);
    }
    if (i < tile_.count) add(i, cross0, square0);
    return {hn::Mul(hn::Add(cross0, cross1), unit_), hn::Add(square0, square1)};
  }

 private:
  const Tile& tile_;
  int lane_;
  V unit_, levels_;
};

#if HWY_TARGET == HWY_SCALAR  // which has no lanes beside each other
using InShorts = Exactly<false>;
#else
using DShort = hn::Repartition<int16_t, D>;
using VShort = hn::Vec<DShort>;

// The same in 16 bits: two positions of a lane beside each other, so that products are summed in pairs.
class InShorts {
  static constexpr int kFineBits = 14;  // of weights: sums of 256 products with 15 are below 2^31
  static constexpr int kFactorBits = 5;
  static constexpr size_t kAtOnce = 4;  // pairs

 public:
  InShorts(const Tile& tile, int lane, V unit, const BlockFormat& format) {
    const D d;
    // A product of a weight and an inverse has 15 bits after the point. For 4 bits weights have 11 of them, an error of 0.004 codes,
    // and inverses 4, of which the least is 7.
    const int bits = format.bits + 7;
    inverses_ = hn::Set(d, static_cast<float>(1 << (15 - bits + kFactorBits)));
    levels_ = hn::Set(d, static_cast<float>(format.levels()));
    const V fine = hn::Mul(unit, hn::Set(d, static_cast<float>(1 << kFineBits)));
    const V coarse = hn::Mul(unit, hn::Set(d, static_cast<float>(1 << bits)));
    // Weights of 0 past the end get the code of 0, which adds nothing.
    const auto weight = [&](int i) HWY_ATTR {
      return i < tile.count ? hn::Load(d, tile.weights + i * kLanes + lane) : hn::Zero(d);
    };
    for (int i = 0; i < tile.count || num_pairs_ % kAtOnce != 0; i += 2) {
      const V first = weight(i), second = weight(i + 1);
      const size_t size = hn::Lanes(DShort()), pair = 2 * size * num_pairs_++;
      hn::Store(beside(hn::Mul(first, coarse), hn::Mul(second, coarse)), DShort(), weights_ + pair);
      hn::Store(beside(hn::Mul(first, fine), hn::Mul(second, fine)), DShort(), weights_ + pair + size);
    }
  }

  static constexpr float kUnitOfCross = 1.0F / (1 << kFineBits);

  HWY_INLINE VShort factor(V inverse) const {
    const V scaled = hn::Mul(inverse, inverses_);
    return beside(scaled, scaled);
  }
  using Times = int16_t;
  static HWY_INLINE Times times(float number) {
    return static_cast<int16_t>(std::lround(number * (1 << (15 - kFactorBits))));
  }

  struct Range {
    VShort lowest, highest;
  };
  HWY_INLINE Range range(V zero) const {
    const V below = hn::Neg(zero), above = hn::Sub(levels_, zero);
    return {beside(below, below), beside(above, above)};
  }

  HWY_INLINE Sums sums(VShort factor, Times times, const Range& range) const {
    const D d;
    const DI di;
    const DShort ds;
    const VShort by = hn::MulFixedPoint15(factor, hn::Set(ds, times));
    const auto [lowest, highest] = range;
    auto cross0 = hn::Zero(di), cross1 = hn::Zero(di), square0 = hn::Zero(di), square1 = hn::Zero(di);
    const auto add = [&](size_t i) HWY_ATTR {
      const int16_t* pair = weights_ + 2 * hn::Lanes(ds) * i;
      const VShort w = hn::Load(ds, pair);
      const VShort step = hn::Min(hn::Max(hn::MulFixedPoint15(w, by), lowest), highest);
      cross0 = hn::ReorderWidenMulAccumulate(di, hn::Load(ds, pair + hn::Lanes(ds)), step, cross0, cross1);
      square0 = hn::ReorderWidenMulAccumulate(di, step, step, square0, square1);
    };
    for (size_t i = 0; i < num_pairs_; i += kAtOnce) {
      add(i);
      add(i + 1);
      add(i + 2);
      add(i + 3);
    }
    const auto cross = hn::RearrangeToOddPlusEven(cross0, cross1);
    return {hn::ConvertTo(d, cross), hn::ConvertTo(d, hn::RearrangeToOddPlusEven(square0, square1))};
  }

 private:
  // The nearest integers of both, lane by lane.
  static HWY_INLINE VShort beside(V even, V odd) {
    const DI di;
    return hn::BitCast(
        DShort(), hn::Or(hn::And(hn::NearestInt(even), hn::Set(di, 0xffff)), hn::ShiftLeft<16>(hn::NearestInt(odd))));
  }

  alignas(64) int16_t weights_[size_t{2} * kLargestBlock * kLanes];
  size_t num_pairs_ = 0;
  V inverses_, levels_;
};
#endif

// The best so far, in units of the block's largest magnitude.
struct Best {
  V zero, otherwise;  // otherwise: the scale where nothing was found
  V cross = hn::Zero(D()), square = hn::Set(D(), 1.0F);

  // By what the error is below sum w x^2, which is cross^2 / square. Returns whether it is better for any lane.
  HWY_INLINE bool take(const Sums& sums, V at) {
    const auto better =
        hn::Gt(hn::Mul(hn::Mul(sums.cross, sums.cross), square), hn::Mul(hn::Mul(cross, cross), sums.square));
    zero = hn::IfThenElse(better, at, zero);
    cross = hn::IfThenElse(better, sums.cross, cross);
    square = hn::IfThenElse(better, sums.square, square);
    return !hn::AllFalse(D(), better);
  }
  HWY_INLINE auto is_found() const { return hn::Ne(cross, hn::Zero(D())); }
  HWY_INLINE V scale(float unit_of_cross) const {
    const V found = hn::Mul(hn::Div(cross, square), hn::Set(D(), unit_of_cross));
    return hn::IfThenElse(is_found(), found, otherwise);
  }
};

constexpr int kMostBitsInShorts = 4;  // of 8 bits, what integers round is a part of the error
constexpr int kMostScales = 9;

struct Plan {
  int zeros;       // to each side of rtn's
  int scales;      // below the widest
  float narrower;  // by how much, each
};

HWY_INLINE Plan plan_of(int bits) {
  if (bits == 2) return {3, 9, 0.08F};
  if (bits == 3) return {2, 8, 0.06F};
  if (bits == 4) return {2, 5, 0.05F};
  return {1, 5, 0.0025F};
}

// In units of the largest magnitude, as all that follows.
template <typename Block>
HWY_INLINE void start(const Block& block, const Plan& plan, const BlockFormat& format, V low, V high, Best& best) {
  const D d;
  const V levels = hn::Set(d, static_cast<float>(format.levels())), none = hn::Zero(d), one = hn::Set(d, 1.0F);
  typename Block::Times times[kMostScales];
  for (int i = 0; i < plan.scales; ++i) times[i] = Block::times(1.0F / (1.0F - plan.narrower * static_cast<float>(i)));
  const V first = best.zero;
  const V above = hn::Sub(levels, first);  // codes to that side of a symmetric block; the side below has one more
  Best found = best;
  const int side = format.symmetric ? 1 : 2 * plan.zeros;
  for (int i = 0; i <= side; ++i) {
    V zero = first, widest;
    if (format.symmetric) {
      // Upright, and with codes that fall as weights rise.
      widest = i == 0 ? hn::Max(hn::Div(hn::Neg(low), first), hn::Div(high, above))
                      : hn::Neg(hn::Max(hn::Div(high, first), hn::Div(hn::Neg(low), above)));
    } else {
      zero = hn::Min(hn::Max(hn::Add(first, hn::Set(d, static_cast<float>(i - plan.zeros))), none), levels);
      // The scale at which both extremes have a code; at the ends there are codes for one sign alone.
      widest = hn::Max(hn::Div(hn::Neg(low), hn::Max(zero, one)), hn::Div(high, hn::Max(hn::Sub(levels, zero), one)));
    }
    // A zero that leaves no code for a block's only sign cannot hold it.
    const auto least = block.factor(hn::Div(one, hn::IfThenElse(hn::Gt(hn::Abs(widest), none), widest, one)));
    const auto range = block.range(zero);
    for (int scale = 0; scale < plan.scales; ++scale) found.take(block.sums(least, times[scale], range), zero);
  }
  best = found;
}

template <typename Block>
HWY_INLINE auto factor_of(const Block& block, const Best& best) {
  return block.factor(hn::Div(hn::Set(D(), 1.0F), best.scale(Block::kUnitOfCross)));
}

// From scales a little beside the best.
template <typename Block>
HWY_INLINE void nudge(const Block& block, float by, Best& best) {
  const auto factor = factor_of(block, best);
  const V zero = best.zero;
  const auto range = block.range(zero);
  for (const float steps : {-3.0F, -2.0F, -1.0F, 1.0F, 2.0F, 3.0F})
    best.take(block.sums(factor, Block::times(1.0F / (1.0F + by * steps)), range), zero);
}

// From the codes of the best scale to the best scale of these codes, and again. What did not change yields the same once more.
template <typename Block>
HWY_INLINE void take_turns(const Block& block, int most, Best& best) {
  bool changes = true;
  for (int i = 0; i < most && changes; ++i)
    changes = best.take(block.sums(factor_of(block, best), Block::times(1), block.range(best.zero)), best.zero);
}

template <bool kWeighted>
void search_lanes(const Tile& tile, const BlockFormat& format, int lane, TileScales& result) {
  const D d;
  const V one = hn::Set(d, 1.0F);
  const Extremes range = extremes_of(tile, lane);
  const ScaleAndZero first = rtn_of(range, format);
  const V largest = hn::Max(range.high, hn::Neg(range.low));
  const auto can_search = hn::Gt(largest, hn::Set(d, kLeastNormalized));
  const V unit = hn::Div(one, hn::IfThenElse(can_search, largest, one));
  const V low = hn::Mul(range.low, unit), high = hn::Mul(range.high, unit);
  const Plan plan = plan_of(format.bits);
  const Exactly<kWeighted> exactly(tile, lane, unit, format);
  Best best{first.zero, hn::Mul(first.scale, unit)};
  const auto search_in = [&](const auto& block) HWY_ATTR {
    start(block, plan, format, low, high, best);
    take_turns(block, 1, best);
    nudge(block, plan.narrower / 4, best);
  };
  if (kWeighted || format.bits > kMostBitsInShorts) {
    search_in(exactly);
  } else {
    search_in(InShorts(tile, lane, unit, format));
    // What the integers say of the gain is not quite what it is.
    best = Best{best.zero, best.scale(InShorts::kUnitOfCross)};
  }
  take_turns(exactly, 3, best);

  const auto found = hn::And(can_search, best.is_found());
  const V step = hn::IfThenElse(found, hn::Mul(best.scale(1), largest), first.scale);
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
