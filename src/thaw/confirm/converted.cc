#include "thaw/confirm/converted.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "thaw/confirm/beside.h"
#include "thaw/confirm/original.h"
#include "thaw/confirm/output_error.h"
#include "thaw/confirm/run_check.h"
#include "thaw/confirm/same_noise.h"
#include "thaw/core/error.h"
#include "thaw/quant/convert.h"
#include "thaw/quant/half/widened.h"
#include "thaw/quant/precisions.h"
#include "thaw/quant/seen_ranges.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr int kPoints = 3;          // sizes that are drawn: the model's own, and two others
constexpr size_t kMostSamples = 8;  // that are run beside the original
constexpr double kNoiseOnly = 0;    // dB: the error is as large as the output
constexpr double kPoor = 10;        // dB

Array to_type(const Array& array, DataType type) {
  if (array.dtype == type || array.is_string()) return array;
  return Array::from_doubles(type, array.dims, to_doubles(array));
}

bool has_type(const ir::Model& model, DataType type) {
  return std::ranges::any_of(model.graph->initializers(),
                             [&](const ir::Value* value) { return value->initializer()->data_type == type; }) ||
         std::ranges::any_of(model.graph->nodes(), [&](const ir::Node* node) {
           return node->attribute_int("to", 0) == static_cast<int64_t>(type);
         });
}

// Where a kernel lacks float16, ONNX Runtime casts around it; bfloat16 it does not, and makes no session.
void warn_of_bfloat16(const ir::Model& converted, ConvertReport& report) {
  if (!has_type(converted, DataType::kBfloat16)) return;
  try {
    const run::Session session(converted, check_session());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRuntimeFailed) throw;
    report.warnings.push_back(fmt::format(
        "ONNX Runtime does not load it for processors, as it has few kernels of bfloat16 for them ({}): run it "
        "where they are, as on a GPU, or convert --to f16",
        error.parts().what));
  }
}

enum class Fed : uint8_t { kSample, kDrawn };

class Costs {
 public:
  // `with_samples`: what drawn inputs lose does not decide then. They may be nothing that the model is fed in use.
  Costs(const ir::Model& converted, const ir::Model& original, bool with_samples, ConvertReport& report)
      : converted_(with_same_noise(converted)),
        own_(with_same_noise(original)),
        before_(*own_, check_session()),
        with_samples_(with_samples),
        report_(report) {
    for (const DataType type : {DataType::kFloat16, DataType::kBfloat16})
      if (has_type(*converted_, type)) quantizing::compute_in_float32(*converted_, type);
  }

  Arrays run_original(const Arrays& feeds) { return before_.run(feeds); }

  // Loads the result; false, with the reason among the failures, where ONNX Runtime refuses it. What is wrong with a weight,
  // which is converted now, is thrown.
  bool load() {
    try {
      after_.emplace(*converted_, check_session());
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kRuntimeFailed) throw;
      report_.failures.push_back(fmt::format("it does not load: {}", error.what()));
      return false;
    }
  }

  // Adds what every output of numbers costs to the report. Throws where the result does not run.
  void add(const std::string& name, const Arrays& feeds, const Arrays& wanted, Fed how) {
    Arrays fed;
    for (const auto& [input, array] : feeds) fed.emplace(input, to_type(array, type_of(input, array.dtype)));
    const Arrays got = after_->run(fed);
    for (const auto& [output, array] : wanted) {
      const auto result = got.find(output);
      if (result == got.end() || result->second.dims != array.dims) {
        report_.failures.push_back(fmt::format("at {}, output '{}' is not there, or of another shape", name, output));
        continue;
      }
      if (!is_floating(array.dtype)) continue;
      OutputError error = output_error(output, array, result->second);
      error.sizes = name;
      judge(error, how);
      report_.errors.push_back(std::move(error));
    }
  }

 private:
  static bool is_floating(DataType type) { return ir::is_floating(type); }

  DataType type_of(const std::string& input, DataType otherwise) const {
    const ir::Value* value = converted_->graph->find(input);
    return value && value->type.elem_type != DataType::kUndefined ? value->type.elem_type : otherwise;
  }

  void judge(const OutputError& error, Fed how) {
    if (error.broken > 0) {
      report_.failures.push_back(fmt::format("at {}, {} of the {} elements of output '{}' are NaN or infinite",
                                             error.sizes, error.broken, error.elements, error.output));
    } else if (error.largest == 0) {
      // Against nothing, anything is more. Where kernels round activations to INT8, zeros become some 1e-6.
      if (error.max_abs > 0 && warned_.insert(error.output).second)
        report_.warnings.push_back(
            fmt::format("output '{}' is 0 throughout at {}, and up to {:.3g} in the result: other "
                        "inputs tell what that is worth",
                        error.output, error.sizes, error.max_abs));
    } else if (error.sqnr < kNoiseOnly && (how == Fed::kSample || !with_samples_)) {
      const std::string_view next =
          how == Fed::kSample ? "" : "; if the model is fed no such noise in use, --data with samples decides by them";
      report_.failures.push_back(
          fmt::format("at {}, output '{}' is off by more than it is (signal to noise {:.1f} dB){}", error.sizes,
                      error.output, error.sqnr, next));
    } else if (error.sqnr < kPoor && warned_.insert(error.output).second) {
      report_.warnings.push_back(fmt::format("output '{}' keeps little of what it was: signal to noise {:.1f} dB at {}",
                                             error.output, error.sqnr, error.sizes));
    }
  }

  std::unique_ptr<ir::Model> converted_, own_;
  Original before_;
  std::optional<run::Session> after_;
  bool with_samples_;
  ConvertReport& report_;
  std::set<std::string> warned_;
};

