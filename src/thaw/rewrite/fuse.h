// Fusions: patterns with what takes their place. One walk over the model tries all of them.
#pragma once

#include <span>
#include <string_view>

#include "thaw/infer/inference.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/match.h"
#include "thaw/rewrite/pass.h"

namespace thaw::rewrite {

struct Fusion {
  std::string_view name;
  Pattern pattern;
  bool (*holds)(const Match&) = nullptr;                          // of the facts; null: always
  ir::Value* (*build)(const Match&, const ops::Emit&) = nullptr;  // what the root becomes, written before it
};

// Tries the fusions at every node of the main graph, in order and once, those of an operator in theirs; each that fits
// is applied whole, its change noted, and the facts brought up to date. One that the model's opset has no form for is
// passed over. The cost is linear in nodes. Returns how many were applied.
int fuse(ir::Model& model, infer::Inference& facts, std::span<const Fusion> fusions, Changes& changes);

}  // namespace thaw::rewrite
