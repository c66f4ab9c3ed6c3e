// Several runs at a time, each on few threads: networks of layers as small as a layer is gain little from more of them.
#pragma once

#include <cstddef>
#include <functional>

namespace thaw::measuring {

class WorkerSlots {
 public:
  // As many as threads may compute at once, of at most `count` runs that have nothing to do with each other: of so many samples.
  explicit WorkerSlots(size_t count);

  // Of each session that runs in one.
  int threads() const { return threads_; }

  // work(i) of each i below count, from several threads; each begins after those before it have begun, so that what takes long
  // had better come first. Where some throw, rethrows what the first of them threw, in the order of i, once all have ended.
  void each(size_t count, const std::function<void(size_t)>& work) const;

 private:
  int slots_ = 1, threads_ = 1;
};

}  // namespace thaw::measuring
