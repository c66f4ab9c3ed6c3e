#include "thaw/quant/int8/calibration.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/quant/samples/measured_model.h"
#include "thaw/rewrite/sites.h"

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
    ir::Value* concatenated = model_.op("Concat", {model_.op("Reshape", {value, flat_}), zeros_});
    concatenated->producer()->set_attribute({.name = "axis", .value = int64_t{0}});
    return concatenated;
  }

 private:
  MeasuredModel& model_;
  ir::Value *zero_ = nullptr, *flat_ = nullptr, *zeros_ = nullptr;
};

// The one that is fed, or made before the others.
const std::string& first_of(const std::set<ValueLocation>& locations, const ir::Model& model) {
  const std::vector<ir::Graph*> graphs = rewrite::all_graphs(*model.graph);
  const size_t number = locations.begin()->graph;
  const auto is_odd = [&](const ir::Value* value) { return value && locations.contains({number, value->name()}); };
  for (const ir::Value* input : graphs[number]->inputs())
    if (is_odd(input)) return input->name();
  for (const ir::Node* node : graphs[number]->nodes())
    for (const ir::Value* output : node->outputs())
      if (is_odd(output)) return output->name();
  return locations.begin()->name;
}

[[noreturn]] void refuse_odd(const std::string& name, size_t sample) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("'{}' has a NaN or an infinity on sample {}", name, sample),
               .where = "calibration",
               .expected = "samples on which every tensor that is quantized is finite",
               .next = "--keep leaves its readers and its producer unchanged"});
}

// What one pass over the samples tells of a tensor.
struct Extent {
  Range range;
  int64_t most_elements = 0;  // of any sample
};

std::map<ValueLocation, Extent> extents(const ir::Model& model, const std::map<ValueLocation, RangeRequest>& wanted,
                                        const Samples& samples) {
  MeasuredModel measured(model);
  RangeNodes nodes(measured);
  std::vector<InnerValue> numbers;  // four of each
  for (const auto& [location, request] : wanted) {
    ir::Value* value = measured.value(location);
    // 0 belongs to every range, so that one more 0 changes none.
    ir::Value* flat = nodes.never_empty(value);
    ir::Value* count = measured.op("Size", {value});
    ir::Value* size = measured.op("Cast", {count});
    size->producer()->set_attribute({.name = "to", .value = static_cast<int64_t>(ir::DataType::kFloat)});
    numbers.push_back({measured.reduce("ReduceMin", flat), OfRuns::kLeast});
    numbers.push_back({measured.reduce("ReduceMax", flat), OfRuns::kMost});
    numbers.push_back({nodes.is_odd(flat), OfRuns::kSum});
    numbers.push_back({size, OfRuns::kMost});
  }
  std::vector<std::string> outputs;
  for (ir::Value* number : brought_out(measured, numbers)) outputs.push_back(measured.output(number));
  measured.start();
  std::map<ValueLocation, Extent> found;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays results = measured.run(samples.read(i, measured.inputs()), outputs);
    std::set<ValueLocation> odd;
    const std::string* output = outputs.data();
    const auto next = [&] { return to_doubles(results.at(*output++)).front(); };
    for (const auto& [location, request] : wanted) {
      Extent& extent = found[location];
      const double low = next(), high = next(), none = next(), size = next();
      if (none != 0 || !std::isfinite(low) || !std::isfinite(high)) odd.insert(location);
      extent.range.lowest = std::min(extent.range.lowest, low);
      extent.range.highest = std::max(extent.range.highest, high);
      extent.most_elements = std::max(extent.most_elements, static_cast<int64_t>(size));
    }
    if (!odd.empty()) refuse_odd(first_of(odd, model), i);
  }
  return found;
}

// What does not count is left out: it would stand as a peak at the limit, and every method makes room for peaks.
void add_to(Histogram& histogram, const Array& array, const Range& useful) {
  std::vector<float> counted;
  for_rows(array, 1, [&](std::span<const float> chunk) {
    if (std::isinf(useful.lowest) && std::isinf(useful.highest)) return histogram.add(chunk);
    counted.clear();
    std::ranges::copy_if(chunk, std::back_inserter(counted),
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

// What histograms are made of: a tensor leaves the runtime as it is, or, of a graph inside, as a vector.
std::map<ValueLocation, std::string> whole_tensors(MeasuredModel& measured,
                                                   const std::vector<ValueLocation>& locations) {
  std::vector<InnerValue> values;
  ir::Value* flat = measured.constant("histogram_flat", {-1});
  for (const ValueLocation& location : locations) {
    ir::Value* value = measured.value(location);
    values.push_back({location.graph == 0 ? value : measured.op("Reshape", {value, flat})});
  }
  const std::vector<ir::Value*> outside = brought_out(measured, values);
  std::map<ValueLocation, std::string> outputs;
  for (size_t i = 0; i < locations.size(); ++i) outputs[locations[i]] = measured.output(outside[i]);
  return outputs;
}

std::map<ValueLocation, Range> ranges_over(const ir::Model& model, const std::map<ValueLocation, RangeRequest>& wanted,
                                           const Samples& samples) {
  const std::map<ValueLocation, Extent> seen = extents(model, wanted, samples);
  MeasuredModel measured(model);
  std::map<ValueLocation, Range> ranges;
  std::map<ValueLocation, Histogram> histograms;
  std::vector<ValueLocation> computed;
  std::vector<std::vector<ValueLocation>> groups;  // that leave the runtime together
  int64_t held = 0;
  for (const auto& [location, extent] : seen) {
    const RangeRequest& request = wanted.at(location);
    const Range range{std::clamp(extent.range.lowest, request.useful.lowest, request.useful.highest),
                      std::clamp(extent.range.highest, request.useful.lowest, request.useful.highest)};
    ranges[location] = range;
    if (request.method == RangeMethod::kMinMax || !(range.lowest < range.highest)) continue;
    if (may_run_often(measured.graph(location.graph))) continue;
    histograms.emplace(location, Histogram(range));
    if (groups.empty() || held + extent.most_elements > kMostFetched) {
      groups.emplace_back();
      held = 0;
    }
    groups.back().push_back(location);
    held += extent.most_elements;
    if (location.graph != 0 || !measured.is_fed(location.name)) computed.push_back(location);
  }
  if (groups.empty()) return ranges;
  const std::map<ValueLocation, std::string> outputs = whole_tensors(measured, computed);
  measured.start();
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays feeds = samples.read(i, measured.inputs());
    for (const std::vector<ValueLocation>& group : groups) {
      std::vector<std::string> fetched;
      for (const ValueLocation& location : group)
        if (const auto at = outputs.find(location); at != outputs.end()) fetched.push_back(at->second);
      const Arrays results = fetched.empty() ? Arrays() : measured.run(feeds, fetched);
      for (const ValueLocation& location : group) {
        const auto at = outputs.find(location);
        add_to(histograms.at(location), at == outputs.end() ? feeds.at(location.name) : results.at(at->second),
               wanted.at(location).useful);
      }
    }
  }
  for (const auto& [location, histogram] : histograms) ranges[location] = chosen(histogram, wanted.at(location));
  return ranges;
}

std::string key_of(const ValueLocation& location, const RangeRequest& request) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(request.method), request.percentile,
                     request.codes.lowest, request.codes.highest, request.symmetric, request.useful.lowest,
                     request.useful.highest, location.graph, location.name);
}

}  // namespace

