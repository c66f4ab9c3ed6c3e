#include "thaw/sensitivity/worker_slots.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "thaw/limits.h"

namespace thaw::measuring {
namespace {

TEST(WorkerSlots, EachIsDoneOnce) {
  for (const size_t samples : {0, 1, 3, 1000}) {
    const WorkerSlots slots(samples);
    EXPECT_GE(slots.threads(), 1);
    std::vector<std::atomic<int>> done(101);
    slots.each(done.size(), [&](size_t i) { ++done[i]; });
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(WorkerSlots, OneHasAllThreads) { EXPECT_EQ(WorkerSlots(1).threads(), WorkerSlots(0).threads()); }

TEST(WorkerSlots, LimitsBoundThreads) {
  const Limits before = limits();
  set_limits({.threads = 1});
  const WorkerSlots slots(100);
  EXPECT_EQ(slots.threads(), 1);
  std::atomic<int> at_once = 0, most = 0;
  slots.each(50, [&](size_t) {
    most = std::max<int>(most, ++at_once);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --at_once;
  });
  EXPECT_EQ(most, 1);
  set_limits(before);
  EXPECT_GE(WorkerSlots(1).threads(), slots.threads());
}

TEST(WorkerSlots, OneRunsInOrder) {
  std::vector<size_t> order;
  WorkerSlots(1).each(20, [&](size_t i) { order.push_back(i); });
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(order[i], i);
}

TEST(WorkerSlots, TheFirstErrorIsThrownAfterAll) {
  std::atomic<int> done = 0;
  try {
    WorkerSlots(8).each(64, [&](size_t i) {
      ++done;
      if (i % 10 == 7) throw std::runtime_error(std::to_string(i));
    });
    FAIL();
  } catch (const std::runtime_error& thrown) {
    EXPECT_STREQ(thrown.what(), "7");
  }
  EXPECT_EQ(done, 64);
}

}  // namespace
}  // namespace thaw::measuring
