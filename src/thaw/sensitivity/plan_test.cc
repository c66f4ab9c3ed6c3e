#include "thaw/sensitivity/plan.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "thaw/error.h"

namespace thaw::measuring {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// What nobody measured, as a file may say it: near the ends of 64 bits as often as not.
int64_t drawn_bytes() {
  const auto near = *rc::gen::inRange<int64_t>(0, 1000);
  return *rc::gen::element(near, -near, kMost - near, kMost / 2 + near, near - kMost);
}

ErrorFigures drawn_error() { return {.mse = static_cast<double>(*rc::gen::inRange(0, 1000))}; }

SensitivityReport drawn_report() {
  SensitivityReport report;
  report.metric = ErrorMetric::kMse;
  report.weight_bytes = static_cast<uint64_t>(std::max<int64_t>(0, drawn_bytes()));
  report.precisions.resize(*rc::gen::inRange<size_t>(1, 3));
  report.units.resize(*rc::gen::inRange<size_t>(1, 6));
  for (size_t p = 0; p < report.precisions.size(); ++p) {
    report.uniform_bytes_saved.push_back(drawn_bytes());
    report.uniform_errors.push_back({drawn_error()});
    for (size_t unit = 0; unit < report.units.size(); ++unit)
      report.errors.push_back({.unit = unit, .precision = p, .in = {drawn_error()}, .bytes = drawn_bytes()});
  }
  return report;
}

// The bytes of a plan, in numbers that have room for all of them.
uint64_t bytes_of(const SensitivityReport& report, const MixedPlan& plan) {
  __extension__ using Wide = __int128;
  Wide saved = 0;
  if (plan.uniform) saved = report.uniform_bytes_saved[*plan.uniform];
  for (const UnitError& error : report.errors)
    if (!plan.uniform && plan.precisions[error.unit] == error.precision) saved += error.bytes;
  return static_cast<uint64_t>(std::clamp<Wide>(static_cast<Wide>(report.weight_bytes) - saved, 0, kMost));
}

RC_GTEST_PROP(Plan, BytesNeverWrap, ()) {
  const SensitivityReport report = drawn_report();
  for (const MixedPlan& one : frontier(report, 10)) RC_ASSERT(one.bytes == bytes_of(report, one));
  const auto limit = static_cast<uint64_t>(std::max<int64_t>(0, drawn_bytes()));
  try {
    for (const MixedPlan& one : plans_within(report, {.max_bytes = limit})) {
      RC_ASSERT(one.bytes == bytes_of(report, one));
      RC_ASSERT(one.bytes <= limit);
    }
  } catch (const Error& error) {
    RC_ASSERT(error.code() == ErrorCode::kInvalidArgument);
    RC_ASSERT(limit < report.weight_bytes);  // nothing converted is a plan too
  }
}

}  // namespace
}  // namespace thaw::measuring
