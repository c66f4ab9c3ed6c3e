// Fusions: patterns with what takes their place. One walk over the model tries all of them.
#pragma once

#include <span>
#include <string_view>

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
int fuse(PassContext& context, std::span<const Fusion> fusions);

// A table of fusions as a pass. The table must outlive it.
inline auto fusing(std::span<const Fusion> fusions) {
  return [fusions](PassContext& context) { return fuse(context, fusions); };
}

}  // namespace thaw::rewrite
