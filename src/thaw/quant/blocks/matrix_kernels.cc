#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/quant/blocks/matrix_kernels.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include "thaw/quant/blocks/matrix_kernels.h"
#include "thaw/quant/blocks/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thaw::quantizing::blocks::HWY_NAMESPACE {

void combine_rows(const double* factors, const double* rows, size_t count, double* to) {
  const hn::CappedTag<double, kLanes / 2> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t lane = 0; lane < kLanes; lane += 2 * lanes) {
    auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
    const auto add = [&](size_t i, auto& low, auto& high) HWY_ATTR {
      const auto factor = hn::Set(d, factors[i]);
      low = hn::MulAdd(factor, hn::LoadU(d, rows + i * kLanes + lane), low);
      high = hn::MulAdd(factor, hn::LoadU(d, rows + i * kLanes + lane + lanes), high);
    };
    size_t i = 0;
    for (; i + 2 <= count; i += 2) {
      add(i, sum0, sum1);
      add(i + 1, sum2, sum3);
    }
    if (i < count) add(i, sum0, sum1);
    hn::StoreU(hn::Add(sum0, sum2), d, to + lane);
    hn::StoreU(hn::Add(sum1, sum3), d, to + lane + lanes);
  }
}

void add_rows(const float* rows, size_t num_rows, size_t stride, const float* factors, float* to, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t j = 0;
  // Four vectors of sums, so that each factor is spread out once for all of them.
  for (; j + 4 * lanes <= count; j += 4 * lanes) {
    auto sum0 = hn::LoadU(d, to + j), sum1 = hn::LoadU(d, to + j + lanes);
    auto sum2 = hn::LoadU(d, to + j + 2 * lanes), sum3 = hn::LoadU(d, to + j + 3 * lanes);
    for (size_t i = 0; i < num_rows; ++i) {
      const auto factor = hn::Set(d, factors[i]);
      const float* row = rows + i * stride + j;
      sum0 = hn::MulAdd(factor, hn::LoadU(d, row), sum0);
      sum1 = hn::MulAdd(factor, hn::LoadU(d, row + lanes), sum1);
      sum2 = hn::MulAdd(factor, hn::LoadU(d, row + 2 * lanes), sum2);
      sum3 = hn::MulAdd(factor, hn::LoadU(d, row + 3 * lanes), sum3);
    }
    hn::StoreU(sum0, d, to + j);
    hn::StoreU(sum1, d, to + j + lanes);
    hn::StoreU(sum2, d, to + j + 2 * lanes);
    hn::StoreU(sum3, d, to + j + 3 * lanes);
  }
  for (; j + lanes <= count; j += lanes) {
    auto sum = hn::LoadU(d, to + j);
    for (size_t i = 0; i < num_rows; ++i)
      sum = hn::MulAdd(hn::Set(d, factors[i]), hn::LoadU(d, rows + i * stride + j), sum);
    hn::StoreU(sum, d, to + j);
  }
  for (; j < count; ++j)
    for (size_t i = 0; i < num_rows; ++i) to[j] += factors[i] * rows[i * stride + j];
}

void take_off_lanes(const float* errors, size_t num_errors, const float* factors, size_t stride, float* later,
                    size_t count) {
  for_lanes([&](int lane) {
    const D d;
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
      float* to = later + j * kLanes + lane;
      V left0 = hn::LoadU(d, to), left1 = hn::LoadU(d, to + kLanes);
      V left2 = hn::LoadU(d, to + 2 * kLanes), left3 = hn::LoadU(d, to + 3 * kLanes);
      for (size_t i = 0; i < num_errors; ++i) {
        const V error = hn::LoadU(d, errors + i * kLanes + lane);
        const float* factor = factors + i * stride + j;
        left0 = hn::NegMulAdd(hn::Set(d, factor[0]), error, left0);
        left1 = hn::NegMulAdd(hn::Set(d, factor[1]), error, left1);
        left2 = hn::NegMulAdd(hn::Set(d, factor[2]), error, left2);
        left3 = hn::NegMulAdd(hn::Set(d, factor[3]), error, left3);
      }
      hn::StoreU(left0, d, to);
      hn::StoreU(left1, d, to + kLanes);
      hn::StoreU(left2, d, to + 2 * kLanes);
      hn::StoreU(left3, d, to + 3 * kLanes);
    }
    for (; j < count; ++j) {
      float* to = later + j * kLanes + lane;
      V left = hn::LoadU(d, to);
      for (size_t i = 0; i < num_errors; ++i)
        left = hn::NegMulAdd(hn::Set(d, factors[i * stride + j]), hn::LoadU(d, errors + i * kLanes + lane), left);
      hn::StoreU(left, d, to);
    }
  });
}

}  // namespace thaw::quantizing::blocks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::quantizing::blocks {

HWY_EXPORT(combine_rows);
HWY_EXPORT(add_rows);
HWY_EXPORT(take_off_lanes);

void combine(const double* factors, const double* rows, size_t count, double* to) {
  HWY_DYNAMIC_DISPATCH(combine_rows)(factors, rows, count, to);
}

void add_scaled_rows(const float* rows, size_t num_rows, size_t stride, const float* factors, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(add_rows)(rows, num_rows, stride, factors, to, count);
}

void take_off(const float* errors, size_t num_errors, const float* factors, size_t stride, float* later, size_t count) {
  HWY_DYNAMIC_DISPATCH(take_off_lanes)(errors, num_errors, factors, stride, later, count);
}

}  // namespace thaw::quantizing::blocks
#endif
