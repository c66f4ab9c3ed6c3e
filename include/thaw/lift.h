// Makes one dynamic model of several static traces.
//
//   thaw::LiftResult result = thaw::lift({{"vision_22x30.onnx"}, {"vision_28x20.onnx"}, {"vision_16x24.onnx"}});
//   if (result.report.accepted()) result.model->save("vision.onnx");
//
// Traces of one model differ only where sizes were frozen. They are aligned node by node. Integers that differ are solved as the
// simplest expression of the inputs' dims and elements; tables that differ are fitted by a generator. A fit must reproduce every entry
// of every trace. What is not explained is reported, and nothing is guessed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/fix.h"
#include "thaw/model.h"
#include "thaw/proof.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

// Elements of an integer input in one trace, row-major.
struct InputValues {
  std::vector<int64_t> dims, values;  // values: empty where only the dims are known
};

struct LiftTrace {
  std::filesystem::path model;
  std::map<std::string, InputValues> values = {};  // by input name: what the trace was exported with
};

struct LiftOptions {
  std::vector<AddedInput> added;
  std::set<std::string> keep_static;  // constants, by name in the first trace, that stay as they are there
  bool check = true;                  // compare the result with each trace at its own sizes
  // Files that are read into LiftTrace::values: a JSON file for all traces ({"trace_22x30.onnx": {"grid_thw": [[1, 22, 30]]}}), or an
  // .npz file with the name of its trace.
  std::vector<std::filesystem::path> values = {};
};

// An input or output, with dtype and dims as text: "float32[num_patches, 1536]".
struct PortText {
  std::string name, type;
};

// The inputs of one trace: "int64[1, 3] = 1, 22, 30".
struct TraceInputs {
  std::string trace;
  std::vector<PortText> inputs;
};

struct LiftReport {
  Files files;  // files that were written
  LoadCheck load_check = {};
  std::string output;    // path of the result
  bool departs = false;  // a table corrects rounding errors of the exporter: `checks` are of traces with that table
  std::vector<TraceInputs> traces;
  std::vector<PortText> inputs, outputs;  // of the lifted model; empty where differences are unexplained
  std::vector<Note> symbols;              // "num_patches": "384, 660, 560"
  std::vector<Note> skipped_inputs;       // inputs whose given values are data: no size depends on them
  std::vector<Note> lifted;               // differences, and the expression or generator of each
  // Holdout, with three traces or more: what the other traces alone predict for the one that is left out.
  std::vector<Note> holdout;
  // What shape inference finds at sizes that no trace has, and what was solved differently for it.
  std::vector<Note> inferred;
  // The sizes that the model is valid for, where the traces do not determine it for all. It stops with an error at others.
  std::vector<Note> valid_sizes;
  std::vector<Note> unexplained;  // differences without an explanation
  std::vector<RunCheck> checks;   // one for each trace
  Proof proof = {};               // of a result whose checks agree: against all traces, each at its own sizes

  // All differences are explained, and no check differs.
  THAW_API bool accepted() const;
};

struct LiftResult {
  LiftReport report;
  std::optional<Model> model;  // set where the report is accepted
};

// Writes the model where it is accepted. Throws thaw::Error where the traces cannot be aligned or one of them does not run.
THAW_API LiftResult lift(const std::vector<LiftTrace>& traces, const LiftOptions& options = {},
                         const Output& output = {});

THAW_API std::string to_json(const LiftReport& report);
THAW_API std::string to_text(const LiftReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const LiftReport& report);

}  // namespace thaw
