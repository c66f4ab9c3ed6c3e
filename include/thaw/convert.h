// Converts models to float16, bfloat16, INT8 and block-wise quantized weights of 2 to 8 bits, and measures the accuracy loss.
//
//   thaw::ConvertOptions options;
//   options.precision.to = thaw::NumberFormat::kInt4;
//   thaw::ConvertReport report = thaw::convert(model, options);
//   for (const thaw::OutputComparison& error : report.comparisons) …  // each output against the original's
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
#include "thaw/generate.h"
#include "thaw/model.h"
#include "thaw/optimize.h"
#include "thaw/proof.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

// The type that a node computes with, or that its weights are stored in.
enum class NumberFormat : uint8_t {
  kKeep,        // unchanged
  kFloat16,     // IEEE 754 binary16
  kBfloat16,    // the upper half of a float32
  kInt8,        // 8-bit weights and activations: real = scale * (quantized - zero_point), as in QuantizeLinear
  kInt4,        // weights only, a scale for each block along the reduced axis
  kInt2,        // the same, of 2 bits
  kInt3,        // the same, of 3 bits; nodes unpack them to 4 bits before use
  kInt8Blocks,  // the same, of 8 bits
};

// How scale and zero point of a block are chosen.
enum class BlockMethod : uint8_t {
  kRtn,     // from minimum and maximum of the weights; values are rounded to nearest
  kSearch,  // least squared error: scale and zero point are refitted alternately with the quantized values
  kHqq,     // least |error|^p, p < 1, by half-quadratic splitting (Badri and Shaji, "HQQ", 2023)
  kGptq,  // columns in order, the error distributed by the inverse Hessian of the inputs (Frantar et al., "GPTQ", 2022)
  kAwq,  // columns scaled by a power of their inputs' mean magnitude, folded into the node before (Lin et al., "AWQ", 2023)
};

// How a MatMul with a block-wise quantized weight is written.
enum class BlockForm : uint8_t {
  kMatMulNBits,  // com.microsoft's MatMulNBits and GatherBlockQuantized
  kQdq,          // DequantizeLinear with block_size before the product: opset 21, standard operators
};

struct BlockOptions {
  int64_t block = 32;      // weights that share a scale, block_size of MatMulNBits: 16, 32, 64, 128 or 256
  bool symmetric = false;  // no zero points: the middle quantized value is 0
  // Floating-point zero points, of the scales' type: MatMulNBits of 2, 3 and 4 bits, with kSearch and kAwq.
  bool real_zeros = false;
  BlockMethod method = BlockMethod::kSearch;
  BlockForm form = BlockForm::kMatMulNBits;
  int accuracy_level =
      0;  // accuracy_level of MatMulNBits: 0 the kernel's choice, 1 float32, 2 float16, 3 bfloat16, 4 int8 activations
  bool operator==(const BlockOptions&) const = default;
};

// How the range of an activation is calibrated from its histogram.
enum class RangeMethod : uint8_t { kMinMax, kPercentile, kEntropy, kMse };

struct Int8Options {
  bool dynamic = false;  // dynamic quantization: MatMulInteger, ConvInteger
  RangeMethod range = RangeMethod::kMinMax;
  double percentile = 99.999;  // of kPercentile, 0 to 100
  bool symmetric_activations = false, symmetric_weights = true;
  bool unsigned_activations = true, unsigned_weights = false;  // uint8, else int8
  bool per_channel = true;           // a scale for each output channel of a weight; else one for the tensor
  bool reduced_range = false;        // weights of 7 bits, against overflow on processors without VNNI
  double smooth = 0;                 // alpha of SmoothQuant, 0 to 1: 0 off (Xiao et al. 2022)
  bool equalize = false;             // cross-layer equalization of convolutions (Nagel et al. 2019)
  bool activation_products = false;  // MatMul of two activations too, as in attention; not with `dynamic`
  bool correct_bias = false;         // bias correction: subtracts the shift of the mean output (Nagel et al. 2019)
};

// The precision of one node, or of all that no other entry names.
struct PrecisionOptions {
  NumberFormat to = NumberFormat::kKeep;
  BlockOptions blocks = {};
  Int8Options int8 = {};
};

struct PlannedNode {
  std::string name;  // the node's name; where it has none, the name of its first output
  PrecisionOptions precision;
};

struct ConvertOptions {
  PrecisionOptions precision = {};     // of all nodes that support it
  std::vector<PlannedNode> plan = {};  // of single nodes
  // Shell patterns of names of nodes and operators ("*lm_head*", "Conv") that stay unchanged.
  std::vector<std::string> keep = {};
  // The q, k and v projections of one attention get the same precision: those that the plan does not name get that of one that
  // it names, of several the one with most bits.
  bool join_projections = true;
  bool convert_io = false;  // convert inputs and outputs too; else there are Casts after inputs and before outputs
  bool optimize = true;     // run `optimize` first
  OptimizeTarget target = OptimizeTarget::kPortable;
  // With kPortable: a backend that `check` knows (target_names()), whose table says which operators, opset and forms may be written.
  // What it does not take is refused (kInvalidArgument), or left in float32 with the reason. Empty: none. See set_target.
  std::string backend = {};
  // Initializers that are inputs too become constants, and are no inputs any more. Else they stay unchanged from IR version 4 on, as a
  // caller may override them.
  bool constant_weights = false;
  bool check = true;                // compare the result with the original; else only load it, where that is quick
  FeedOptions feeds = {};           // inputs for the check; the rest is random
  std::filesystem::path data = {};  // calibration samples: a folder of .npz files, or one; inputs by name
  PromptOptions prompts = {};       // instead, of a model in a folder of models: what the prompts feed to it
  // The same, of held-out samples: no choice depends on them, and they judge the result.
  std::filesystem::path held_out = {};
  // How images or recordings in `data` and `held_out` become inputs: options of `thaw inputs`, "--resize=height:48". Empty: .npz files.
  std::vector<std::string> preprocessing = {};
};

