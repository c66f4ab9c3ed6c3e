// Makes models smaller and faster, for every size.
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
#include "thaw/proof.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

// The operators that a result may have.
enum class OptimizeTarget : uint8_t {
  kPortable,  // ai.onnx, of the model's opset
  kOrt,       // also com.microsoft, where ONNX Runtime has kernels
  kDirectml,  // ai.onnx, in opset and forms that ONNX Runtime's DirectML execution provider supports
};

enum class OptimizeLevel : uint8_t {
  kClean,  // the same outputs, bit for bit
  kFuse,   // fused operators too: the same outputs up to rounding
};

struct OptimizeOptions {
  OptimizeTarget target = OptimizeTarget::kPortable;
  // With kPortable: a backend that `check` knows (target_names()), whose table says what may be written: its opset, no operator that it
  // has no kernel for where another form is equal, no control flow where it takes none. Empty: none.
  std::string backend = {};
  OptimizeLevel level = OptimizeLevel::kFuse;
  // Of ai.onnx in the result; a newer one has more fused operators. 0: the model's, for kDirectml at most the newest that it supports.
  int64_t opset = 0;
  std::vector<std::string> only = {};  // passes to run, by name (optimize_passes()); empty: all
  std::vector<std::string> skip = {};  // passes not to run
  // Bytes that folded constants may add to the file, net of what they replace.
  uint64_t max_growth = 0;
  // Initializers that are inputs too become constants, and are no inputs any more. Else nothing is computed from them from IR version 4
  // on, as a caller may override them.
  bool constant_weights = false;
  // Compare the result with the original at its own sizes, and at two others where it has dynamic ones.
  bool check = true;
  FeedOptions feeds = {};    // inputs for the check; the rest is random
  bool count_moved = false;  // OptimizeReport::moved_before and moved_after
};

// A pass.
struct OptimizePass {
  std::string name;     // "fold"
  std::string summary;  // one clause
};

// Bytes that all nodes read and write, with weights, for each time that they run. Dynamic sizes count as 64.
struct MovedBytes {
  uint64_t bytes = 0;
  size_t unknown = 0;  // number of nodes whose bytes are unknown
};

struct OptimizeReport {
  std::string model = {};  // path of the original
  Files files = {};        // files that were written
  LoadCheck load_check = {};
  OptimizeTarget target = OptimizeTarget::kPortable;
  std::string backend = {};  // OptimizeOptions::backend
  std::vector<Change> changed = {};
  std::vector<Change> missed = {};                           // fusions that nearly match, and why they do not
  size_t nodes_before = 0, nodes_after = 0;                  // with nodes of subgraphs
  uint64_t weight_bytes_before = 0, weight_bytes_after = 0;  // of all constants
  int overridable_initializers = 0;                          // initializers that are inputs too and stay unchanged
  std::vector<RunCheck> checks = {};                         // one for each choice of sizes
  std::vector<std::string> not_compared = {};                // what could not be compared, and why
  Proof proof = {};                                          // of a result whose checks agree
  // Passes that were undone, as the result differs with them, does not load, or the pass fails. `kind` is the pass.
  std::vector<Change> rejected_passes = {};
  std::vector<std::string> passes = {};   // that changed something
  std::vector<Finding> unsupported = {};  // findings of `check` with that target
  std::optional<MovedBytes> moved_before = {}, moved_after = {};
  bool is_checked = false;  // OptimizeOptions::check
  bool modified() const { return !changed.empty(); }

  // No check differs. Where a check was asked for and something was changed, something was compared.
  THAW_API bool accepted() const;
  // `check` with that target finds no error in the result, which is written either way.
  THAW_API bool fits_target() const;
};

// A target by its name among target_names(), in `target` or `backend`. Throws thaw::Error (kInvalidArgument) for another one.
THAW_API void set_target(const std::string& name, OptimizeOptions& options);

// In the order in which they run.
THAW_API std::vector<OptimizePass> optimize_passes();

// Changes the model in place. Outputs stay equal: bit for bit, or up to rounding where operators are fused. No size is frozen. No
// input, output or symbol is renamed or removed, except by `constant_weights`. Weights are read only where folding them pays. A model
// that needs no change stays unchanged, byte for byte, and so does one whose result is not accepted. An accepted result is written
// even where nothing changed.
// Throws thaw::Error (kInvalidArgument) for an unknown pass or backend, and for an opset that cannot express a node.
THAW_API OptimizeReport optimize(Model& model, const OptimizeOptions& options = {}, const Output& output = {});

THAW_API std::string to_json(const OptimizeReport& report);
THAW_API std::string to_text(const OptimizeReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const OptimizeReport& report);

}  // namespace thaw
