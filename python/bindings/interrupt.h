// Calls of the library that Ctrl-C ends.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "casters.h"

namespace thaw::python {

// Runs `work` without the GIL. On the main thread, in a thread of its own, while this one looks for signals: where a signal's handler
// throws, as Ctrl-C's does, the call is cancelled, and the exception is thrown when the call has ended.
void run_interruptible(const std::function<void()>& work);

template <typename Work>
auto interruptible(Work work) -> std::invoke_result_t<Work> {
  std::optional<std::invoke_result_t<Work>> result;
  run_interruptible([&] { result.emplace(work()); });
  return std::move(*result);
}

}  // namespace thaw::python
