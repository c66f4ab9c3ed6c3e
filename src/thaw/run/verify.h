// Running a model and its reference on the same feeds at several sizes, and comparing every output.
//
// "It runs" proves nothing: a size counts when the numbers agree. The reference is another model, or a .npz file that
// holds inputs and what they should give (the layout is in run/cases.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "thaw/dim/text/range_spec.h"
#include "thaw/run/compare.h"
#include "thaw/run/feeds.h"
#include "thaw/run/reference.h"
#include "thaw/run/session.h"
#include "thaw/run/sweep.h"

namespace thaw::run {

struct VerifyOptions {
  std::filesystem::path model, reference;          // the reference by its ending: .npz, else a model
  std::vector<std::filesystem::path> input_files;  // .npz files with inputs, by cases
  std::vector<dim::SpecGroup> sweep;               // empty: sizes are chosen (three that the reference runs at)
  size_t points = 0;                               // see choose_points
  FeedOptions feeds;
  ReferenceOptions how;
  Tolerance tolerance;
  std::vector<std::string> outputs;                         // of the model; empty: all that the reference has
  std::function<void(size_t done, size_t total)> progress;  // may be empty
};

enum class Status : uint8_t {
  kAgrees,
  kDiffers,         // some output is outside the tolerance, or has another shape
  kModelFails,      // the model does not run at this size
  kReferenceFails,  // the reference does not: nothing is known of the model here
};

struct OutputResult {
  std::string name;
  std::string actual, expected;  // "float32[2,3]"; empty where that side lacks it
  Comparison comparison;
};

struct PointResult {
  std::string case_name;  // of a .npz file with several cases
  Point point;
  std::vector<std::pair<std::string, std::string>> inputs;  // name and "float32[2,3]"
  Status status = Status::kAgrees;
  std::string message;  // why model or reference failed
  std::vector<OutputResult> outputs;
  double model_seconds = 0, reference_seconds = 0;
};

struct VerifyReport {
  std::vector<PointResult> points;
  std::vector<std::string> notes;     // what was left out, what had to be done
  std::vector<std::string> warnings;  // of ONNX Runtime about the model
  bool passed() const;                // at least one point, and all agree
};

// `inputs` are the model's, with dims in `scope`. Throws thaw::Error when the call or a file is wrong; a model or
// reference that does not run at a size is in the report.
VerifyReport verify(const VerifyOptions& options, const std::vector<InputSpec>& inputs, const dim::Scope& scope);

}  // namespace thaw::run
