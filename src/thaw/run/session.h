// A model ready to run in ONNX Runtime, on the CPU or other execution providers.
//
//   run::Session session("model.onnx");
//   Arrays outputs = session.run({{"x", x}});
//
// ONNX Runtime runs in a process of its own, which the first session starts, within the limits of thaw/limits.h: a model
// that never ends, takes all memory or crashes ends that process. Whatever it refuses, at loading or at running, is a
// thaw::Error that carries its message. Nothing is printed: what it warns of is kept (`warnings`). A session may be run
// from several threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run.h"
#include "thaw/run/array.h"
#include "thaw/run/held.h"

namespace thaw::run {

using thaw::Optimization;
using thaw::PlacedNode;
using thaw::Placement;
using thaw::Port;
using thaw::Provider;
using thaw::Runtime;
using thaw::SessionOptions;
using thaw::TimedNode;

// Thrown where a model was loaded or ran for longer than Limits::timeout: who tries one size after the other need not
// wait for each.
class RunTimedOut : public Error {
 public:
  explicit RunTimedOut(ErrorParts parts) : Error(ErrorCode::kOutOfBudget, std::move(parts)) {}
};

class Session {
 public:
  // ir::load reads the file first: what it refuses ONNX Runtime never opens.
  explicit Session(const std::filesystem::path& path, const SessionOptions& options = {});
  // A model in memory, with external data where model.path's folder has them.
  explicit Session(const ir::Model& model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const Port* find_input(std::string_view name) const;  // null if there is none
  const Port* find_output(std::string_view name) const;
  Arrays inputs_among(const Arrays& arrays) const;  // those that are inputs of it

  // Runs the model. Every input without default must be fed, with the type it has; `wanted` names outputs, all when
  // empty. A sequence of tensors comes back as NAME[0], NAME[1], …; an empty optional is left out; maps are refused.
  Arrays run(const Arrays& feeds, std::span<const std::string> wanted = {});
  // The same, and outputs that `held` names stay where they are computed, to be `fed` to another run, of any session with the same
  // providers: nothing is copied between devices and processes. `wanted` names the others, and may be empty for none. Throws
  // HeldArrayLost where the process that holds what is fed has ended.
  Values run(const Arrays& feeds, const HeldArrays& fed, std::span<const std::string> wanted,
             std::span<const std::string> held);

  const Runtime& runtime() const;
  // Where each node ran so far, of SessionOptions::profile. Once; throws thaw::Error where nothing was recorded.
  Placement placement();

  // What ONNX Runtime warned of since the last call, each text once.
  std::vector<std::string> take_warnings();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Throws thaw::Error where ONNX Runtime does not load even a model of one node with these providers.
void require_providers(const std::vector<Provider>& providers);

// Where sessions run that name no providers: asked of one with a model of one node. Throws as such a session does.
Runtime current_runtime();

// Where the last session ran that named no providers itself; without a version where there was none.
Runtime last_runtime();

// Starts ONNX Runtime's process without waiting for it, so that it is there by the first session.
void prepare_sessions();

}  // namespace thaw::run
