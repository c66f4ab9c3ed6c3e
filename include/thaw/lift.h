// Several static traces of one model in, one model for every size out.
//
//   thaw::LiftResult result = thaw::lift({{"vision_22x30.onnx"}, {"vision_28x20.onnx"}, {"vision_16x24.onnx"}});
//   if (result.report.accepted()) result.model->save("vision.onnx");
//
// Traces of one model differ only where sizes were frozen. Aligned node by node, what differs are integers, each solved
// as the simplest expression of the inputs' dims and values, and tables, each fitted by a generator. A fit must give
// every entry of every trace. What is not explained is reported and nothing is guessed.
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
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

// Integer values of an input in one trace, in row-major order.
struct InputValues {
  std::vector<int64_t> dims, values;  // values: empty where only the shape is known
};

struct LiftTrace {
  std::filesystem::path model;
  std::map<std::string, InputValues> values = {};  // by input: what the trace was made with
};

struct LiftOptions {
  std::vector<AddedInput> added;
  std::set<std::string> keep_static;  // constants (by name in the first trace) that stay as they are there
  bool check = true;                  // run the result beside each trace at its own size
  // Files of what the traces were made with, read into LiftTrace::values: a JSON file of all ({"trace_22x30.onnx":
  // {"grid_thw": [[1, 22, 30]]}}), or an .npz file of the arrays of the trace that is called as it is.
  std::vector<std::filesystem::path> values = {};
};

// An input or output, with its type and sizes as text: "float32[num_patches, 1536]".
struct PortText {
  std::string name, type;
};

// What one trace was fed: "int64[1, 3] = 1, 22, 30".
struct TraceInputs {
  std::string trace;
  std::vector<PortText> inputs;
};

struct LiftReport {
  Files files;  // that were written
  AsWritten as_written = {};
  std::string output;    // the path that it was to be written to
  bool departs = false;  // a table is not what the traces have, where their exporter was off: `checks` allow 1e-3 then
  std::vector<TraceInputs> traces;
  std::vector<PortText> inputs, outputs;  // of the lifted model, where it is whole
  std::vector<Note> variables;            // "num_patches": "384, 660, 560"
  std::vector<Note> passed_over;          // inputs whose values were told and are data: no size is read of them
  std::vector<Note> lifted;
  // With three traces or more, one is held out: what the others alone would have said is compared with what was said.
  std::vector<Note> holdout;
  // What inference says of the sizes at others than the traces', and what was solved otherwise on its account.
  std::vector<Note> inferred;
  // Of sizes that the traces leave open: for which ones the model is known. It ends with an error at others.
  std::vector<Note> domain;
  std::vector<Note> unexplained;  // empty: the model is whole
  std::vector<RunCheck> checks;   // by trace; empty where it was not run

  // Everything is explained, and no trace that was run contradicts the result.
  THAW_API bool accepted() const;
};

struct LiftResult {
  LiftReport report;
  std::optional<Model> model;  // where the report is accepted
};

// Writes the model where it is accepted. Throws thaw::Error where the traces cannot be aligned or one of them does not run.
THAW_API LiftResult lift(const std::vector<LiftTrace>& traces, const LiftOptions& options = {},
                         const Output& output = {});

THAW_API std::string to_json(const LiftReport& report);
THAW_API std::string to_text(const LiftReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const LiftReport& report);

}  // namespace thaw
