#include "thaw/core/memory.h"

#include <gtest/gtest.h>

namespace thaw {
namespace {

TEST(Memory, IsMoreThanThisTestTakesAndLessThanAnyMachineHas) {
  const auto left = available_memory();
  if (!left) GTEST_SKIP() << "the system does not say";
  EXPECT_GT(*left, uint64_t{1} << 20);
  EXPECT_LT(*left, uint64_t{1} << 50);
}

}  // namespace
}  // namespace thaw
