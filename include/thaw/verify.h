// Compares a model with a reference: runs both on the same inputs at several sizes, and compares all outputs.
//
//   thaw::VerifyReport report = thaw::verify({.model = "fixed.onnx", .reference = "model.onnx",
//                                             .sweep = "height=320|352,width=224|416"});
//   if (!report.accepted()) …
//
// A size passes only where all outputs agree.
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
#include "thaw/proof.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

// Floating-point outputs agree where |actual - expected| <= absolute + relative * |expected| for all elements, as in numpy.allclose, and
// where the cosine is at least `cosine`, if set. Defaults of absolute and relative depend on the coarser dtype: 1e-4 and 1e-3 for float32
// and float64, 1e-2 and 1e-2 for 16 bits, 0.1 and 0.1 for fewer. Where only `cosine` is set, only it counts. Integers, booleans and
// strings must be equal.
struct Tolerance {
  std::optional<double> absolute, relative, cosine;
};

// How a reference model is run.
struct ReferenceOptions {
  SessionOptions session;                    // of both models
  std::vector<Provider> providers = {};      // of the reference; empty: those of `session`
  std::map<std::string, std::string> names;  // of inputs and outputs: model -> reference, where they differ
  bool cast = false;                         // convert inputs of another dtype
  bool per_sample = false;                   // run once for each row along axis 0
};

struct VerifyOptions {
  std::filesystem::path model;
  // A model; an .npz file with inputs and expected outputs, or a folder of such files. Arrays are NAME, NAME_<i> for case i, or
  // CASE/NAME, where NAME is an input or output. Empty: the model itself, which ReferenceOptions::providers run.
  std::filesystem::path reference;
  // Sizes to run at: "n=1|3,h=320..640:32", groups separated by ';', with the names that `thaw inspect` prints. Empty: three are chosen
  // that the reference runs at.
  std::string sweep = {};
  // Sizes at all points: {"height", 320}. The others are chosen, or from `sweep`.
  NamedSizes sizes = {};
  size_t points = 0;                                    // number of points to choose in wide ranges; 0: 6
  std::vector<std::filesystem::path> input_files = {};  // .npz files with inputs, one or more cases
  FeedOptions feeds = {};
  ReferenceOptions how = {};
  Tolerance tolerance = {};
  std::vector<std::string> outputs = {};  // names of the model's outputs; empty: all that the reference has
  // Name of an input [batch, length] of ones and zeros. Where it is 0, outputs [batch, length, …] are not compared.
  std::string mask = {};
  bool where =
      false;  // where outputs differ, find the first tensors inside the models that do; the reference is a model
  // Whether outputs are proven equal too: at `sweep` and `sizes`, of which a list counts as the range that it spans; without them, at
  // every size. The reference must be a model of the same names of inputs and outputs.
  bool prove = false;
  // A file for the steps of the proof, with `prove`; written where an output is proven, or so but for constants that were quantized.
  std::filesystem::path evidence = {};
  // Such a file: its steps are checked, without a search, and nothing is run. The models are those that it was made of.
  std::filesystem::path replay = {};
  std::function<void(size_t done, size_t total)> progress = {};  // may be empty
};

struct Comparison {
  bool agrees = false;
  std::string reason;       // why they do not agree: "3 of 12 elements differ by more than …"
  bool comparable = false;  // shapes and dtypes match; else the figures below are not set
  int64_t elements = 0;
  int64_t outside_tolerance = 0;     // elements outside the tolerance, with those of not_finite
  double max_abs_diff = 0;           // max |actual - expected|, over elements where both are finite
  double max_rel_diff = 0;           // max |actual - expected| / |expected|, where expected is not 0 too
  double cosine = 1;                 // of the two as vectors, finite elements; 1 where both are 0, 0 where one is
  int64_t not_finite = 0;            // elements where one is NaN or infinite and the other differs
  std::vector<int64_t> worst_index;  // index of the element farthest outside; empty: all are equal
  double worst_actual = 0, worst_expected = 0;
};

enum class VerifyStatus : uint8_t {
  kAgrees,
  kDiffers,         // an output is outside the tolerance, or has another shape
  kModelFails,      // the model does not run at this size
  kReferenceFails,  // the reference does not run: nothing was compared
};

struct OutputResult {
  std::string name;
  std::string actual, expected;  // "float32[2,3]"; empty where that side does not have it
  Comparison comparison;
};

struct PointResult {
  std::string case_name;                                    // of an .npz file with several
  NamedSizes sizes;                                         // in the order of `sweep`
  std::vector<std::pair<std::string, std::string>> inputs;  // name and type: "float32[2,3]"
  VerifyStatus status = VerifyStatus::kAgrees;
  std::string message;  // why the model or reference failed
  std::vector<OutputResult> outputs;
  double model_seconds = 0, reference_seconds = 0;
};

// A tensor inside the models that differs, though those that it is computed from agree.
struct FirstDifference {
  std::string name;                 // of the tensor, in the model
  std::string node, op_type;        // that outputs it there
  std::string actual, expected;     // "float32[2,3]"
  Comparison comparison;            // in the run of the whole models
  std::vector<std::string> inputs;  // the tensors that agree, from which it is computed
  // The nodes between, with the reference's numbers of `inputs` on both sides. Where these agree, the operator is right and passes on what
  // the tolerance let through. Unset where they do not run alone.
  std::optional<Comparison> alone = {};
  std::vector<std::string> operators;  // types of the model's nodes between
};

// What a search for the first differences did, at the first size that differs.
struct DifferenceSearch {
  std::string case_name;
  NamedSizes sizes;
  std::vector<FirstDifference> tensors;  // in topological order
  uint64_t candidates = 0;               // tensors of that name in both models
  uint64_t compared = 0;                 // of these
  uint64_t runs = 0;                     // of each model
  std::vector<std::string> notes;
};

// The smallest sizes found at which both models run and differ, on inputs that are drawn. Both ran there once more.
struct Counterexample {
  NamedSizes sizes;         // of the inputs
  std::string output;       // that differs most
  double max_abs_diff = 0;  // max |actual - expected| of it; infinite where it cannot be compared
  std::string command;      // that repeats the run
};

struct VerifyReport {
  std::string model, reference;  // paths
  std::vector<PointResult> points;
  Proof proof;  // with VerifyOptions::prove, or of the evidence that was checked
  // With VerifyOptions::prove, where outputs differ on inputs that were all drawn.
  std::optional<Counterexample> counterexample = {};
  std::vector<std::string> notes;     // what was skipped or adapted
  std::vector<std::string> warnings;  // of ONNX Runtime
  Runtime runtime, reference_runtime;
  std::optional<DifferenceSearch> where = {};
  THAW_API bool accepted() const;  // there is a point, and all agree; or evidence was checked, which holds
};

// Throws thaw::Error for a wrong call or file, and (kInvalidFile) for evidence of which a step does not follow. Where a side does not
// run at a size, the report says so.
THAW_API VerifyReport verify(const VerifyOptions& options);

THAW_API std::string to_json(const VerifyReport& report);
THAW_API std::string to_text(const VerifyReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const VerifyReport& report);

}  // namespace thaw
