// Running a model and its reference on the same inputs at several sizes, and comparing every output.
//
//   thaw::VerifyReport report = thaw::verify({.model = "fixed.onnx", .reference = "model.onnx",
//                                             .sweep = "height=320|352,width=224|416"});
//   if (!report.accepted()) …
//
// "It runs" proves nothing: a size counts when the numbers agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

// When two outputs agree. Floats: |actual - expected| <= absolute + relative * |expected| for every element, and a
// cosine of at least `cosine` where that is set. Unset bounds depend on the coarser of the two types: 1e-4 and 1e-3 for
// float32 and float64, 1e-2 and 1e-2 for 16-bit floats, 0.1 and 0.1 below; where only `cosine` is set it alone decides.
// Integers, booleans and strings must be equal.
struct Tolerance {
  std::optional<double> absolute, relative, cosine;
};

// How the reference is run where it is a model.
struct ReferenceOptions {
  SessionOptions session;                    // of both
  std::map<std::string, std::string> names;  // of the model under test -> of the reference, where they differ
  bool cast = false;                         // inputs of other element types are converted
  bool per_sample = false;                   // run once a row of the batched inputs
};

struct VerifyOptions {
  std::filesystem::path model;
  // A model, or by its ending an .npz file of inputs and what they should give: an array belongs to an input or output
  // NAME when it is called NAME, NAME_<i> (case i) or CASE/NAME. Or a folder of such files, each of which is compared.
  std::filesystem::path reference;
  // The sizes to run at: "n=1|3,h=320..640:32", groups apart by ';', names as `thaw inspect` prints them. Empty: sizes
  // are chosen (three that the reference runs at).
  std::string sweep = {};
  // Sizes that hold at every point: "height=320,width=256". The rest is chosen, or swept.
  NamedSizes sizes = {};
  size_t points = 0;                                    // how many to choose of wide ranges; 0: 6
  std::vector<std::filesystem::path> input_files = {};  // .npz files with inputs, by cases
  FeedOptions feeds = {};
  ReferenceOptions how = {};
  Tolerance tolerance = {};
  std::vector<std::string> outputs = {};  // of the model; empty: all that the reference has
  // An input [batch, length] of ones and zeros: where it is 0, outputs that begin with these two axes are not compared.
  std::string mask = {};
  std::function<void(size_t done, size_t total)> progress = {};  // may be empty
};

struct Comparison {
  bool passed = false;
  std::string reason;       // why not: "3 of 12 elements differ by more than …"
  bool comparable = false;  // shapes and types allow comparing elements; the figures below mean nothing else
  int64_t elements = 0;
  int64_t outside = 0;         // elements outside the tolerance; a NaN or infinity that the other lacks counts
  double max_abs = 0;          // largest |actual - expected| over the elements where both are finite
  double max_rel = 0;          // largest |actual - expected| / |expected| over those of them where expected is not 0
  double cosine = 1;           // of the two as vectors of their finite elements; 1 where both are 0, 0 where one is
  int64_t not_finite = 0;      // elements where one is NaN or infinite and the other is not the same
  std::vector<int64_t> worst;  // index of the element that is farthest outside; empty where all are equal
  double worst_actual = 0, worst_expected = 0;
};

enum class VerifyStatus : uint8_t {
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
  std::string case_name;                                    // of an .npz file with several cases
  NamedSizes sizes;                                         // in the order of the sweep
  std::vector<std::pair<std::string, std::string>> inputs;  // name and "float32[2,3]"
  VerifyStatus status = VerifyStatus::kAgrees;
  std::string message;  // why model or reference failed
  std::vector<OutputResult> outputs;
  double model_seconds = 0, reference_seconds = 0;
};

struct VerifyReport {
  std::string model, reference;  // paths
  std::vector<PointResult> points;
  std::vector<std::string> notes;     // what was left out, what had to be done
  std::vector<std::string> warnings;  // of ONNX Runtime about the model
  THAW_API bool accepted() const;     // at least one point, and all agree
};

// Throws thaw::Error when the call or a file is wrong; a model or reference that does not run at a size is in the
// report.
THAW_API VerifyReport verify(const VerifyOptions& options);

THAW_API std::string to_json(const VerifyReport& report);
THAW_API std::string to_text(const VerifyReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const VerifyReport& report);

}  // namespace thaw
