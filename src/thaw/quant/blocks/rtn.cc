#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/quant/blocks/rtn.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "thaw/quant/blocks/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thaw::quantizing::blocks::HWY_NAMESPACE {

void rtn_tile(const Tile& tile, const BlockFormat& format, TileScales& result) {
  for_lanes([&](int lane) {
    const ScaleAndZero chosen = rtn_of(extremes_of(tile, lane), format);
    hn::Store(chosen.scale, D(), result.scale + lane);
    hn::Store(chosen.scale, D(), result.step + lane);
    hn::Store(chosen.zero, D(), result.zero + lane);
  });
}

}  // namespace thaw::quantizing::blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::quantizing::blocks {

HWY_EXPORT(rtn_tile);

void rtn(const Tile& tile, const BlockFormat& format, TileScales& result) {
  HWY_DYNAMIC_DISPATCH(rtn_tile)(tile, format, result);
}

}  // namespace thaw::quantizing::blocks
#endif
