// The shapes that tensors have in each trace, at its own sizes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/align.h"

namespace thaw::lifting {

class TraceShapes {
 public:
  TraceShapes(const std::vector<Trace>& traces, std::span<const Variable> variables, const Alignment& alignment);

  // What a node of the first trace reads as its operand: its element type, and each dim where it is the same in all
  // traces, nullopt where it differs or is not known. nullopt as a whole where the rank is not known, or the node stands
  // in no other trace.
  struct Operand {
    ir::DataType type;
    std::vector<std::optional<int64_t>> dims;
  };
  std::optional<Operand> operand(const ir::Node* node, int input) const;

 private:
  struct Inferred {
    dim::Scope scope;
    infer::Result facts;
    dim::Assignment at;
  };
  const Alignment& alignment_;
  std::unordered_map<const ir::Node*, size_t> positions_;
  std::vector<std::unique_ptr<Inferred>> traces_;
};

}  // namespace thaw::lifting
