// A rewrite in the making: applied whole, or dropped without a trace.
//
//   Patch patch(model, "fuse");
//   ops::Emit at = patch.before(node);
//   patch.replace(node->output(0), at.emit("Gelu", {x}));
//   patch.apply(facts);            // else everything is taken back, also where something threw
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "thaw/infer/inference.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/pass.h"
#include "thaw/rewrite/replace.h"

namespace thaw::rewrite {

class Patch {
 public:
  // New nodes are called after `prefix`, and after the origin where the emitter is given one.
  Patch(ir::Model& model, std::string prefix) : edit_(model), emitter_(model, std::move(prefix)) {}

  Emitter& emitter() { return emitter_; }
  ops::Emit before(ir::Node* node) { return emitter_.before(node); }
  ops::Emit after(ir::Node* node) { return emitter_.after(node); }

  // All that reads `old` reads `now`. An output of a graph keeps its name and its declared type.
  void replace(ir::Value* old, ir::Value* now) {
    replaced_.emplace_back(old, now);
    replace_value(*old, *now);
  }
  // The same; `now`, which is new, takes the name of `old` in any case.
  void replace_by_new(ir::Value* old, ir::Value* now) {
    replaced_.emplace_back(old, now);
    rewrite::replace_by_new(*old, *now);
  }

  // Keeps the edits; the second form brings the facts up to date, downstream of what changed.
  void apply() { edit_.keep(); }
  void apply(infer::Inference& facts);

 private:
  ir::Transaction edit_;
  Emitter emitter_;
  std::vector<std::pair<const ir::Value*, const ir::Value*>> replaced_;  // and what stands in its place
};

// A pass's edits as one, whatever `work` edits; facts that there are are brought up to date where it says that it did something.
// Returns what it returns: how much it did. Where it throws, everything is taken back.
template <typename Work>
int edit_as_one(PassContext& context, Work work) {
  ir::Transaction edit(context.model);
  const int count = work();
  if (count > 0 && context.has_facts()) context.facts().update(edit.touched(), edit.declared());
  edit.keep();
  return count;
}

}  // namespace thaw::rewrite
