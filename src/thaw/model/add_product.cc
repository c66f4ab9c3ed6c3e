#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/model/add_product.cc"
// Vectors whose length the compiler does not know cannot stand in arrays, as the sums below do.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include <hwy/highway.h>

#include "thaw/model/add_product.h"

HWY_BEFORE_NAMESPACE();
namespace thaw::model::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The sums of a tile of c stay in registers while depth runs: kTileRows * kTileVectors of them, beside a row of a and
// one element of b. 512-bit instructions come with 32 registers, others on this side of it with 16.
constexpr int64_t kTileRows = 6;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kTileVectors = 4;
#else
constexpr int kTileVectors = 2;
#endif

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// c [kRows, width] += b [kRows, depth] panel [depth, width], width being kTileVectors vectors; c's and b's rows are
// c_stride and b_stride apart.
template <int64_t kRows>
void add_tile(const float* b, int64_t b_stride, const float* panel, int64_t depth, float* c, int64_t c_stride) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kRows][kTileVectors];
  HWY_UNROLL(8)
  for (int64_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kTileVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k) {
    V a[kTileVectors];
    HWY_UNROLL(8)
    for (int v = 0; v < kTileVectors; ++v) a[v] = hn::Load(d, panel + (k * kTileVectors + v) * lanes);
    HWY_UNROLL(8)
    for (int64_t r = 0; r < kRows; ++r) {
      const V factor = hn::Set(d, b[r * b_stride + k]);
      HWY_UNROLL(8)
      for (int v = 0; v < kTileVectors; ++v) sums[r][v] = hn::MulAdd(factor, a[v], sums[r][v]);
    }
  }
  HWY_UNROLL(8)
  for (int64_t r = 0; r < kRows; ++r) {
    HWY_UNROLL(8)
    for (int v = 0; v < kTileVectors; ++v) {
      float* to = c + r * c_stride + v * lanes;
      hn::StoreU(hn::Add(hn::LoadU(d, to), sums[r][v]), d, to);
    }
  }
}

void add_rows(int64_t rows, const float* b, int64_t depth, const float* panel, float* c, int64_t c_stride) {
  for (; rows >= kTileRows; rows -= kTileRows) {
    add_tile<kTileRows>(b, depth, panel, depth, c, c_stride);
    b += kTileRows * depth;
    c += kTileRows * c_stride;
  }
  switch (rows) {
    case 5:
      return add_tile<5>(b, depth, panel, depth, c, c_stride);
    case 4:
      return add_tile<4>(b, depth, panel, depth, c, c_stride);
    case 3:
      return add_tile<3>(b, depth, panel, depth, c, c_stride);
    case 2:
      return add_tile<2>(b, depth, panel, depth, c, c_stride);
    case 1:
      return add_tile<1>(b, depth, panel, depth, c, c_stride);
    default:
      return;
  }
}

// panel [depth, width] = scale * the columns of a [depth, columns] from `first` on; zero past the last.
void fill_panel(const float* a, int64_t depth, int64_t columns, int64_t first, float scale, float* panel) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = lanes * kTileVectors;
  const int64_t count = std::min(width, columns - first);
  const V factor = hn::Set(d, scale);
  for (int64_t k = 0; k < depth; ++k) {
    const float* from = a + k * columns + first;
    float* to = panel + k * width;
    if (count == width) {
      HWY_UNROLL(8)
      for (int v = 0; v < kTileVectors; ++v)
        hn::Store(hn::Mul(factor, hn::LoadU(d, from + v * lanes)), d, to + v * lanes);
    } else {
      for (int64_t j = 0; j < count; ++j) to[j] = scale * from[j];
      std::fill(to + count, to + width, 0.0F);
    }
  }
}

void add_product(const float* b, const float* a, int64_t rows, int64_t depth, int64_t columns, float scale, float* c) {
  const auto width = static_cast<int64_t>(hn::Lanes(D())) * kTileVectors;
  // Aligned for the widest vectors.
  const auto floats = [](int64_t count) {
    constexpr size_t kAlignment = 128;
    const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
    auto* memory = static_cast<float*>(std::aligned_alloc(kAlignment, std::max(bytes, kAlignment)));
    if (!memory) throw std::bad_alloc();
    return std::unique_ptr<float, decltype(&std::free)>(memory, &std::free);
  };
  const auto panel = floats(std::max<int64_t>(depth, 1) * width);
  int64_t first = 0;
  for (; first + width <= columns; first += width) {
    fill_panel(a, depth, columns, first, scale, panel.get());
    add_rows(rows, b, depth, panel.get(), c + first, columns);
  }
  const int64_t rest = columns - first;
  if (rest == 0 || rows == 0) return;
  // The last columns go through a copy that is as wide as a tile.
  fill_panel(a, depth, columns, first, scale, panel.get());
  const auto wide = floats(rows * width);
  std::fill_n(wide.get(), rows * width, 0.0F);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(c + i * columns + first, rest, wide.get() + i * width);
  add_rows(rows, b, depth, panel.get(), wide.get(), width);
  for (int64_t i = 0; i < rows; ++i) std::copy_n(wide.get() + i * width, rest, c + i * columns + first);
}

}  // namespace thaw::model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::model {

HWY_EXPORT(add_product);

void add_product(const float* b, const float* a, int64_t rows, int64_t depth, int64_t columns, float scale, float* c) {
  HWY_DYNAMIC_DISPATCH(add_product)(b, a, rows, depth, columns, scale, c);
}

}  // namespace thaw::model
#endif
