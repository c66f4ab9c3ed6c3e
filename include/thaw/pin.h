// A model for chosen sizes: freezing on purpose, for backends that want every size as a number.
//
//   thaw::PinReport report = thaw::pin(model, {.sizes = {{"batch", 1}, {"height", 336}}});
//   for (const thaw::OpenSize& open : report.open) …  // sizes that are still no numbers, and why
//   if (report.accepted()) model.save("vision_336.onnx");
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

struct PinOptions {
  NamedSizes sizes = {};    // of axes of inputs, by the names that `thaw inspect` prints; each at least 1
  FeedOptions values = {};  // arrays and values of inputs that become constants; ranges and seed are not read
  uint64_t max_growth = 0;  // bytes that folded constants may add to the model
  bool check = true;        // the result is run beside the model at the sizes
  FeedOptions feeds = {};   // for the check; the rest is drawn
};

// A size that is no number once all is pinned. Those that follow from it are not listed.
struct OpenSize {
  std::string tensor;  // the first that has it
  int axis = 0;
  std::string size;  // an expression; empty where nothing is known
  std::string why;   // one clause
};

struct PinReport {
  std::string model;   // the path that it was loaded from
  std::string output;  // the path that it was to be written to
  Files files;         // that were written
  AsWritten as_written = {};
  NamedSizes sizes;  // as PinOptions has them
  std::vector<Change> changed;
  std::vector<OpenSize> open;  // in the model's order; empty: every size is a number
  size_t nodes_before = 0, nodes_after = 0;
  std::vector<RunCheck> checks = {};
  std::vector<std::string> uncompared = {};
  bool is_checked = false;  // as PinOptions::check asks
  int default_weights = 0;  // weights that are inputs too, which were taken as constants

  // No run contradicts the result; where a check was asked for, something was compared.
  THAW_API bool accepted() const;
};

// Several of one model, each for sizes of its own.
struct PinnedModels {
  std::string model;
  Files files;  // that were written: none, or all, which share one file of data
  AsWritten as_written = {};
  std::vector<PinReport> reports;

  THAW_API bool accepted() const;  // all are
};

// Changes the model in place: inputs have the sizes, or are gone where they were given, what follows from these is
// computed once, and outputs and tensors between are declared with the numbers. Weights are shared with what the model
// was cloned from. A model whose result is not accepted is left as it is, and nothing is written.
// Throws thaw::Error (kInvalidArgument) for a name or input that the model does not have, and for sizes that it cannot run
// at; and where neither sizes nor values are given of a model that has free sizes.
THAW_API PinReport pin(Model& model, const PinOptions& options, const Output& output = {});

// Of output.path each has its sizes in its name: "vision.onnx" at height=336 becomes "vision_height-336.onnx". Throws thaw::Error
// too where two have one name.
THAW_API PinnedModels pin_each(const Model& model, const std::vector<PinOptions>& options, const Output& output = {});

THAW_API std::string to_json(const PinReport& report);
THAW_API std::string to_text(const PinReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const PinReport& report);
THAW_API std::string to_json(const PinnedModels& report);
THAW_API std::string to_text(const PinnedModels& report, const TextOptions& how = {});
THAW_API std::string to_html(const PinnedModels& report);

}  // namespace thaw
