// What the passes of `optimize` work on.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "thaw/optimize/optimize.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

using thaw::OptimizeTarget;

using Constants = std::unordered_set<const ir::Value*>;

class Context : public rewrite::PassContext {
 public:
  explicit Context(ir::Model& changed, OptimizeTarget wanted = OptimizeTarget::kPortable,
                   FrozenSizes sizes = FrozenSizes::kKeptApart)
      : Context(changed, wanted, target_of(wanted), sizes) {}
  Context(ir::Model& changed, OptimizeTarget wanted, const ops::Target& runs_on, FrozenSizes sizes);

  const OptimizeTarget target;  // whose operators may be written
  const ops::Target& backend;   // what the result is for, as data
  // Whether the backend has a kernel for an operator of ai.onnx at the model's opset. So it has where no table says which it has.
  bool has_kernel(std::string_view op) const;

  // The constants that a size was frozen in, looked for when they are first asked for. They stay apart from others that happen to be
  // equal, and nothing is computed from them for good: `check`, `fix` and `lift` find them where they were.
  const Constants& frozen();
  // After constants have moved: the frozen ones are looked for again.
  void look_again() { frozen_.reset(); }
  // Whether a constant that a size was frozen in holds none any more, as what read it became another node.
  bool thaws();

  // The model as it is now is what it may become larger than, and by how much: bytes of folded constants, and nodes that loops
  // become.
  void limit_growth(uint64_t max_growth);
  uint64_t bytes_to_grow() const;
  size_t most_nodes() const { return most_nodes_; }

 private:
  FrozenSizes sizes_;
  std::optional<Constants> frozen_;
  size_t changes_before_ = 0;  // as many as there were when they were last held against those before
  uint64_t most_bytes_ = 0;
  size_t most_nodes_ = 0;
};

using Pass = rewrite::PassOn<Context>;

}  // namespace thaw::optimizing
