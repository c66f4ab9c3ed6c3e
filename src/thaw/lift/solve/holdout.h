// Whether the traces say more than they must: one is held back, and the others are asked the same. Internal to lift/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/table/table.h"

namespace thaw::lift {

// With three traces or more. What all of them explain and the others explain differently, or not at all, is right at
// every trace all the same, but has no witness at a size that was not used to find it.
class HeldBack {
 public:
  HeldBack(const std::vector<Trace>& traces, std::span<const Variable> variables, const TensorSizes& tensors);

  // Asks the others about a constant that all traces explain as `found`.
  void ask(std::span<const ir::Tensor* const> tensors, const std::string& found);

  // "trace_28x20.onnx": "the other 2 traces say the same of 14 of 15 constants"; then what they say otherwise. Empty
  // where no trace is held back or nothing was asked.
  std::vector<std::pair<std::string, std::string>> said() const;

 private:
  std::optional<size_t> index_;
  std::string name_;
  size_t num_others_ = 0, asked_ = 0;
  std::vector<Variable> variables_;
  TensorSizes tensors_;
  std::optional<Solver> solver_;
  std::optional<TableContext> context_;
  std::vector<std::pair<std::string, std::string>> otherwise_;
};

}  // namespace thaw::lift
