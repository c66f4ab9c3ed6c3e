#include "thaw/core/fork_mutex.h"

#include <array>
#include <ranges>
#include <utility>
#include <vector>

#include <pthread.h>

namespace thaw {
namespace {

using Mutexes = std::vector<ForkMutex*>;

struct Known {
  std::mutex mutex;                // held last: while others are held some more may be made
  std::array<Mutexes, 2> by_rank;  // guarded by it
  Mutexes held;                    // by who forks
};

Known& known() {
  static auto& all = *new Known;
  return all;
}

Mutexes in_order(Known& all) {
  const std::lock_guard lock(all.mutex);
  Mutexes mutexes;
  for (const Mutexes& same : all.by_rank) mutexes.insert(mutexes.end(), same.begin(), same.end());
  return mutexes;
}

void hold_all() {
  Known& all = known();
  Mutexes mutexes = in_order(all);
  for (ForkMutex* one : mutexes) one->lock();
  all.mutex.lock();
  all.held = std::move(mutexes);
}

void let_go_of_all() {
  Known& all = known();
  const Mutexes mutexes = std::move(all.held);
  all.mutex.unlock();
  for (ForkMutex* one : std::views::reverse(mutexes)) one->unlock();
}

}  // namespace

ForkMutex::ForkMutex(ForkRank rank) {
  static const int asked = ::pthread_atfork(hold_all, let_go_of_all, let_go_of_all);
  static_cast<void>(asked);  // it fails for want of memory alone
  Known& all = known();
  const std::lock_guard lock(all.mutex);
  all.by_rank.at(static_cast<size_t>(rank)).push_back(this);
}

}  // namespace thaw
