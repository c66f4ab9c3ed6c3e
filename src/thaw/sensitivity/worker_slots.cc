#include "thaw/sensitivity/worker_slots.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "thaw/core/threads.h"

namespace thaw::measuring {

WorkerSlots::WorkerSlots(size_t count) {
  const int processors = threads_at_once();
  slots_ = static_cast<int>(std::clamp<size_t>(count, 1, static_cast<size_t>(processors)));
  threads_ = processors / slots_;
}

void WorkerSlots::each(size_t count, const std::function<void(size_t)>& work) const {
  std::vector<std::exception_ptr> thrown(count);
  std::atomic<size_t> next = 0;
  const auto drive = [&](int) {
    for (size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        thrown[i] = std::current_exception();
      }
    }
  };
  tbb::task_arena(slots_).execute([&] { tbb::parallel_for(0, slots_, drive, tbb::simple_partitioner()); });
  const auto first = std::ranges::find_if(thrown, [](const std::exception_ptr& one) { return one != nullptr; });
  if (first != thrown.end()) std::rethrow_exception(*first);
}

}  // namespace thaw::measuring
