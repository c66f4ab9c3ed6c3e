// Inference that goes along with edits: what changed is inferred again, and what follows from it, as far as facts change.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "thaw/core/listed_set.h"
#include "thaw/infer/infer.h"

namespace thaw::infer {

class Engine;

// What a size is that no rule tells.
enum class UnknownSizes : uint8_t {
  kUnknown,  // never equal to anything
  // Equal to itself: a symbol for each axis of the outputs of a node of the main graph, as of a size that is known only at run time. What
  // is split by it and concatenated again is then known to be what it was. For rewrites, not to be shown.
  kNamed,
  // The same, and of nodes of a branch that is the only one that ever runs. For models that nothing changes.
  kNamedInBranches,
};

class Inference {
 public:
  // Infers the whole model. Model and scope must outlive it.
  Inference(const ir::Model& model, dim::Scope& scope, InferOptions options = {});
  Inference(const ir::Model& model, dim::Scope& scope, UnknownSizes unknown);
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;
  ~Inference();

  const Result& result() const;
  const ops::Fact& fact(const ir::Value* value) const { return result().fact(value); }

  // touched: nodes of the main graph that are new, changed or removed; declared: inputs whose type changed; as
  // ir::Transaction tells them. The facts are then those of the model as it is. Returns how many nodes were visited.
  size_t update(std::span<const ir::Node* const> touched, std::span<const ir::Value* const> declared = {});

  // Until resume(), update() only notes what changed: graphs inside a node are inferred with the node, which takes long to do
  // for each of many edits. What stands in a value's place meanwhile is taken for what the value was.
  void pause() { is_paused_ = true; }
  bool is_paused() const { return is_paused_; }
  void assume_same(const ir::Value* now, const ir::Value* before);
  size_t resume();  // brings the facts up to date, as update() does

 private:
  InferOptions options_;
  std::unique_ptr<Engine> engine_;
  bool is_paused_ = false;
  ListedSet<const ir::Node*> touched_;  // while it is paused
  std::vector<const ir::Value*> declared_;
};

}  // namespace thaw::infer
