#include "thaw/infer/moved_values.h"

#include <unordered_set>
#include <vector>

namespace thaw::infer {

void visit_reads(const ir::Value& start, const std::function<void(const ir::Use&, const ops::Operator&)>& visit) {
  std::vector<const ir::Value*> waiting{&start};
  std::unordered_set<const ir::Value*> seen{&start};
  while (!waiting.empty()) {
    const ir::Value* value = waiting.back();
    waiting.pop_back();
    for (const ir::Use& use : value->uses()) {
      const ops::Operator* op = ops::registry().find(*use.node);
      if (op == nullptr) continue;
      visit(use, *op);
      const bool passes = op->passes_numbers() && op->operands[use.index] == ops::Role::kData;
      const ir::Value* moved = passes ? use.node->output(0) : nullptr;
      if (moved != nullptr && seen.insert(moved).second) waiting.push_back(moved);
    }
  }
}

}  // namespace thaw::infer
