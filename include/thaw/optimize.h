// Smaller and faster models that still work at every size.
//
//   thaw::OptimizeReport report = thaw::optimize(model);
//   if (report.modified() && report.accepted()) model.save("optimized.onnx");
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

// Whose operators a result may have.
enum class OptimizeTarget : uint8_t {
  kPortable,  // ONNX's, of the model's opset
  kOrt,       // those of com.microsoft too, which ONNX Runtime has kernels for
  kDirectml,  // ONNX's, in an opset and forms that ONNX Runtime's DirectML execution provider takes
};

enum class OptimizeLevel : uint8_t {
  kClean,  // the same numbers bit for bit
  kFuse,   // operators that stand for arithmetic too: the same up to rounding
};

struct OptimizeOptions {
  OptimizeTarget target = OptimizeTarget::kPortable;
  OptimizeLevel level = OptimizeLevel::kFuse;
  // Of ai.onnx, that the result has; a newer one has more operators to fuse to. 0: the model's, or for kDirectml the
  // newest that it takes where the model's is newer.
  int64_t opset = 0;
  std::vector<std::string> only = {};  // passes by name (optimize_passes); empty: all
  std::vector<std::string> skip = {};
  // Bytes that folded constants may add to the file, less what they replace.
  uint64_t max_growth = 0;
  // Weights that are inputs too are constants, and no inputs any more; else, from IR version 4 on, a caller may replace them,
  // and nothing is computed from them.
  bool constant_weights = false;
  // The result is run beside the model: at the model's own sizes, and at two others where there are free ones.
  bool check = true;
  FeedOptions feeds = {};    // for the check; the rest is drawn
  bool count_moved = false;  // OptimizeReport::moved_before and moved_after
};

// A pass of `optimize`, in the order in which they run.
struct OptimizePass {
  std::string name;     // "fold"
  std::string summary;  // one clause
};

// What all nodes read and write, weights too, in bytes, as often as they are run; free sizes count as 64.
struct MovedBytes {
  uint64_t bytes = 0;
  size_t unknown = 0;  // nodes that are not counted
};

struct OptimizeReport {
  std::string model = {};  // the path that it was loaded from
  Files files = {};        // that were written
  AsWritten as_written = {};
  OptimizeTarget target = OptimizeTarget::kPortable;
  std::vector<Change> changed = {};
  std::vector<Change> left = {};                   // what nearly was a fusion and is none, and why: by pass and node
  size_t nodes_before = 0, nodes_after = 0;        // subgraphs' nodes counted
  uint64_t weights_before = 0, weights_after = 0;  // bytes of constants
  int replaceable_weights = 0;                     // that are inputs too, and were left as they are
  std::vector<RunCheck> checks = {};               // by sizes; empty where it was not checked
  std::vector<std::string> uncompared = {};        // what was not compared with the model, and why
  // Passes that the result was made without, as with them it differs from the model, is refused, or the pass fails: the pass as
  // the kind, and how or why.
  std::vector<Change> left_out = {};
  std::vector<std::string> passes = {};  // that did something
  std::vector<Finding> untaken = {};     // what `check` with that target still finds
  std::optional<MovedBytes> moved_before = {}, moved_after = {};
  bool is_checked = false;  // as OptimizeOptions::check asks
  bool modified() const { return !changed.empty(); }

  // No run contradicts the result; where a check was asked for and something was changed, something was compared.
  THAW_API bool accepted() const;
  // `check` with that target finds no error in the result. It is written all the same.
  THAW_API bool fits_target() const;
};

THAW_API std::vector<OptimizePass> optimize_passes();

// Changes the model in place, in operators of its own opset (and, where the target has them, of com.microsoft), to the
// same numbers: bit for bit, or up to rounding where operators are fused. No size is frozen, no input, output or symbol
// renamed or dropped (but for what `constant_weights` asks for); weights stay one tensor and are read where folding them pays only. A model that needs nothing is
// left as it is, byte for byte, and so is one whose result is not accepted. What is accepted is written, changed or not: the next
// step of a script finds its file.
// Throws thaw::Error (kInvalidArgument) for a pass that there is not, and for an opset in which a node has no equal.
THAW_API OptimizeReport optimize(Model& model, const OptimizeOptions& options = {}, const Output& output = {});

THAW_API std::string to_json(const OptimizeReport& report);
THAW_API std::string to_text(const OptimizeReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const OptimizeReport& report);

}  // namespace thaw
