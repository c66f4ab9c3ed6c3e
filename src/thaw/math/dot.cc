#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/math/dot.cc"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "thaw/math/dot.h"

HWY_BEFORE_NAMESPACE();
namespace thaw::math::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

double dot_of(const double* a, const double* b, size_t count) {
  const hn::ScalableTag<double> d;
  const size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), sum1);
    sum2 = hn::MulAdd(hn::LoadU(d, a + i + 2 * lanes), hn::LoadU(d, b + i + 2 * lanes), sum2);
    sum3 = hn::MulAdd(hn::LoadU(d, a + i + 3 * lanes), hn::LoadU(d, b + i + 3 * lanes), sum3);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace thaw::math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw::math {

HWY_EXPORT(dot_of);

double dot(const double* a, const double* b, size_t count) { return HWY_DYNAMIC_DISPATCH(dot_of)(a, b, count); }

}  // namespace thaw::math
#endif
