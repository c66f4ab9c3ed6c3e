// Models in fewer bits: float16, bfloat16, INT8, and weights in blocks of 2 to 8 bits, with what it costs.
//
//   thaw::ConvertOptions options;
//   options.precision.to = thaw::NumberFormat::kInt4;
//   thaw::ConvertReport report = thaw::convert(model, options);
//   for (const thaw::OutputError& error : report.errors) …  // each output beside the original's
//   if (report.accepted()) model.save("decoder_int4.onnx");
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/optimize.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

// What a node computes with.
enum class NumberFormat : uint8_t {
  kKeep,        // what it has
  kFloat16,     // IEEE 754 binary16
  kBfloat16,    // float32's upper half
  kInt8,        // 8-bit weights and activations, affine: number = scale * (code - zero point)
  kInt4,        // weights alone, in blocks along the axis that is summed over; each block with a scale of its own
  kInt2,        // the same, of 2 bits
  kInt3,        // the same, of 3 bits, which nodes before their readers make codes of 4 bits of
  kInt8Blocks,  // the same, of 8 bits
};

// How the scale and zero point of a block of weights are chosen.
enum class BlockMethod : uint8_t {
  kRtn,     // from the smallest and largest weight; codes are rounded to nearest
  kSearch,  // those of least squared error: scale and integer zero point refitted in turn with the codes
  kHqq,     // half-quadratic splitting: least |error|^p, p < 1 (Badri and Shaji 2023)
  kGptq,  // codes one column after another, the error passed on by the inverse Hessian of the inputs (Frantar et al. 2022)
  kAwq,  // columns scaled by a power of their inputs' mean magnitude, folded into what comes before (Lin et al. 2023)
};

// How a product with a weight in blocks is written.
enum class BlockForm : uint8_t {
  kMatMulNBits,  // com.microsoft's MatMulNBits and GatherBlockQuantized
  kQdq,          // DequantizeLinear with block_size before the product: opset 21, standard operators
};

struct BlockOptions {
  int64_t block = 32;      // weights that share a scale: 16, 32, 64, 128 or 256
  bool symmetric = false;  // no zero points: the middle code is 0
  // Zero points of the scales' type, any number: MatMulNBits of 2, 3 and 4 bits, with kSearch and kAwq.
  bool real_zeros = false;
  BlockMethod method = BlockMethod::kSearch;
  BlockForm form = BlockForm::kMatMulNBits;
  int accuracy_level = 0;  // MatMulNBits': 0 the kernel's choice, 1 float32, 2 float16, 3 bfloat16, 4 int8 activations
  bool operator==(const BlockOptions&) const = default;
};

// How the range of an activation is chosen from its histogram.
enum class RangeMethod : uint8_t { kMinMax, kPercentile, kEntropy, kMse };

struct Int8Options {
  bool dynamic = false;  // ranges of activations are measured at each run: MatMulInteger, ConvInteger
  RangeMethod range = RangeMethod::kMinMax;
  double percentile = 99.999;  // of kPercentile
  bool symmetric_activations = false, symmetric_weights = true;
  bool unsigned_activations = true, unsigned_weights = false;  // uint8, else int8
  bool per_channel = true;                                     // a scale for each output channel of a weight
  bool reduced_range = false;        // weights of 7 bits: no overflow on processors without VNNI
  double smooth = 0;                 // SmoothQuant's alpha: 0 none, 0.5 even (Xiao et al. 2022)
  bool equalize = false;             // weights of convolutions that follow each other evened out (Nagel et al. 2019)
  bool activation_products = false;  // products of two activations too, as attention has; static ranges only
  bool correct_bias = false;  // what rounding the weights shifts the mean output by is taken off (Nagel et al. 2019)
};

// What one node, or all that no other entry names, is converted to.
struct PrecisionOptions {
  NumberFormat to = NumberFormat::kKeep;
  BlockOptions blocks = {};
  Int8Options int8 = {};
};

struct PlannedNode {
  std::string name;  // the node's name; where it has none, its first output's
  PrecisionOptions precision;
};

