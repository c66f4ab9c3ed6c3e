#include "thaw/report/run_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thaw::report {
namespace {

using testing::HasSubstr;

TEST(RunChecks, WhatCannotBeReportedIsNullInJson) {
  confirm::RunCheck check;
  check.name = "trace.onnx";
  confirm::fail_check(check, "does not run");
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  write_checks(out, {check});
  out.end_object();
  EXPECT_THAT(text, HasSubstr("\"max_abs_diff\": null"));
  EXPECT_THAT(text, HasSubstr("\"message\": \"does not run\""));
  EXPECT_THAT(checks_text({check}, "agrees with", "DIFFERS from"), HasSubstr("DIFFERS from trace.onnx: does not run"));
}

}  // namespace
}  // namespace thaw::report
