// A model in ONNX Runtime, in this process. Internal to run/: what others use is run/session.h, which has this done in a
// worker process, within limits.
//
// ONNX Runtime is loaded by the first. What it refuses is a thaw::Error: kOutOfBudget where memory ran out, else
// kRuntimeFailed. Names and types are not checked here. May be run from several threads.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thaw/run.h"
#include "thaw/run/array.h"
#include "thaw/run/held.h"
#include "thaw/run/providers.h"

namespace thaw::run {

using thaw::PlacedNode;
using thaw::Placement;
using thaw::TimedNode;

// An array by its name, whose bytes are someone else's.
struct ArrayView {
  std::string name;
  ir::DataType dtype = ir::DataType::kUndefined;
  std::vector<int64_t> dims;
  std::span<const std::byte> bytes;
  std::vector<std::string> strings;
};

class OrtSession {
 public:
  OrtSession(const std::filesystem::path& path, const SessionOptions& options);
  // A model's wire bytes, which need not outlive the call; `folder` has its external data, `where` is for messages. `weights` are
  // initializers of the main graph whose external data is not looked for; their bytes must outlive the session.
  OrtSession(std::span<const std::byte> model, const std::string& folder, std::string where,
             const SessionOptions& options, std::span<const ArrayView> weights = {});
  ~OrtSession();
  OrtSession(const OrtSession&) = delete;
  OrtSession& operator=(const OrtSession&) = delete;

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;

  // Runs the model and shows the outputs that `wanted` names to `take`, for the time of its call. Those that `held` names come back, and
  // stay where they were computed. `fed`: what a run in this process held.
  HeldArrays run(std::span<const ArrayView> feeds, const HeldArrays& fed, std::span<const std::string> wanted,
                 std::span<const std::string> held, const std::function<void(std::span<const ArrayView>)>& take);

  const Runtime& runtime() const;
  // Of SessionOptions::profile, once: where each node ran so far. Only in a worker's program (cmake/worker_open.cc).
  Placement placement();
  std::vector<std::string> take_warnings();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Loads ONNX Runtime, which takes some tens of milliseconds, before it is needed.
void warm_up_runtime();

}  // namespace thaw::run