struct ConvertOptions {
  PrecisionOptions precision = {};     // of every node that can have it
  std::vector<PlannedNode> plan = {};  // and of some
  std::vector<std::string> keep =
      {};  // patterns of names of nodes and operators ("*lm_head*", "Conv") that stay as they are
  // The projections to q, k and v of one attention have the same precision: those that the plan does not name go with one
  // that it names, and of several with the one of most bits.
  bool join_projections = true;
  bool convert_io = false;  // inputs and outputs get the new type too; else Casts stand behind and before them
  bool optimize = true;     // first, as `optimize` does
  OptimizeTarget target = OptimizeTarget::kPortable;
  // Weights that are inputs too are constants, and no inputs any more; else, from IR version 4 on, a caller may replace them,
  // and they stay as they are.
  bool constant_weights = false;
  bool check = true;                // the result is run beside the model; else it is loaded where that is quick
  FeedOptions feeds = {};           // for the check; the rest is drawn
  std::filesystem::path data = {};  // a folder of .npz files, or one: inputs by name, a sample each
  // The same, of samples that nothing of the conversion is chosen by: these judge it.
  std::filesystem::path held_out = {};
  // How images or recordings of `data` and `held_out` become inputs: options of `thaw inputs`, "--resize=height:48". Empty: .npz files.
  std::vector<std::string> fed = {};
};

// What a run of the result beside the model was fed.
enum class FedFrom : uint8_t {
  kHeldOut,      // a sample that nothing was chosen by
  kCalibration,  // a sample that ranges, codes or types were chosen by too
  kDrawn,        // what was drawn: the model may never meet it in use
};

// One output of the result beside the original's, at one choice of sizes.
struct OutputError {
  FedFrom fed = FedFrom::kDrawn;
  std::string sizes;  // "batch=1, height=96"; a sample's name
  std::string output;
  double max_abs = 0;  // largest difference
  double largest = 0;  // largest element of the original's
  double cosine = 1;   // of the two as vectors
  double sqnr =
      0;  // signal to quantization noise, 10 log10(sum x^2 / sum (x - y)^2), in dB; infinite where equal, -300 of zeros
  uint64_t elements = 0;
  uint64_t broken = 0;  // that are NaN or infinite in the result alone
};

struct ConvertReport {
  std::string model;   // the path that it was loaded from
  std::string output;  // and that it was to be written to
  Files files = {};    // that were written
  AsWritten as_written = {};
  std::vector<Change> changed = {};        // by node
  std::vector<Change> left = {};           // what was to be converted and could not be, and why
  std::vector<Change> already = {};        // where nothing was converted: what is as it was asked for
  std::vector<std::string> warnings = {};  // weights that do not fit, numbers that nothing was known of
  // How codes in blocks were chosen where no plan says otherwise; none where none were.
  std::optional<BlockMethod> method = {};
  std::optional<OptimizeReport> optimized = {};
  size_t nodes_before = 0, nodes_after = 0;
  uint64_t weights_before = 0, weights_after = 0;  // bytes of constants
  std::vector<OutputError> errors = {};            // empty where it was not checked; in the order of FedFrom
  std::vector<std::string> failures =
      {};  // nothing to convert; runs of the result that failed where the original's did not; broken outputs
  std::vector<std::string> uncompared = {};  // what was not compared with the model, and why
  std::vector<std::string> untaken = {};  // for kDirectml: what `check` with that target finds in it, a sentence each
  bool is_checked = false;                // as ConvertOptions::check asks

  // Something was converted, or is already as it is asked for. ONNX Runtime does not refuse the result as it is written, it runs
  // wherever the model does, and breaks no output; where a check was asked for, something was compared, or there was nothing to
  // compare.
  bool accepted() const {
    return failures.empty() && (!is_checked || !errors.empty() || uncompared.empty()) && !as_written.is_refused();
  }
};

// Changes the model in place. Its inputs (but for weights among them, where those are
// constants), outputs and symbols stay, and so does the shape of everything; weights are
// converted when the model is saved, a piece at a time. A model whose result is not accepted is left as it is, and nothing
// is written. Data that was outside the model's file is written outside it.
// Throws thaw::Error (kInvalidArgument) for options that contradict each other, and for names in `plan` and patterns in
// `keep` that fit no node.
THAW_API ConvertReport convert(Model& model, const ConvertOptions& options, const Output& output = {});

// Sets ConvertOptions::plan, and the default for other nodes, as a file of plan_json() says (docs/converting.md has the schema); what
// an entry does not say is as in `precision`. Throws thaw::Error where the file is missing or no plan.
THAW_API void read_plan(const std::filesystem::path& path, ConvertOptions& options);

THAW_API std::string to_json(const ConvertReport& report);
THAW_API std::string to_text(const ConvertReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const ConvertReport& report);

}  // namespace thaw
