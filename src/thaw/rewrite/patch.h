// A rewrite in the making: applied whole, or dropped without a trace.
//
//   Patch patch(model, "fuse");
//   ops::Emit at = patch.before(node);
//   patch.replace(node->output(0), at.emit("Gelu", {x}));
//   patch.apply(facts);            // else everything is taken back, also where something threw
#pragma once

#include <string>

#include "thaw/infer/inference.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::rewrite {

class Patch {
 public:
  // New nodes are called after `prefix`, and after the origin where the emitter is told one.
  Patch(ir::Model& model, std::string prefix) : edit_(model), emitter_(model, std::move(prefix)) {}

  Emitter& emitter() { return emitter_; }
  ops::Emit before(ir::Node* node) { return emitter_.before(node); }
  ops::Emit after(ir::Node* node) { return emitter_.after(node); }

  // All that reads `old` reads `now`. An output of a graph keeps its name and its declared type.
  void replace(ir::Value* old, ir::Value* now);

  // Keeps the edits; the second form brings the facts up to date, downstream of what changed.
  void apply() { edit_.keep(); }
  void apply(infer::Inference& facts);

 private:
  ir::Transaction edit_;
  Emitter emitter_;
};

}  // namespace thaw::rewrite
