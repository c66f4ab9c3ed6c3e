// A model cut into parts that run one after the other: a frontend and a backend, a half for each device.
//
//   thaw::Split split = thaw::split(model, {.at = {{"hidden_states"}}});
//   if (split.report.accepted()) for (…) split.parts[i].save(…);
//
//   for (const thaw::CutPoint& point : thaw::cut_points(model)) …  // where few numbers pass
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

enum class SplitBalance : uint8_t {
  kBytes,  // of weights
  kFlops,  // operations, at the sizes that are given, or 64 each
};

struct SplitOptions {
  // Cuts, each of the tensors that pass it, by name, or by that of a node of one output. Empty: chosen, for `parts`.
  std::vector<std::vector<std::string>> at = {};
  // The model is to end at these tensors: the only part has them as outputs, and what they do not need is gone. Excludes the others.
  std::vector<std::string> outputs = {};
  size_t parts = 2;
  SplitBalance balance = SplitBalance::kBytes;
  NamedSizes sizes = {};  // that what passes a cut is reckoned at, where cuts are chosen; 64 each where none is given
  bool check = true;      // the parts are run one after the other beside the model
  FeedOptions feeds = {};
};

// A place between two nodes where a model may be cut.
struct CutPoint {
  std::vector<std::string> tensors;  // that pass
  std::string bytes;                 // that they take, an expression of the inputs' sizes; empty where it is not known
  double weights_before = 0;         // share of the weights' bytes, 0 to 1
  double flops_before = 0;           // share of the operations that are known, at the sizes, 0 to 1
};

struct SplitPart {
  std::vector<std::string> inputs, outputs;  // by name; those of an earlier part have its output's name
  size_t nodes = 0;
  uint64_t weights = 0;  // bytes
};

struct SplitReport {
  std::string model = {};  // the path that it was loaded from
  Files files = {};        // that were written
  AsWritten as_written = {};
  std::vector<SplitPart> parts = {};
  std::vector<std::string> carried = {};     // tensors that pass cuts beside those that were named
  std::vector<RunCheck> checks = {};         // by sizes
  std::vector<std::string> uncompared = {};  // what was not compared with the model, and why
  bool is_checked = false;                   // as SplitOptions::check asks

  // No run contradicts the parts; where a check was asked for, something was compared.
  THAW_API bool accepted() const;
};

struct Split {
  std::vector<Model> parts;  // each may be saved by itself; weights are views of the model's
  SplitReport report;
};

// Each part has the nodes that its cut's tensors need and no earlier part has; what is computed from sizes alone is
// computed anew from the part's own inputs, where these tell. Weights stand where they are used.
// Throws thaw::Error (kInvalidArgument) for a tensor that the model does not have, that is an input, an output of a graph
// inside a node or a constant, or after which nothing is left; and where what passes is no tensor.
// `output`: with SplitOptions::outputs a file; else a folder, in which they are part_1.onnx, part_2.onnx, … and their data shared.data. Throws too where the folder has
// parts of another split behind the last of this.
THAW_API Split split(const Model& model, const SplitOptions& options, const Output& output = {});

// Narrow places, in the model's order, some dozen at most, spread over its weights.
THAW_API std::vector<CutPoint> cut_points(const Model& model, const NamedSizes& sizes = {});

THAW_API std::string to_json(const SplitReport& report);
THAW_API std::string to_text(const SplitReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const SplitReport& report);
// Of cut_points(); `model` is the path to name.
THAW_API std::string to_json(const std::vector<CutPoint>& points, const std::string& model);
THAW_API std::string to_text(const std::vector<CutPoint>& points);

}  // namespace thaw
