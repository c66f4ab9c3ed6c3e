#include "thaw/sensitivity/worker_slots.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

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
