#include "thaw/confirm/reconsider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::confirm {
namespace {

using testing::HasSubstr;

RunCheck differing() {
  RunCheck check;
  check.name = "n=3";
  check.elements = 12;
  check.max_abs_diff = 0.5;
  check.agrees = false;
  check.message = "output 'y' differs by 0.5";
  return check;
}

void agree(RunCheck& again) { again.elements = 12; }

TEST(Reconsider, TakesWhatAgreesAsItIsWritten) {
  RunCheck check = differing();
  reconsider(check, agree);
  EXPECT_TRUE(check.agrees);
  EXPECT_THAT(check.name, HasSubstr("n=3 with ONNX Runtime's optimizations disabled"));
  EXPECT_TRUE(check.message.empty());
}

TEST(Reconsider, KeepsWhatDiffersThereToo) {
  RunCheck check = differing();
  reconsider(check, [](RunCheck& again) { fail_check(again, "output 'y' differs by 0.4"); });
  EXPECT_FALSE(check.agrees);
  EXPECT_THAT(check.message, HasSubstr("0.5"));
  reconsider(check, [](RunCheck&) { throw Error(ErrorCode::kRuntimeFailed, {.what = "it does not run"}); });
  EXPECT_FALSE(check.agrees);
  EXPECT_EQ(check.name, "n=3");
}

TEST(Reconsider, IsOfNumbersAlone) {
  const auto never = [](RunCheck&) { FAIL() << "nothing was to be run again"; };
  RunCheck fine;
  fine.elements = 12;
  reconsider(fine, never);
  RunCheck failed = differing();
  fail_check(failed, "ONNX Runtime: it stops");  // not run, or of another shape
  reconsider(failed, never);
  EXPECT_FALSE(failed.agrees);
  RunCheck bare = differing();
  bare.elements = 0;
  reconsider(bare, never);
  EXPECT_FALSE(bare.agrees);
}

}  // namespace
}  // namespace thaw::confirm
