#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/quant/blocks/encode.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "thaw/quant/blocks/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thaw::quantizing::blocks::HWY_NAMESPACE {

// Calls each(position, codes of some lanes as integers, first lane) of every position of a block.
template <typename Each>
HWY_INLINE bool for_codes(const Tile& tile, const BlockFormat& format, const TileScales& scales, Each each) {
  bool finite = true;
  for_lanes([&](int lane) {
    const D d;
    const DI di;
    const Coding coding = coding_of(scales, lane, format);
    V broken = hn::Zero(d);  // NaN once a weight is NaN or infinite
    int i = 0;
    for (; i < tile.count; ++i) {
      const V w = hn::Load(d, tile.weights + i * kLanes + lane);
      broken = hn::MulAdd(w, hn::Zero(d), broken);
      each(i, hn::BitCast(DU(), hn::ConvertTo(di, coding.codes(w))), lane);
    }
    const auto padding = hn::BitCast(DU(), hn::ConvertTo(di, coding.zero));
    for (; i < format.block; ++i) each(i, padding, lane);
    finite = finite && hn::AllFalse(d, hn::IsNaN(broken));
  });
  return finite;
}

bool encode_tile(const Tile& tile, const BlockFormat& format, const TileScales& scales, uint8_t* codes) {
  return for_codes(tile, format, scales, [&](int i, hn::Vec<DU> code, int lane) {
    hn::StoreU(hn::TruncateTo(hn::Rebind<uint8_t, DU>(), code), hn::Rebind<uint8_t, DU>(), codes + i * kLanes + lane);
  });
}

template <int kBits>
bool encode_words(const Tile& tile, const BlockFormat& format, const TileScales& scales, uint32_t* words) {
  constexpr int kEach = 32 / kBits;
  const DU du;
  hn::Vec<DU> word = hn::Zero(du);
  return for_codes(tile, format, scales, [&](int i, hn::Vec<DU> code, int lane) {
    // The latest code comes in at the top: after kEach of them the first is at the bottom.
    word = hn::Or(hn::ShiftRight<kBits>(word), hn::ShiftLeft<32 - kBits>(code));
    if ((i + 1) % kEach == 0) hn::StoreU(word, du, words + i / kEach * kLanes + lane);
  });
}

bool encode_packed_tile(const Tile& tile, const BlockFormat& format, const TileScales& scales, uint32_t* words) {
  switch (format.stored_bits()) {
    case 2:
      return encode_words<2>(tile, format, scales, words);
    case 4:
      return encode_words<4>(tile, format, scales, words);
    default:
      return encode_words<8>(tile, format, scales, words);
  }
}

}  // namespace thaw::quantizing::blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::quantizing::blocks {

HWY_EXPORT(encode_tile);
HWY_EXPORT(encode_packed_tile);

bool encode(const Tile& tile, const BlockFormat& format, const TileScales& scales, uint8_t* codes) {
  return HWY_DYNAMIC_DISPATCH(encode_tile)(tile, format, scales, codes);
}

bool encode_packed(const Tile& tile, const BlockFormat& format, const TileScales& scales, uint32_t* words) {
  return HWY_DYNAMIC_DISPATCH(encode_packed_tile)(tile, format, scales, words);
}

}  // namespace thaw::quantizing::blocks
#endif
