#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/math/transpose_block.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "thaw/math/transpose_block.h"

HWY_BEFORE_NAMESPACE();
namespace thaw::math::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// Four by four, in two rounds of interleaving: pairs of rows, then pairs of pairs.
void transpose_four(const float* from, int64_t columns, float* to, int64_t to_stride) {
  const hn::FixedTag<uint32_t, 4> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  const auto* rows = reinterpret_cast<const uint32_t*>(from);
  const auto row = [&](int64_t i) { return hn::LoadU(d, rows + i * columns); };
  const auto put = [&](int64_t j, auto column) {
    hn::StoreU(hn::BitCast(d, column), d, reinterpret_cast<uint32_t*>(to) + j * to_stride);
  };
  const auto r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  put(0, hn::InterleaveLower(pairs, low01, low23));
  put(1, hn::InterleaveUpper(pairs, low01, low23));
  put(2, hn::InterleaveLower(pairs, high01, high23));
  put(3, hn::InterleaveUpper(pairs, high01, high23));
}
#endif

void transpose_block(const float* from, int64_t rows, int64_t columns, float* to, int64_t to_stride) {
  int64_t whole_rows = 0, whole_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  whole_rows = rows & ~int64_t{3};
  whole_columns = columns & ~int64_t{3};
  // Rows run inside, so that each line that is written to is filled before the next.
  for (int64_t j = 0; j < whole_columns; j += 4)
    for (int64_t i = 0; i < whole_rows; i += 4)
      transpose_four(from + i * columns + j, columns, to + j * to_stride + i, to_stride);
#endif
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = j < whole_columns ? whole_rows : 0; i < rows; ++i) to[j * to_stride + i] = from[i * columns + j];
}

}  // namespace thaw::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::math {

HWY_EXPORT(transpose_block);

void transpose_block(const float* from, int64_t rows, int64_t columns, float* to, int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_block)(from, rows, columns, to, to_stride);
}

}  // namespace thaw::math
#endif
