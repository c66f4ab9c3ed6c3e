#include "thaw/core/phase.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace thaw {
namespace {

TEST(Phase, TimesAreWithoutThoseInside) {
  const auto wait = [](int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
  {
    const Phase outer("outer");
    EXPECT_STREQ(current_phase(), "outer");
    for (int i = 0; i < 2; ++i) {
      const Phase inner("inner");
      EXPECT_STREQ(current_phase(), "inner");
      wait(20);
    }
    wait(5);
    std::thread([] { const Phase other("other"); }).join();
  }
  EXPECT_EQ(current_phase(), nullptr);
  const auto times = phase_times();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].name, "outer");
  EXPECT_EQ(times[1].count, 2u);
  EXPECT_GE(times[1].seconds, 0.04);
  EXPECT_LT(times[0].seconds, times[1].seconds);
}

}  // namespace
}  // namespace thaw
