#include "thaw/confirm/conversion.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "thaw/confirm/against_reference.h"
#include "thaw/confirm/measured_error.h"
#include "thaw/confirm/run_check.h"
#include "thaw/core/error.h"

namespace thaw::confirm {
namespace {

constexpr int kConvertedPoints = 3;  // sizes that are drawn: the model's own, and two others
constexpr size_t kMostSamples = 8;   // that are run beside the original
constexpr double kNoiseOnly = 0;     // dB: the error is as large as the output
constexpr double kPoor = 10;         // dB

Array to_type(const Array& array, DataType type) {
  if (array.dtype == type || array.is_string()) return array;
  return Array::from_doubles(type, array.dims, to_doubles(array));
}

}  // namespace

std::string_view name_of(Dataset from) {
  switch (from) {
    case Dataset::kHeldOut:
      return "held-out samples";
    case Dataset::kCalibration:
      return "calibration samples";
    case Dataset::kRandom:
      return "random inputs";
  }
  return {};
}

bool has_type(const ir::Model& model, DataType type) {
  return std::ranges::any_of(model.graph->initializers(),
                             [&](const ir::Value* value) { return value->initializer()->data_type == type; }) ||
         std::ranges::any_of(model.graph->nodes(), [&](const ir::Node* node) {
           return node->attribute_int("to", 0) == static_cast<int64_t>(type);
         });
}

ConversionCheck::ConversionCheck(std::unique_ptr<ir::Model> converted, std::unique_ptr<ir::Model> original,
                                 ConvertReport& report)
    : converted_(std::move(converted)),
      given_(std::move(original)),
      own_(ir::clone(*given_)),  // it may lose what it declares inside
      before_(*own_, check_session()),
      report_(report) {}

bool ConversionCheck::load() {
  try {
    after_.emplace(*converted_, check_session());
    report_.runtime = after_->runtime();
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRuntimeFailed) throw;
    report_.failures.push_back(fmt::format("the result does not load: {}", error.what()));
    return false;
  }
}

void ConversionCheck::run_samples(const quantizing::Samples& samples, Dataset from) {
  const std::vector<std::string> inputs = quantizing::inputs_to_feed(*given_);
  for (size_t i = 0; i < std::min(samples.size(), kMostSamples); ++i) {
    const Arrays fed = samples.read(i, inputs);
    const Arrays wanted = before_.run(fed);
    try {
      add(from, samples.name(i), fed, wanted);
    } catch (const Error& error) {
      report_.failures.push_back(fmt::format("the result does not run on {}: {}", samples.name(i), error.what()));
      return;
    }
  }
}

std::vector<Arrays> ConversionCheck::run_drawn(const FeedOptions& feeds) {
  std::vector<Arrays> drawn;
  const auto run_original = [&](const Arrays& fed) { return before_.run(fed); };
  const auto judge_run = [&](const Arrays& fed, const Arrays& wanted, RunCheck& check) {
    drawn.push_back(fed);
    add(Dataset::kRandom, check.name, fed, wanted);
  };
  const AgainstReference compared = judge_against_reference(*given_, feeds, kConvertedPoints, run_original, judge_run);
  for (const RunCheck& check : compared.checks)
    if (!check.agrees) report_.failures.push_back(fmt::format("at {} it does not run: {}", check.name, check.message));
  report_.not_compared = compared.not_compared;
  return drawn;
}

// Adds what every output of numbers costs to the report. Throws where the result does not run.
void ConversionCheck::add(Dataset from, const std::string& name, const Arrays& feeds, const Arrays& wanted) {
  Arrays fed;
  for (const auto& [input, array] : feeds) fed.emplace(input, to_type(array, type_of(input, array.dtype)));
  const Arrays got = after_->run(fed);
  if (!first_run_) first_run_ = {from, name, feeds, std::move(fed)};
  for (const auto& [output, array] : wanted) {
    const auto result = got.find(output);
    if (result == got.end() || result->second.dims != array.dims) {
      report_.failures.push_back(fmt::format("at {}, output '{}' is missing or has another shape", name, output));
      continue;
    }
    if (!ir::is_floating(array.dtype)) continue;
    MeasuredError measured = measure_error(array, result->second);
    measured.error.output = output;
    if (measured.compared == 0 && measured.error.not_finite == 0) {
      incomparable_.emplace(output, fmt::format("the original returns {1} at {0}", name,
                                                measured.error.elements == 0 ? "no elements" : "no finite number"));
      continue;
    }
    measured.error.dataset = from;
    measured.error.name = name;
    count(measured.error, measured.signal, measured.noise);
    report_.comparisons.push_back(std::move(measured.error));
  }
}

DataType ConversionCheck::type_of(const std::string& input, DataType otherwise) const {
  const ir::Value* value = converted_->graph->find(input);
  return value && value->type.elem_type != DataType::kUndefined ? value->type.elem_type : otherwise;
}

void ConversionCheck::count(const OutputComparison& error, double signal, double noise) {
  if (error.not_finite > 0) {
    report_.failures.push_back(fmt::format("at {}, {} of the {} elements of output '{}' are NaN or infinite",
                                           error.name, error.not_finite, error.elements, error.output));
    return;
  }
  Runs& runs = runs_.try_emplace(error.output, Runs{.from = error.dataset}).first->second;
  if (runs.from != error.dataset) return;
  if (error.max_abs_expected == 0) {
    if (error.max_abs_diff <= runs.from_nothing) return;
    runs.from_nothing = error.max_abs_diff;
    runs.from_nothing_at = error.name;
    return;
  }
  runs.signal += signal;
  runs.noise += noise;
  ++runs.count;
  if (runs.count > 1 && error.sqnr_db >= runs.worst) return;
  runs.worst = error.sqnr_db;
  runs.worst_at = error.name;
}

void ConversionCheck::judge() {
  for (const auto& [output, runs] : runs_) judge(output, runs);
  for (const auto& [output, why] : incomparable_)
    if (std::ranges::find(report_.comparisons, output, &OutputComparison::output) == report_.comparisons.end())
      report_.not_compared.push_back(fmt::format("output '{}': {}", output, why));
}

// One run alone may come to next to nothing, as a score near the middle does: noise is held against what all come to.
void ConversionCheck::judge(const std::string& output, const Runs& runs) {
  const bool is_drawn = runs.from == Dataset::kRandom;
  const double all = to_decibels(runs.signal, runs.noise);
  const std::string sqnr =
      fmt::format("{:.1f} dB at {}", runs.worst, runs.worst_at) +
      (runs.count > 1 ? fmt::format(", {:.1f} dB over {} {}", all, runs.count, name_of(runs.from)) : "");
  if (runs.count > 0 && all <= kNoiseOnly) {
    const std::string_view next = is_drawn ? "; if random inputs are not representative, give samples with --data" : "";
    report_.failures.push_back(fmt::format("output '{}' has an error {} its signal: SQNR {}{}", output,
                                           all < kNoiseOnly ? "larger than" : "as large as", sqnr, next));
  } else if (runs.count > 0 && runs.worst < kPoor) {
    report_.warnings.push_back(fmt::format("output '{}' has a low SQNR: {}", output, sqnr));
  } else if (runs.from_nothing > 0) {
    // Against nothing, anything is more. Where kernels round activations to INT8, zeros become some 1e-6.
    report_.warnings.push_back(
        fmt::format("output '{}' is all zeros in the original at {}, and up to {:.3g} in the result: SQNR is undefined "
                    "there, try other inputs",
                    output, runs.from_nothing_at, runs.from_nothing));
  }
}

}  // namespace thaw::confirm
