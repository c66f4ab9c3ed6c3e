#include "thaw/quant/int8/calibration.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ir/data/floats.h"
#include "thaw/run/relax.h"
#include "thaw/run/session.h"

namespace thaw::quantizing::int8 {
namespace {

constexpr int64_t kMostFetched = int64_t{1} << 26;   // elements of the tensors that leave the runtime together
constexpr int64_t kPieceOfArray = int64_t{1} << 20;  // elements
constexpr int64_t kAxesAreOperands = 18;             // opset of ReduceMax and ReduceMean; ReduceSum's is 13

// A copy of the model with more outputs.
class Measured {
 public:
  explicit Measured(const ir::Model& model) : model_(ir::clone(model)), opset_(model.opset("").value_or(1)) {
    run::drop_declared_sizes(*model_);
    for (const ir::Value* input : model_->graph->inputs())
      if (!input->constant()) inputs_.push_back(input->name());
    zero_ = graph().add_initializer(
        ir::Tensor::from_float(graph().unique_name("calibration_zero"), {}, std::vector<float>{0}));
  }

  ir::Graph& graph() { return *model_->graph; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  bool is_fed(const std::string& name) const { return std::ranges::find(inputs_, name) != inputs_.end(); }

  ir::Value* op(const char* name, std::vector<ir::Value*> operands) {
    ir::Value* result = graph().add_value(graph().unique_name(fmt::format("{}_of_{}", name, operands[0]->name())));
    graph().add_node(name, "", std::move(operands), {result});
    return result;
  }

  ir::Value* reduce(const char* name, ir::Value* value, const std::vector<int64_t>& axes = {}) {
    const bool as_operand = opset_ >= kAxesAreOperands;
    std::vector<ir::Value*> operands{value};
    if (!axes.empty() && as_operand)
      operands.push_back(graph().add_initializer(
          ir::Tensor::from_int64(graph().unique_name("calibration_axes"), {static_cast<int64_t>(axes.size())}, axes)));
    ir::Value* result = op(name, std::move(operands));
    result->producer()->set_attribute({.name = "keepdims", .value = int64_t{0}});
    if (!axes.empty() && !as_operand) result->producer()->set_attribute({.name = "axes", .value = axes});
    return result;
  }

  std::string output(ir::Value* value) {
    if (!value->is_output()) graph().add_output(value);
    return value->name();
  }

  // A number that is 0, or no number where one of the value's is none or infinite.
  ir::Value* is_odd(ir::Value* value) { return reduce("ReduceMax", op("Abs", {op("Mul", {value, zero_})})); }

  // Its elements one after the other, of which there is one that changes nothing where it has none.
  ir::Value* never_empty(ir::Value* value) {
    if (!flat_) {
      flat_ = graph().add_initializer(
          ir::Tensor::from_int64(graph().unique_name("calibration_flat"), {1}, std::vector<int64_t>{-1}));
      zeros_ = graph().add_initializer(
          ir::Tensor::from_float(graph().unique_name("calibration_zeros"), {1}, std::vector<float>{0}));
    }
    ir::Value* joined = op("Concat", {op("Reshape", {value, flat_}), zeros_});
    joined->producer()->set_attribute({.name = "axis", .value = int64_t{0}});
    return joined;
  }

  void start() { session_.emplace(*model_, run::SessionOptions{}); }
  run::Arrays run(const run::Arrays& feeds, const std::vector<std::string>& wanted) {
    return session_->run(feeds, wanted);
  }

 private:
  std::unique_ptr<ir::Model> model_;
  int64_t opset_;
  std::vector<std::string> inputs_;
  ir::Value *zero_ = nullptr, *flat_ = nullptr, *zeros_ = nullptr;
  std::optional<run::Session> session_;
};

std::vector<double> numbers(const run::Array& array) { return run::to_doubles(array); }

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
                                      const Calibrating& data) {
  struct Outputs {
    std::string lowest, highest, odd, size;
  };
  Measured measured(model);
  std::map<std::string, Outputs> outputs;
  std::vector<std::string> all;
  for (const auto& [name, request] : wanted) {
    ir::Value* value = measured.graph().find(name);
    // 0 belongs to every range, so that one more 0 changes none.
    ir::Value* flat = measured.never_empty(value);
    const Outputs& here = outputs[name] = {
        measured.output(measured.reduce("ReduceMin", flat)), measured.output(measured.reduce("ReduceMax", flat)),
        measured.output(measured.is_odd(flat)), measured.output(measured.op("Size", {value}))};
    all.insert(all.end(), {here.lowest, here.highest, here.odd, here.size});
  }
  measured.start();
  std::map<std::string, Extent> found;
  for (size_t i = 0; i < data.samples; ++i) {
    const run::Arrays results = measured.run(data.read(i, measured.inputs()), all);
    for (const auto& [name, here] : outputs) {
      const auto number = [&](const std::string& output) { return numbers(results.at(output)).front(); };
      Extent& extent = found[name];
      const double low = number(here.lowest), high = number(here.highest);
      if (number(here.odd) != 0 || !std::isfinite(low) || !std::isfinite(high)) refuse_odd(name, i);
      extent.range.lowest = std::min(extent.range.lowest, low);
      extent.range.highest = std::max(extent.range.highest, high);
      extent.most_elements = std::max(extent.most_elements, static_cast<int64_t>(number(here.size)));
    }
  }
  return found;
}

void add_to(Histogram& histogram, const run::Array& array) {
  const int64_t count = array.num_elements();
  std::vector<float> piece;
  for (int64_t first = 0; first < count; first += kPieceOfArray) {
    piece.resize(static_cast<size_t>(std::min(kPieceOfArray, count - first)));
    ir::to_floats(array.dtype, reinterpret_cast<const std::byte*>(array.bytes.data()) + first * sizeof(float), piece);
    histogram.add(piece);
  }
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

}  // namespace

std::map<std::string, Range> measured_ranges(const ir::Model& model, const std::map<std::string, RangeRequest>& wanted,
                                             const Calibrating& data) {
  if (wanted.empty()) return {};
  const std::map<std::string, Extent> seen = extents(model, wanted, data);
  std::map<std::string, Range> ranges;
  std::map<std::string, Histogram> histograms;
  std::vector<std::vector<std::string>> groups;  // that leave the runtime together
  int64_t held = 0;
  for (const auto& [name, extent] : seen) {
    ranges[name] = extent.range;
    if (wanted.at(name).method == RangeMethod::kMinMax || !(extent.range.lowest < extent.range.highest)) continue;
    histograms.emplace(name, Histogram(extent.range));
    if (groups.empty() || held + extent.most_elements > kMostFetched) {
      groups.emplace_back();
      held = 0;
    }
    groups.back().push_back(name);
    held += extent.most_elements;
  }
  if (groups.empty()) return ranges;
  Measured measured(model);
  for (const auto& [name, histogram] : histograms)
    if (!measured.is_fed(name)) measured.output(measured.graph().find(name));
  measured.start();
  for (size_t i = 0; i < data.samples; ++i) {
    const run::Arrays feeds = data.read(i, measured.inputs());
    for (const std::vector<std::string>& group : groups) {
      std::vector<std::string> fetched;
      for (const std::string& name : group) {
        if (measured.is_fed(name)) {
          add_to(histograms.at(name), feeds.at(name));
        } else {
          fetched.push_back(name);
        }
      }
      if (fetched.empty()) continue;
      for (const auto& [name, array] : measured.run(feeds, fetched)) add_to(histograms.at(name), array);
    }
  }
  for (const auto& [name, histogram] : histograms) ranges[name] = chosen(histogram, wanted.at(name));
  return ranges;
}

std::map<std::string, PlaceStatistics> measured_places(const ir::Model& model,
                                                       const std::map<std::string, PlacesRequest>& wanted,
                                                       const Calibrating& data) {
  if (wanted.empty()) return {};
  struct Outputs {
    std::string largest, mean;
  };
  Measured measured(model);
  std::map<std::string, Outputs> outputs;
  std::vector<std::string> all;
  for (const auto& [name, request] : wanted) {
    ir::Value* value = measured.graph().find(name);
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
  for (size_t i = 0; i < data.samples; ++i) {
    const run::Arrays feeds = data.read(i, measured.inputs());
    const run::Arrays results = measured.run(feeds, all);
    for (const auto& [name, here] : outputs) {
      const std::vector<double> largest = numbers(results.at(here.largest)), mean = numbers(results.at(here.mean));
      PlaceStatistics& places = found[name];
      places.largest.resize(largest.size(), 0);
      places.mean.resize(mean.size(), 0);
      for (size_t k = 0; k < largest.size() && k < places.largest.size(); ++k) {
        if (!std::isfinite(largest[k]) || !std::isfinite(mean[k])) refuse_odd(name, i);
        places.largest[k] = std::max(places.largest[k], largest[k]);
        places.mean[k] += mean[k] / static_cast<double>(data.samples);
      }
    }
  }
  return found;
}

}  // namespace thaw::quantizing::int8