void run_samples(Costs& costs, const ir::Model& original, const quantizing::Samples& samples, ConvertReport& report) {
  const std::vector<std::string> inputs = quantizing::inputs_to_feed(original);
  for (size_t i = 0; i < std::min(samples.size(), kMostSamples); ++i) {
    const Arrays fed = samples.read(i, inputs);
    const Arrays wanted = costs.run_original(fed);
    try {
      costs.add(samples.name(i), fed, wanted, Fed::kSample);
    } catch (const Error& error) {
      report.failures.push_back(fmt::format("on {} it does not run: {}", samples.name(i), error.what()));
      return;
    }
  }
}

ConvertReport convert_once(ir::Model& model, const ir::Model& original, const ConvertOptions& options,
                           const quantizing::Samples* samples, std::vector<Arrays>& drawn) {
  ConvertReport report;
  quantizing::convert(model, options, samples, report);
  if (!options.check) return report;
  const bool with_samples = samples && !samples->are_drawn() && samples->size() > 0;
  Costs costs(model, original, with_samples, report);
  if (!costs.load()) return report;
  warn_of_bfloat16(model, report);
  if (with_samples) run_samples(costs, original, *samples, report);
  const auto run_original = [&](const Arrays& feeds) { return costs.run_original(feeds); };
  const auto judge = [&](const Arrays& fed, const Arrays& wanted, RunCheck& check) {
    drawn.push_back(fed);
    costs.add(check.name, fed, wanted, Fed::kDrawn);
  };
  Beside beside = judge_beside(original, options.feeds, kPoints, run_original, judge);
  for (const RunCheck& check : beside.checks)
    if (!check.agrees) report.failures.push_back(fmt::format("at {} it does not run: {}", check.name, check.message));
  report.uncompared = beside.uncompared;
  return report;
}

// Whether anything inside passes what float16 has: on what was drawn, it may without a trace in the outputs.
bool leaves_float16(const ir::Model& original, const quantizing::Samples& drawn) {
  try {
    for (const auto& [value, range] : quantizing::seen_ranges(original, drawn))
      if (std::max(-range.lowest, range.highest) > quantizing::kMostFloat16) return true;
  } catch (const Error&) {  // with all of its values as outputs it may not run; then the outputs tell what they tell
  }
  return false;
}

}  // namespace

ConvertReport convert(ir::Model& model, const ir::Model& original, const ConvertOptions& options,
                      std::shared_ptr<const quantizing::SampleSource> source) {
  std::optional<quantizing::Samples> samples;
  if (source) {
    samples.emplace(std::move(source));
  } else if (!options.data.empty()) {
    samples.emplace(options.data);
  }
  std::vector<Arrays> drawn;
  if (!options.check) return convert_once(model, original, options, samples ? &*samples : nullptr, drawn);
  std::unique_ptr<ir::Model> first = ir::clone(model);
  ConvertReport report = convert_once(*first, original, options, samples ? &*samples : nullptr, drawn);
  const bool is_settled = samples || drawn.empty() || !quantizing::any_is(options, NumberFormat::kFloat16);
  const quantizing::Samples seen(std::move(drawn));
  if (is_settled || (report.runs() && !leaves_float16(original, seen))) {
    model = std::move(*first);
    return report;
  }
  // Where it leaves the range is measured, and stays in float32.
  std::vector<Arrays> again;
  return convert_once(model, original, options, &seen, again);
}

}  // namespace thaw::confirm
