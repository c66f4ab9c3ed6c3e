#include "thaw/core/call_clock.h"

#include <thread>

#include <gtest/gtest.h>

#include "thaw/limits.h"

namespace thaw {
namespace {

using std::chrono::steady_clock;

class CallClockTest : public testing::Test {
 protected:
  void SetUp() override { set_limits({.timeout = 60}); }
  void TearDown() override { set_limits({}); }
};

std::optional<CallClock::Time> end_in_another_thread() {
  std::optional<CallClock::Time> end;
  std::thread([&] { end = CallClock::end(); }).join();
  return end;
}

TEST_F(CallClockTest, TheOutermostCounts) {
  const CallClock outer;
  const auto end = CallClock::end();
  ASSERT_TRUE(end);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  {
    const CallClock inner;
    EXPECT_EQ(CallClock::end(), end);
  }
  EXPECT_EQ(CallClock::end(), end);
  EXPECT_EQ(end_in_another_thread(), end);  // a thread that the call has
}

TEST_F(CallClockTest, CallsOfTwoThreadsHaveTheirOwn) {
  const CallClock first;
  const auto end = CallClock::end();
  std::thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const CallClock second;
    EXPECT_GT(CallClock::end(), end);
  }).join();
  EXPECT_EQ(CallClock::end(), end);
}

TEST_F(CallClockTest, WithoutACallEachThingIsOne) {
  const auto before = steady_clock::now();
  EXPECT_GE(CallClock::end(), before + std::chrono::seconds(60));
  {
    const CallClock over;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(CallClock::end(), before + std::chrono::seconds(60) + std::chrono::milliseconds(2));
}

TEST_F(CallClockTest, NoLimitHasNoEnd) {
  set_limits({.run_timeout = 5});
  const CallClock clock;
  EXPECT_FALSE(CallClock::end());
}

}  // namespace
}  // namespace thaw
