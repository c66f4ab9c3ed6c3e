#include "thaw/sensitivity/conversions.h"

#include <algorithm>
#include <unordered_set>

#include <fnmatch.h>

#include "thaw/ir/graph/location.h"
#include "thaw/optimize/optimize.h"
#include "thaw/quant/candidates.h"
#include "thaw/quant/convert.h"
#include "thaw/quant/half/widened.h"
#include "thaw/quant/precisions.h"
#include "thaw/rewrite/splice.h"
#include "thaw/run/providers.h"

namespace thaw::measuring {
namespace {

// What INT8 leaves out of optimizing comes first, so that all precisions start from one model.
std::vector<PrecisionOptions> int8_first(std::vector<PrecisionOptions> precisions) {
  std::ranges::stable_partition(precisions,
                                [](const PrecisionOptions& precision) { return quantizing::is_int8(precision.to); });
  return precisions;
}

}  // namespace

std::unique_ptr<ir::Model> made_ready(const ir::Model& model, const std::vector<PrecisionOptions>& precisions,
                                      OptimizeTarget target, const std::string& backend, bool optimize,
                                      const quantizing::Samples& samples) {
  std::unique_ptr<ir::Model> ready = ir::clone(model);
  for (const PrecisionOptions& precision : int8_first(precisions)) {
    ir::begin_own_run(*ready);
    ConvertReport report;
    quantizing::convert(*ready,
                        {.precision = precision,
                         .keep = {"*"},
                         .optimize = optimize,
                         .target = target,
                         .backend = backend,
                         .check = false},
                        &samples, report);
    optimize = false;
  }
  return ready;
}

Conversions::Conversions(const ir::Model& model, const SensitivityOptions& options, const quantizing::Samples& samples)
    : options_(options),
      samples_(samples),
      base_(made_ready(model, options.precisions, options.target, options.backend, options.optimize, samples)) {
  for (size_t p = 0; p < options.precisions.size(); ++p)
    if (const NumberFormat to = options.precisions[p].to; quantizing::is_half(to) && !missing_.contains(to))
      missing_.emplace(to, run::have_other_providers()
                               ? quantizing::find_missing_kernels(*convert_as_written(all_options(p), {}).model)
                               : quantizing::MissingKernels{});
}

std::vector<std::string> Conversions::imitated(size_t precision) const {
  const auto at = missing_.find(options_.precisions[precision].to);
  if (at == missing_.end()) return {};
  if (at->second.are_all) return {"*"};
  return {at->second.of.begin(), at->second.of.end()};
}

std::vector<std::string> Conversions::candidates() const {
  const std::vector<std::string> as_they_are = kept();
  const std::unordered_set<std::string> kept(as_they_are.begin(), as_they_are.end());
  std::vector<std::string> names;
  std::unordered_set<std::string> met;
  for (const PrecisionOptions& precision : options_.precisions)
    for (std::string& name : quantizing::candidates(*base_, precision, &samples_)) {
      const bool is_kept = kept.contains(name) || std::ranges::any_of(options_.keep, [&](const std::string& pattern) {
                             return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
                           });
      if (!is_kept && met.insert(name).second) names.push_back(std::move(name));
    }
  return names;
}

std::vector<std::string> Conversions::kept() const {
  std::vector<std::string> names;
  for (const ir::Node* node : base_->graph->nodes()) {
    const std::string name = rewrite::name_of(*node);
    if (std::ranges::any_of(options_.keep, [&](const std::string& pattern) {
          return fnmatch(pattern.c_str(), name.c_str(), 0) == 0 ||
                 fnmatch(pattern.c_str(), ir::operator_name(*node).c_str(), 0) == 0;
        }))
      names.push_back(name);
  }
  return names;
}

Converted Conversions::convert_as_written(const ConvertOptions& options, const std::vector<std::string>& nodes) const {
  Converted converted{.model = ir::clone(*base_)};
  ir::begin_own_run(*converted.model);
  ConvertReport report;
  quantizing::convert(*converted.model, options, &samples_, report);
  converted.bytes = static_cast<int64_t>(report.weight_bytes_before) - static_cast<int64_t>(report.weight_bytes_after);
  if (report.changed.empty()) {
    converted.why = "it cannot be converted alone";
    for (const Change& left : report.not_converted)
      if (std::ranges::find(nodes, left.location) != nodes.end()) converted.why = left.why;
  }
  return converted;
}

Converted Conversions::convert(const ConvertOptions& options, const std::vector<std::string>& nodes) const {
  Converted converted = convert_as_written(options, nodes);
  for (const auto& [format, missing] : missing_)
    if (quantizing::any_is(options, format))
      quantizing::compute_in_float32(
          *converted.model, format == NumberFormat::kFloat16 ? ir::DataType::kFloat16 : ir::DataType::kBfloat16,
          missing);
  return converted;
}

ConvertOptions Conversions::all_options(size_t precision) const {
  return {.precision = options_.precisions[precision],
          .keep = options_.keep,
          .join_projections = false,
          .optimize = false,
          .target = options_.target,
          .backend = options_.backend,
          .check = false};
}

Converted Conversions::only(const SensitivityUnit& unit, size_t precision) const {
  ConvertOptions options{.join_projections = false,
                         .optimize = false,
                         .target = options_.target,
                         .backend = options_.backend,
                         .check = false};
  for (const std::string& node : unit.nodes)
    options.plan.push_back({.name = node, .precision = options_.precisions[precision]});
  return convert(options, unit.nodes);
}

Converted Conversions::all(size_t precision) const { return convert(all_options(precision), {}); }

Converted Conversions::planned(ConvertOptions options) const {
  options.optimize = options.check = false;
  options.target = options_.target;
  options.backend = options_.backend;
  return convert(options, {});
}

Converted Conversions::all_but(const SensitivityUnit& unit, size_t precision) const {
  ConvertOptions options = all_options(precision);
  for (const std::string& node : unit.nodes) options.plan.push_back({.name = node, .precision = {}});
  return convert(options, {});
}

}  // namespace thaw::measuring
