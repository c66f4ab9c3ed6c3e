// Splits a model into parts that run in sequence: frontend and backend, or one part for each device.
//
//   thaw::Split split = thaw::split(model, {.at = {{"hidden_states"}}});
//   if (split.report.accepted()) for (…) split.parts[i].save(…);
//
//   for (const thaw::CutPoint& point : thaw::cut_points(model)) …  // where few elements cross
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

enum class SplitBalance : uint8_t {
  kBytes,  // of weights
  kFlops,  // operations, at the given sizes, others 64
};

struct SplitOptions {
  // For each cut the tensors that cross it, by name, or by the name of a node with one output. Empty: cuts are chosen for `parts`.
  std::vector<std::vector<std::string>> at = {};
  // Outputs of the only part, which has the nodes that these tensors depend on. Excludes `at` and `parts`.
  std::vector<std::string> outputs = {};
  size_t parts = 2;
  SplitBalance balance = SplitBalance::kBytes;
  NamedSizes sizes = {};  // for the bytes and operations of chosen cuts; others are 64
  bool check = true;      // compare the parts, run in sequence, with the original
  FeedOptions feeds = {};
};

// A possible cut.
struct CutPoint {
  std::vector<std::string> tensors;  // that cross it
  std::string bytes;                 // of these, an expression of the inputs' sizes; empty: unknown
  double weight_share_before = 0;    // share of weight bytes before it, 0 to 1
  double flops_share_before = 0;     // share of known operations before it, 0 to 1
};

struct SplitPart {
  std::vector<std::string> inputs, outputs;  // names; an input from an earlier part has the name of its output
  size_t nodes = 0;
  uint64_t weight_bytes = 0;
};

struct SplitReport {
  std::string model = {};  // path of the original
  Files files = {};        // files that were written
  LoadCheck load_check = {};
  std::vector<SplitPart> parts = {};
  std::vector<std::string> crossing_tensors = {};  // tensors that cross cuts besides those that were named
  std::vector<RunCheck> checks = {};               // one for each choice of sizes
  std::vector<std::string> not_compared = {};      // what could not be compared, and why
  Proof proof = {};                                // of parts whose checks agree
  bool is_checked = false;                         // SplitOptions::check

  // No check differs, and where a check was asked for, something was compared.
  THAW_API bool accepted() const;
};

struct Split {
  std::vector<Model> parts;  // weights are views of the original's
  SplitReport report;
};

// A part has the nodes that the tensors of its cut depend on and no earlier part has. Values that depend on sizes only are
// computed again from the part's own inputs, where possible. Weights are in the part that uses them.
// `output`: with SplitOptions::outputs a file; else a folder for part_1.onnx, part_2.onnx, …, with the data of weights of
// several parts in shared.data.
// Throws thaw::Error (kInvalidArgument) for a tensor that does not exist, is an input, a constant or in a subgraph, or after
// which there is no node; for a cut that a value other than a tensor crosses; and where the folder has more parts of
// another split.
THAW_API Split split(const Model& model, const SplitOptions& options, const Output& output = {});

// Cuts that few elements cross, in node order: about a dozen at most, spread over the weights.
THAW_API std::vector<CutPoint> cut_points(const Model& model, const NamedSizes& sizes = {});

THAW_API std::string to_json(const SplitReport& report);
THAW_API std::string to_text(const SplitReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const SplitReport& report);
// For cut_points(); `model`: its path.
THAW_API std::string to_json(const std::vector<CutPoint>& points, const std::string& model);
THAW_API std::string to_text(const std::vector<CutPoint>& points);

}  // namespace thaw
