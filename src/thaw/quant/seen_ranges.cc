#include "thaw/quant/seen_ranges.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/infer/infer.h"
#include "thaw/run/elements.h"
#include "thaw/run/relax.h"
#include "thaw/run/session.h"

namespace thaw::quantizing {
namespace {

struct Measured {
  const ir::Value* value;
  std::string lowest, highest, mean_magnitude;  // outputs
};

// An output that has all elements of the value in one.
std::string reduce(ir::Graph& graph, const char* op, ir::Value* value) {
  ir::Value* result = graph.add_value(graph.unique_name(fmt::format("{}_of_{}", op, value->name())));
  ir::Node* node = graph.add_node(op, "", {value}, {result});
  node->set_attribute({.name = "keepdims", .value = int64_t{0}});
  result->set_type(ir::Type::tensor(ir::DataType::kFloat, std::vector<ir::DeclaredDim>{}));
  graph.add_output(result);
  return result->name();
}

constexpr int64_t kFirstWhere = 9;  // opset

// A constant of the measured model.
ir::Value* scalar(ir::Graph& graph, std::string_view name, float number) {
  return graph.add_initializer(ir::Tensor::from_float(graph.unique_name(name), {}, std::vector<float>{number}));
}

// The measures' operands: what masks are filled with is no number that is computed with.
struct Unmasked {
  ir::Value *lowest = nullptr, *zero = nullptr;
  ir::Value* of(ir::Graph& graph, ir::Value* value) const {
    if (!lowest) return value;
    ir::Value* is_number = graph.add_value(graph.unique_name("is_number_of_" + value->name()));
    graph.add_node("Greater", "", {value, lowest}, {is_number});
    ir::Value* numbers = graph.add_value(graph.unique_name("numbers_of_" + value->name()));
    graph.add_node("Where", "", {is_number, value, zero}, {numbers});
    return numbers;
  }
};

// An output for each measure of the value, over all of its elements.
Measured measure(ir::Graph& graph, const ir::Value* of, ir::Value* value, const Unmasked& unmasked) {
  Measured measured{.value = of};
  value = unmasked.of(graph, value);
  ir::Value* magnitude = graph.add_value(graph.unique_name("magnitude_of_" + value->name()));
  graph.add_node("Abs", "", {value}, {magnitude});
  measured.lowest = reduce(graph, "ReduceMin", value);
  measured.highest = reduce(graph, "ReduceMax", value);
  measured.mean_magnitude = reduce(graph, "ReduceMean", magnitude);
  return measured;
}

double number(const Array& array) {
  double value = 0;
  run::decode(array.dtype, array.bytes.data(), 0, {&value, 1});
  return value;
}

}  // namespace

SeenRanges seen_ranges(const ir::Model& model, const Samples& samples) {
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  const std::unique_ptr<ir::Model> own = ir::clone(model);
  run::drop_declared_sizes(*own);
  std::vector<Measured> measured;
  std::vector<std::pair<const ir::Value*, ir::Value*>> values;
  const auto add = [&](const ir::Value* value) {
    const ops::Fact& fact = facts.fact(value);
    if (!fact.is_tensor() || fact.dtype != ir::DataType::kFloat || (value->constant() && !value->is_input())) return;
    if (ir::Value* same = own->graph->find(value->name())) values.emplace_back(value, same);
  };
  for (const ir::Value* input : model.graph->inputs()) add(input);
  for (const ir::Node* node : model.graph->nodes())
    for (const ir::Value* output : node->outputs())
      if (output) add(output);
  Unmasked unmasked;
  if (model.opset("").value_or(1) >= kFirstWhere) {
    unmasked.lowest = scalar(*own->graph, "lowest_number", static_cast<float>(-kStandsForInfinity));
    unmasked.zero = scalar(*own->graph, "no_number", 0);
  }
  for (const auto& [value, same] : values) measured.push_back(measure(*own->graph, value, same, unmasked));
  std::vector<std::string> inputs, wanted;
  for (const ir::Value* input : model.graph->inputs())
    if (!input->constant()) inputs.push_back(input->name());
  for (const Measured& each : measured) wanted.insert(wanted.end(), {each.lowest, each.highest, each.mean_magnitude});
  run::Session session(*own, {});
  SeenRanges seen;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays results = session.run(samples.read(i, inputs), wanted);
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

}  // namespace thaw::quantizing