std::map<ValueLocation, Range> measured_ranges(const ir::Model& model,
                                               const std::map<ValueLocation, RangeRequest>& wanted,
                                               const Samples& samples) {
  if (wanted.empty()) return {};
  Remembered* known = samples.remembered();
  if (!known) return ranges_over(model, wanted, samples);
  std::map<ValueLocation, Range> ranges;
  std::map<ValueLocation, RangeRequest> open;
  for (const auto& [location, request] : wanted) {
    if (const auto at = known->find(key_of(location, request)); at != known->end()) {
      ranges[location] = std::any_cast<Range>(at->second);
    } else {
      open.emplace(location, request);
    }
  }
  if (open.empty()) return ranges;
  for (const auto& [location, range] : ranges_over(model, open, samples)) {
    known->emplace(key_of(location, open.at(location)), range);
    ranges[location] = range;
  }
  return ranges;
}

std::set<const ir::Graph*> graphs_that_run(const ir::Model& model, const std::set<const ir::Graph*>& graphs,
                                           const Samples& samples) {
  if (graphs.empty()) return {};
  const ValueLocations locations(model);
  Remembered* known = samples.remembered();
  const auto key = [&](const ir::Graph* graph) { return fmt::format("{} runs", locations.number_of(*graph)); };
  std::set<const ir::Graph*> found;
  std::vector<const ir::Graph*> open;
  // any order: they are sorted below
  for (const ir::Graph* graph : graphs) {
    if (!can_be_measured(*graph)) continue;
    const auto at = known ? known->find(key(graph)) : Remembered::iterator();
    if (!known || at == known->end())
      open.push_back(graph);
    else if (std::any_cast<bool>(at->second))
      found.insert(graph);
  }
  if (open.empty()) return found;
  std::ranges::sort(open, {}, [&](const ir::Graph* graph) { return locations.number_of(*graph); });
  MeasuredModel measured(model);
  ir::Value* one = measured.constant("runs", {}, {1});
  std::vector<InnerValue> signs;
  for (const ir::Graph* graph : open)
    signs.push_back({MeasuredModel::same(one, measured.graph(locations.number_of(*graph))), OfRuns::kMost});
  std::vector<std::string> outputs;
  for (ir::Value* sign : brought_out(measured, signs)) outputs.push_back(measured.output(sign));
  measured.start();
  size_t left = open.size();
  for (size_t i = 0; i < samples.size() && left > 0; ++i) {
    const Arrays results = measured.run(samples.read(i, measured.inputs()), outputs);
    for (size_t k = 0; k < open.size(); ++k)
      if (to_doubles(results.at(outputs[k])).front() != 0 && found.insert(open[k]).second) --left;
  }
  if (known)
    for (const ir::Graph* graph : open) known->emplace(key(graph), found.contains(graph));
  return found;
}

std::map<std::string, PositionStatistics> measured_positions(const ir::Model& model,
                                                             const std::map<std::string, PositionsRequest>& wanted,
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
  std::map<std::string, PositionStatistics> found;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays feeds = samples.read(i, measured.inputs());
    const Arrays results = measured.run(feeds, all);
    for (const auto& [name, here] : outputs) {
      const std::vector<double> largest = to_doubles(results.at(here.largest)),
                                mean = to_doubles(results.at(here.mean));
      PositionStatistics& positions = found[name];
      positions.largest.resize(largest.size(), 0);
      positions.mean.resize(mean.size(), 0);
      for (size_t k = 0; k < largest.size() && k < positions.largest.size(); ++k) {
        if (!std::isfinite(largest[k]) || !std::isfinite(mean[k])) refuse_odd(name, i);
        positions.largest[k] = std::max(positions.largest[k], largest[k]);
        positions.mean[k] += mean[k] / static_cast<double>(samples.size());
      }
    }
  }
  return found;
}

}  // namespace thaw::quantizing::int8
