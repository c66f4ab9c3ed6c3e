#include "thaw/quant/seen_ranges.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/quant/samples/measured_model.h"
#include "thaw/run/elements.h"

namespace thaw::quantizing {
namespace {

constexpr int64_t kFirstWhere = 9;  // opset

struct Measured {
  const ir::Value* value;
  std::string lowest, highest, mean_magnitude;  // outputs
};

// What masks are filled with is no number that is computed with.
class Numbers {
 public:
  explicit Numbers(MeasuredModel& model) : model_(model) {
    if (model.opset() < kFirstWhere) return;
    lowest_ = model.constant("lowest_number", {}, {static_cast<float>(-kStandsForInfinity)});
    zero_ = model.constant("no_number", {}, {0});
  }

  ir::Value* of(ir::Value* value) {
    return lowest_ ? model_.op("Where", {model_.op("Greater", {value, lowest_}), value, zero_}) : value;
  }

 private:
  MeasuredModel& model_;
  ir::Value *lowest_ = nullptr, *zero_ = nullptr;
};

double number(const Array& array) {
  double value = 0;
  run::decode(array.dtype, array.bytes.data(), 0, {&value, 1});
  return value;
}

constexpr std::string_view kSeenKey = "seen ";  // before names, in what is remembered

SeenRanges remembered_ranges(const ir::Model& model, const Remembered& known) {
  SeenRanges seen;
  const auto add = [&](const ir::Value* value) {
    const auto at = known.find(std::string(kSeenKey) + value->name());
    if (at != known.end()) seen.emplace(value, std::any_cast<SeenRange>(at->second));
  };
  for (const ir::Value* input : model.graph->inputs()) add(input);
  for (const ir::Node* node : model.graph->nodes())
    for (const ir::Value* output : node->outputs())
      if (output) add(output);
  return seen;
}

SeenRanges seen_over(const ir::Model& model, const Samples& samples) {
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  MeasuredModel copy(model);
  Numbers numbers(copy);
  std::vector<Measured> measured;
  const auto add = [&](const ir::Value* value) {
    const ops::Fact& fact = facts.fact(value);
    if (!fact.is_tensor() || fact.dtype != ir::DataType::kFloat || (value->constant() && !value->is_input())) return;
    ir::Value* same = numbers.of(copy.value(value->name()));
    Measured& each = measured.emplace_back(Measured{.value = value});
    each.lowest = copy.output(copy.reduce("ReduceMin", same));
    each.highest = copy.output(copy.reduce("ReduceMax", same));
    each.mean_magnitude = copy.output(copy.reduce("ReduceMean", copy.op("Abs", {same})));
  };
  for (const ir::Value* input : model.graph->inputs()) add(input);
  for (const ir::Node* node : model.graph->nodes())
    for (const ir::Value* output : node->outputs())
      if (output) add(output);
  std::vector<std::string> wanted;
  for (const Measured& each : measured) wanted.insert(wanted.end(), {each.lowest, each.highest, each.mean_magnitude});
  copy.start();
  SeenRanges seen;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays results = copy.run(samples.read(i, copy.inputs()), wanted);
    for (const Measured& each : measured) {
      const double lowest = number(results.at(each.lowest)), highest = number(results.at(each.highest));
      const double mean = number(results.at(each.mean_magnitude));
      if (!(lowest <= highest)) continue;  // of no elements, or a NaN
      SeenRange& range = seen.try_emplace(each.value, SeenRange{lowest, highest, 0}).first->second;
      range.lowest = std::min(range.lowest, lowest);
      range.highest = std::max(range.highest, highest);
      range.mean_magnitude = std::max(range.mean_magnitude, mean);
    }
  }
  return seen;
}

}  // namespace

SeenRanges seen_ranges(const ir::Model& model, const Samples& samples) {
  Remembered* known = samples.remembered();
  if (known && known->contains(std::string(kSeenKey))) return remembered_ranges(model, *known);
  SeenRanges seen = seen_over(model, samples);
  if (known) {
    known->emplace(kSeenKey, std::any());
    for (const auto& [value, range] : seen) known->emplace(std::string(kSeenKey) + value->name(), range);
  }
  return seen;
}

}  // namespace thaw::quantizing
