// A holdout: whether the traces say the same without one of them. Internal to lift/.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/table/table.h"

namespace thaw::lifting {

// With three traces or more, one is held out. What all of them explain and the others explain differently, or not at
// all, is right at every trace all the same, but has no witness at a size that was not used to find it.
class Holdout {
 public:
  Holdout(const std::vector<Trace>& traces, std::span<const Variable> variables, const TensorSizes& tensors,
          FittedBefore& before, const JoinedSizes& joined = {});
  Holdout(const Holdout&) = delete;
  Holdout& operator=(const Holdout&) = delete;

  // Fits a constant without the trace that is held out, and compares with what all traces gave.
  void compare(std::span<const ir::Tensor* const> tensors, const TableFit& found, const Around& around = {},
               bool pads = false);

  // "trace_28x20.onnx": "14/15 constants predicted from the other 2 traces"; then what they predict otherwise. Empty
  // where no trace is held out or nothing was compared.
  std::vector<std::pair<std::string, std::string>> notes() const;
  // Where several constants were compared, no trace that is held out confirms one of them, each is something else without it, and one
  // of them is met by chance easily: all of it may be chance.
  std::optional<Note> nothing_confirmed() const;

 private:
  void hold_out(size_t index, const std::vector<Trace>& traces, const TensorSizes& tensors, FittedBefore& before,
                const JoinedSizes& joined);
  Holdout() = default;
  // What the others say.
  std::optional<TableFit> fit_without(std::span<const ir::Tensor* const> tensors, const Around& around, bool pads,
                                      std::string& reason);

  std::vector<std::unique_ptr<Holdout>> others_;  // that hold out another trace
  std::optional<size_t> index_;
  std::string name_;
  bool is_guessed_ = false;
  size_t num_others_ = 0, num_compared_ = 0, num_otherwise_ = 0;  // otherwise: explained, but by something else
  std::vector<Variable> variables_;
  TensorSizes tensors_;
  std::optional<Solver> solver_;
  std::optional<TableContext> context_;
  std::vector<std::pair<std::string, std::string>> differences_;
};

}  // namespace thaw::lifting
