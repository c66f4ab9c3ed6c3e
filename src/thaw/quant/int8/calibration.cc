#include "thaw/quant/int8/calibration.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/quant/samples/measured_model.h"

namespace thaw::quantizing::int8 {
namespace {

constexpr int64_t kMostFetched = int64_t{1} << 26;  // elements of the tensors that leave the runtime together

// What is measured of ranges: nodes on top of the values.
class RangeNodes {
 public:
  explicit RangeNodes(MeasuredModel& model) : model_(model) {}

  // A number that is 0, or no number where one of the value's is none or infinite: a sum, since ONNX Runtime's largest
  // leaves out what is no number.
  ir::Value* is_odd(ir::Value* value) {
    if (!zero_) zero_ = model_.constant("calibration_zero", {}, {0});
    return model_.reduce("ReduceSum", model_.op("Mul", {value, zero_}));
  }

  // Its elements one after the other, of which there is one that changes nothing where it has none.
  ir::Value* never_empty(ir::Value* value) {
    if (!flat_) {
      flat_ = model_.constant("calibration_flat", {-1});
      zeros_ = model_.constant("calibration_zeros", {1}, {0});
    }
    ir::Value* joined = model_.op("Concat", {model_.op("Reshape", {value, flat_}), zeros_});
    joined->producer()->set_attribute({.name = "axis", .value = int64_t{0}});
    return joined;
  }

 private:
  MeasuredModel& model_;
  ir::Value *zero_ = nullptr, *flat_ = nullptr, *zeros_ = nullptr;
};

// The one that is fed, or made before the others.
const std::string& first_of(const std::set<std::string>& names, const ir::Graph& graph) {
  for (const ir::Value* input : graph.inputs())
    if (const auto at = names.find(input->name()); at != names.end()) return *at;
  for (const ir::Node* node : graph.nodes())
    for (const ir::Value* output : node->outputs())
      if (const auto at = output ? names.find(output->name()) : names.end(); at != names.end()) return *at;
  return *names.begin();
}

[[noreturn]] void refuse_odd(const std::string& name, size_t sample) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("'{}' has a NaN or an infinity on sample {}", name, sample),
               .where = "calibration",
               .expected = "samples on which every tensor that is quantized is finite",
               .next = "--keep leaves the nodes that read or make it as they are"});
}

// What one pass over the samples tells of a tensor.
struct Extent {
  Range range;
  int64_t most_elements = 0;  // of any sample
};

std::map<std::string, Extent> extents(const ir::Model& model, const std::map<std::string, RangeRequest>& wanted,
                                      const Samples& samples) {
  struct Outputs {
    std::string lowest, highest, odd, size;
  };
  MeasuredModel measured(model);
  RangeNodes nodes(measured);
  std::map<std::string, Outputs> outputs;
  std::vector<std::string> all;
  for (const auto& [name, request] : wanted) {
    ir::Value* value = measured.value(name);
    // 0 belongs to every range, so that one more 0 changes none.
    ir::Value* flat = nodes.never_empty(value);
    const Outputs& here = outputs[name] = {
        measured.output(measured.reduce("ReduceMin", flat)), measured.output(measured.reduce("ReduceMax", flat)),
        measured.output(nodes.is_odd(flat)), measured.output(measured.op("Size", {value}))};
    all.insert(all.end(), {here.lowest, here.highest, here.odd, here.size});
  }
  measured.start();
  std::map<std::string, Extent> found;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays results = measured.run(samples.read(i, measured.inputs()), all);
    std::set<std::string> odd;
    for (const auto& [name, here] : outputs) {
      const auto number = [&](const std::string& output) { return to_doubles(results.at(output)).front(); };
      Extent& extent = found[name];
      const double low = number(here.lowest), high = number(here.highest);
      if (number(here.odd) != 0 || !std::isfinite(low) || !std::isfinite(high)) odd.insert(name);
      extent.range.lowest = std::min(extent.range.lowest, low);
      extent.range.highest = std::max(extent.range.highest, high);
      extent.most_elements = std::max(extent.most_elements, static_cast<int64_t>(number(here.size)));
    }
    if (!odd.empty()) refuse_odd(first_of(odd, *model.graph), i);
  }
  return found;
}

// What does not count is left out: it would stand as a peak at the limit, and every method makes room for peaks.
void add_to(Histogram& histogram, const Array& array, const Range& useful) {
  std::vector<float> counted;
  for_rows(array, 1, [&](std::span<const float> piece) {
    if (std::isinf(useful.lowest) && std::isinf(useful.highest)) return histogram.add(piece);
    counted.clear();
    std::ranges::copy_if(piece, std::back_inserter(counted),
                         [&](float number) { return number >= useful.lowest && number <= useful.highest; });
    histogram.add(counted);
  });
}

Range chosen(const Histogram& seen, const RangeRequest& request) {
  switch (request.method) {
    case RangeMethod::kPercentile:
      return percentile_range(seen, request.percentile, request.symmetric);
    case RangeMethod::kEntropy:
      return entropy_range(seen, request.codes, request.symmetric);
    case RangeMethod::kMse:
      return least_error_range(seen, request.codes, request.symmetric);
    default:
      return seen.range();
  }
}