// Where the inputs of a comparison are from.
enum class Dataset : uint8_t {
  kHeldOut,      // a held-out sample
  kCalibration,  // a calibration sample
  kRandom,       // random inputs, which may be unlike those in use
};

// One output y of the result against the original's output x, at one choice of sizes.
struct OutputComparison {
  Dataset dataset = Dataset::kRandom;
  std::string name;  // of the case: "batch=1, height=96", or the sample's name
  std::string output;
  double max_abs_diff = 0;      // max |x - y|
  double max_abs_expected = 0;  // max |x|
  double cosine = 1;            // x.y / (|x| |y|)
  double sqnr_db = 0;           // 10 log10(sum x^2 / sum (x - y)^2); infinite where equal, -300 where x is 0
  uint64_t elements = 0;
  uint64_t not_finite = 0;  // elements that are NaN or infinite in y only
};

// The output y of a node with a weight in the result, against the original's x on the same inputs.
struct LayerComparison {
  std::string node;  // the node's name; where it has none, the name of its output
  std::string op_type;
  OutputComparison error;
};

// Where the accuracy is lost: the layers in topological order, in one run. Not those whose output only one of the models has.
struct LayerComparisons {
  Dataset dataset = Dataset::kRandom;
  std::string name;  // of the case
  std::vector<LayerComparison> layers = {};
  uint64_t not_measured = 0;  // layers, as their outputs would take more than 512 MiB
};

struct ConvertReport {
  std::string model;   // path of the original
  std::string output;  // path of the result
  Files files = {};    // files that were written
  LoadCheck load_check = {};
  std::vector<Change> changed = {};            // by node
  std::vector<Change> not_converted = {};      // nodes that could not be converted, and why
  std::vector<Change> already_converted = {};  // where nothing was converted: nodes that have the type already
  std::vector<std::string> warnings = {};      // a sentence each
  // The method for blocks, where no plan says otherwise; nullopt where there are none.
  std::optional<BlockMethod> method = {};
  std::optional<OptimizeReport> optimized = {};
  size_t nodes_before = 0, nodes_after = 0;
  uint64_t weight_bytes_before = 0, weight_bytes_after = 0;  // of all constants
  std::vector<OutputComparison> comparisons = {};            // empty where it was not checked; in the order of Dataset
  LayerComparisons layers = {};                              // of the first run that was compared
  // Why it is not accepted: nothing to convert, runs that fail where the original's do not, outputs that are not finite.
  std::vector<std::string> failures = {};
  std::vector<std::string> not_compared = {};  // what could not be compared, and why
  std::vector<std::string> unsupported = {};   // of a target with a table: what it does not support, a sentence each
  std::string target = {};                     // that target's name, "directml"; empty for the others
  Runtime runtime = {};                        // of the comparison; without a version where nothing ran
  bool is_checked = false;                     // ConvertOptions::check
  Proof proof =
      {};  // of a result that was checked: whether it equals the original but for constants that were quantized

  // Nodes were converted, or have the type already. ONNX Runtime loads the result, and it runs wherever the original does, with finite
  // outputs. Where a check was asked for, something was compared, or there was nothing to compare.
  bool accepted() const {
    return failures.empty() && (!is_checked || !comparisons.empty() || not_compared.empty()) &&
           !load_check.has_failed();
  }
};

// A target by its name among target_names(), in `target` or `backend`. Throws thaw::Error (kInvalidArgument) for another one.
THAW_API void set_target(const std::string& name, ConvertOptions& options);

// Changes the model in place. Inputs, outputs, symbols and all shapes stay, except initializers that become constants. Weights are
// converted when the model is saved, a slice at a time. A model whose result is not accepted stays unchanged, and nothing is written.
// External data stays external.
// Throws thaw::Error (kInvalidArgument) for options that contradict each other, and for names in `plan` and patterns in `keep` that
// match no node.
THAW_API ConvertReport convert(Model& model, const ConvertOptions& options, const Output& output = {});

// Reads a plan as plan_json() writes it (docs/guide/convert.md) into ConvertOptions::plan and ::precision. Entries take what they leave
// out from `precision`. `model`: which model is converted; of a plan for the models of a folder the part of its file's name counts,
// "text" of text.onnx. Throws thaw::Error for a file that is missing or no plan, for a node that is in it twice, for a default that is
// another type than `precision` has, and for a model that is none of the plan's parts.
THAW_API void read_plan(const std::filesystem::path& path, ConvertOptions& options,
                        const std::filesystem::path& model = {});

THAW_API std::string to_json(const ConvertReport& report);
THAW_API std::string to_text(const ConvertReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const ConvertReport& report);

}  // namespace thaw
