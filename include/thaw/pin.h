// Makes a model static, at chosen sizes, for backends that need fixed shapes.
//
//   thaw::PinReport report = thaw::pin(model, {.sizes = {{"batch", 1}, {"height", 336}}});
//   for (const thaw::DynamicAxis& open : report.dynamic_axes) …  // axes that are still dynamic, and why
//   if (report.accepted()) model.save("vision_336.onnx");
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/proof.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

struct PinOptions {
  NamedSizes sizes = {};    // of inputs, by the names that `thaw inspect` prints; 1 or more
  FeedOptions values = {};  // arrays and values of inputs that become constants; ranges and seed are ignored
  uint64_t max_growth = 0;  // bytes that folded constants may add to the file
  bool check = true;        // compare the result with the original at the sizes
  FeedOptions feeds = {};   // inputs for the check; the rest is random
};

// An axis that is still dynamic. Those that follow from it are not listed.
struct DynamicAxis {
  std::string tensor;  // the first tensor that has the size
  int axis = 0;
  std::string size;  // an expression; empty: unknown
  std::string why;   // one clause
};

struct PinReport {
  std::string model;   // path of the original
  std::string output;  // path of the result
  Files files;         // files that were written
  LoadCheck load_check = {};
  NamedSizes sizes;  // PinOptions::sizes
  std::vector<Change> changed;
  std::vector<DynamicAxis> dynamic_axes;  // in node order; empty: all shapes are static
  size_t nodes_before = 0, nodes_after = 0;
  std::vector<RunCheck> checks = {};
  std::vector<std::string> not_compared = {};
  Proof proof = {};                  // of a result whose checks agree
  bool is_checked = false;           // PinOptions::check
  int overridable_initializers = 0;  // initializers that are inputs too, taken as constants

  // No check differs, and where a check was asked for, something was compared.
  THAW_API bool accepted() const;
};

// Several static models of one model.
struct PinnedModels {
  std::string model;
  Files files;  // all or none; they share one data file
  LoadCheck load_check = {};
  std::vector<PinReport> reports;

  THAW_API bool accepted() const;  // all are
};

// Changes the model in place. Inputs get the sizes; inputs with given values become constants. What depends only on these is folded, and
// all tensors are declared with static dims. Weights are shared with the model that this was cloned from. A model whose result is not
// accepted stays unchanged, and nothing is written.
// Throws thaw::Error (kInvalidArgument) for an unknown size or input, for sizes that the model cannot run at, and where nothing is given
// for a model with dynamic sizes.
THAW_API PinReport pin(Model& model, const PinOptions& options, const Output& output = {});

// Sizes are added to the names of the files: "vision.onnx" at height=336 becomes "vision_height-336.onnx". Throws thaw::Error also
// where two names are equal.
THAW_API PinnedModels pin_each(const Model& model, const std::vector<PinOptions>& options, const Output& output = {});

THAW_API std::string to_json(const PinReport& report);
THAW_API std::string to_text(const PinReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const PinReport& report);
THAW_API std::string to_json(const PinnedModels& report);
THAW_API std::string to_text(const PinnedModels& report, const TextOptions& how = {});
THAW_API std::string to_html(const PinnedModels& report);

}  // namespace thaw