std::map<std::string, Range> ranges_over(const ir::Model& model, const std::map<std::string, RangeRequest>& wanted,
                                         const Samples& samples) {
  const std::map<std::string, Extent> seen = extents(model, wanted, samples);
  std::map<std::string, Range> ranges;
  std::map<std::string, Histogram> histograms;
  std::vector<std::vector<std::string>> groups;  // that leave the runtime together
  int64_t held = 0;
  for (const auto& [name, extent] : seen) {
    const RangeRequest& request = wanted.at(name);
    const Range range{std::clamp(extent.range.lowest, request.useful.lowest, request.useful.highest),
                      std::clamp(extent.range.highest, request.useful.lowest, request.useful.highest)};
    ranges[name] = range;
    if (request.method == RangeMethod::kMinMax || !(range.lowest < range.highest)) continue;
    histograms.emplace(name, Histogram(range));
    if (groups.empty() || held + extent.most_elements > kMostFetched) {
      groups.emplace_back();
      held = 0;
    }
    groups.back().push_back(name);
    held += extent.most_elements;
  }
  if (groups.empty()) return ranges;
  MeasuredModel measured(model);
  for (const auto& [name, histogram] : histograms)
    if (!measured.is_fed(name)) measured.output(measured.value(name));
  measured.start();
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays feeds = samples.read(i, measured.inputs());
    for (const std::vector<std::string>& group : groups) {
      std::vector<std::string> fetched;
      for (const std::string& name : group) {
        if (measured.is_fed(name)) {
          add_to(histograms.at(name), feeds.at(name), wanted.at(name).useful);
        } else {
          fetched.push_back(name);
        }
      }
      if (fetched.empty()) continue;
      for (const auto& [name, array] : measured.run(feeds, fetched))
        add_to(histograms.at(name), array, wanted.at(name).useful);
    }
  }
  for (const auto& [name, histogram] : histograms) ranges[name] = chosen(histogram, wanted.at(name));
  return ranges;
}

std::string key_of(const std::string& name, const RangeRequest& request) {
  return fmt::format("{} {} {} {} {} {} {} {}", static_cast<int>(request.method), request.percentile,
                     request.codes.lowest, request.codes.highest, request.symmetric, request.useful.lowest,
                     request.useful.highest, name);
}

}  // namespace

std::map<std::string, Range> measured_ranges(const ir::Model& model, const std::map<std::string, RangeRequest>& wanted,
                                             const Samples& samples) {
  if (wanted.empty()) return {};
  Remembered* known = samples.remembered();
  if (!known) return ranges_over(model, wanted, samples);
  std::map<std::string, Range> ranges;
  std::map<std::string, RangeRequest> open;
  for (const auto& [name, request] : wanted) {
    if (const auto at = known->find(key_of(name, request)); at != known->end()) {
      ranges[name] = std::any_cast<Range>(at->second);
    } else {
      open.emplace(name, request);
    }
  }
  if (open.empty()) return ranges;
  for (const auto& [name, range] : ranges_over(model, open, samples)) {
    known->emplace(key_of(name, open.at(name)), range);
    ranges[name] = range;
  }
  return ranges;
}

std::map<std::string, PlaceStatistics> measured_places(const ir::Model& model,
                                                       const std::map<std::string, PlacesRequest>& wanted,
                                                       const Samples& samples) {
  if (wanted.empty()) return {};
  struct Outputs {
    std::string largest, mean;
  };
  MeasuredModel measured(model);
  std::map<std::string, Outputs> outputs;
  std::vector<std::string> all;
  for (const auto& [name, request] : wanted) {
    ir::Value* value = measured.value(name);
    std::vector<int64_t> others;
    for (int axis = 0; axis < request.rank; ++axis)
      if (axis != (request.axis < 0 ? request.axis + request.rank : request.axis)) others.push_back(axis);
    ir::Value* magnitude = measured.op("Abs", {value});
    const Outputs& here =
        outputs[name] = {measured.output(others.empty() ? magnitude : measured.reduce("ReduceMax", magnitude, others)),
                         measured.output(others.empty() ? value : measured.reduce("ReduceMean", value, others))};
    all.insert(all.end(), {here.largest, here.mean});
  }
  measured.start();
  std::map<std::string, PlaceStatistics> found;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays feeds = samples.read(i, measured.inputs());
    const Arrays results = measured.run(feeds, all);
    for (const auto& [name, here] : outputs) {
      const std::vector<double> largest = to_doubles(results.at(here.largest)),
                                mean = to_doubles(results.at(here.mean));
      PlaceStatistics& places = found[name];
      places.largest.resize(largest.size(), 0);
      places.mean.resize(mean.size(), 0);
      for (size_t k = 0; k < largest.size() && k < places.largest.size(); ++k) {
        if (!std::isfinite(largest[k]) || !std::isfinite(mean[k])) refuse_odd(name, i);
        places.largest[k] = std::max(places.largest[k], largest[k]);
        places.mean[k] += mean[k] / static_cast<double>(samples.size());
      }
    }
  }
  return found;
}

}  // namespace thaw::quantizing::int8
