#include "thaw/quant/samples/measured_model.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/memory.h"
#include "thaw/ir/data/floats.h"
#include "thaw/optimize/optimize.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/rewrite/sites.h"
#include "thaw/run/elements.h"
#include "thaw/run/relax.h"

namespace thaw::quantizing {
namespace {

constexpr int64_t kAxesAreOperands = 18;             // opset of ReduceMax and ReduceMean; ReduceSum's is 13
constexpr int64_t kChunkOfArray = int64_t{1} << 20;  // elements

}  // namespace

SessionOptions session_options(const ir::Model& measured, int threads) {
  const auto memory = memory_to_take();
  const uint64_t weights = optimizing::weigh(*measured.graph).bytes;
  return {.threads = threads, .copied_weights = !memory || weights <= *memory / 2, .spinning = false};
}

MeasuredModel::MeasuredModel(const ir::Model& model)
    : model_(ir::clone(model)),
      graphs_(rewrite::all_graphs(*model_->graph)),
      positions_(*model_),
      opset_(model.opset("").value_or(1)),
      inputs_(inputs_to_feed(model)) {
  run::drop_declared_sizes(*model_);
}

bool MeasuredModel::is_fed(const std::string& name) const { return std::ranges::find(inputs_, name) != inputs_.end(); }

ir::Value* MeasuredModel::constant(std::string_view name, std::vector<int64_t> dims,
                                   const std::vector<float>& numbers) {
  ir::Graph& graph = *model_->graph;
  return graph.add_initializer(ir::Tensor::from_float(graph.unique_name(name), std::move(dims), numbers));
}

ir::Value* MeasuredModel::constant(std::string_view name, const std::vector<int64_t>& numbers) {
  ir::Graph& graph = *model_->graph;
  return graph.add_initializer(
      ir::Tensor::from_int64(graph.unique_name(name), {static_cast<int64_t>(numbers.size())}, numbers));
}

ir::Value* MeasuredModel::op(const char* name, std::vector<ir::Value*> operands) {
  ir::Graph& graph = *operands[0]->graph();
  ir::Value* result = graph.add_value(graph.unique_name(fmt::format("{}_of_{}", name, operands[0]->name())));
  graph.add_node(name, "", std::move(operands), {result});
  return result;
}

ir::Value* MeasuredModel::same(ir::Value* value, ir::Graph& inner) {
  ir::Value* result = inner.add_value(inner.unique_name(fmt::format("same_as_{}", value->name())));
  inner.add_node("Identity", "", {value}, {result});
  return result;
}

ir::Value* MeasuredModel::rows(ir::Value* value) {
  ir::Value* result = op("Flatten", {value});
  result->producer()->set_attribute({.name = "axis", .value = int64_t{-1}});
  return result;
}

ir::Value* MeasuredModel::reduce(const char* name, ir::Value* value, const std::vector<int64_t>& axes) {
  const bool as_operand = opset_ >= kAxesAreOperands;
  std::vector<ir::Value*> operands{value};
  if (!axes.empty() && as_operand) operands.push_back(constant("measured_axes", axes));
  ir::Value* result = op(name, std::move(operands));
  result->producer()->set_attribute({.name = "keepdims", .value = int64_t{0}});
  if (!axes.empty() && !as_operand) result->producer()->set_attribute({.name = "axes", .value = axes});
  return result;
}

std::string MeasuredModel::output(ir::Value* value) {
  if (!value->is_output()) model_->graph->add_output(value);
  return value->name();
}

void MeasuredModel::start() { session_.emplace(*model_, session_options(*model_)); }

void for_rows(const Array& array, int64_t width, const std::function<void(std::span<const float>)>& each) {
  const int64_t step = std::max<int64_t>(1, kChunkOfArray / width) * width, count = array.num_elements();
  const auto bytes = static_cast<size_t>(ir::bits_of(array.dtype)) / 8;
  if (array.dtype == DataType::kFloat) {  // as they lie
    const std::span all(reinterpret_cast<const float*>(array.bytes.data()), static_cast<size_t>(count));
    for (int64_t first = 0; first < count; first += step)
      each(all.subspan(static_cast<size_t>(first), static_cast<size_t>(std::min(step, count - first))));
    return;
  }
  std::vector<double> numbers;
  std::vector<float> chunk;
  for (int64_t first = 0; first < count; first += step) {
    chunk.resize(static_cast<size_t>(std::min(step, count - first)));
    if (array.dtype == DataType::kFloat16 || array.dtype == DataType::kBfloat16) {
      ir::to_floats(array.dtype, array.bytes.data() + static_cast<size_t>(first) * bytes, chunk);
    } else {
      numbers.resize(chunk.size());
      run::decode(array.dtype, array.bytes.data(), first, numbers);
      std::ranges::copy(numbers, chunk.begin());
    }
    each(chunk);
  }
}

}  // namespace thaw::quantizing
