#include "thaw/confirm/layers.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thaw/confirm/measured_error.h"
#include "thaw/core/error.h"
#include "thaw/infer/infer.h"
#include "thaw/quant/samples/measured_model.h"

namespace thaw::confirm {
namespace {

constexpr uint64_t kMostBytesOfLayers = uint64_t{512} << 20;

bool is_weight(const ir::Value* value) {
  const ir::Tensor* tensor = value == nullptr ? nullptr : value->constant();
  return tensor != nullptr && ir::is_floating(tensor->data_type) &&
         std::ranges::count_if(tensor->dims, [](int64_t dim) { return dim > 1; }) > 1;
}

struct Layer {
  const ir::Node* node = nullptr;
  std::string output;
  uint64_t bytes = 0;  // of its output
};

std::unique_ptr<ir::Model> at_sizes_of(const ir::Model& model, const Arrays& feeds) {
  std::unique_ptr<ir::Model> same = ir::clone(model);
  for (ir::Value* input : same->graph->inputs()) {
    const auto fed = feeds.find(input->name());
    if (fed == feeds.end()) continue;
    ir::Type type = input->type;
    type.shape.emplace();
    for (const int64_t dim : fed->second.dims) type.shape->push_back({.value = dim});
    input->set_type(std::move(type));
  }
  return same;
}

std::vector<Layer> find_layers(const ir::Model& original, const ir::Model& converted, const Arrays& feeds) {
  const std::unique_ptr<ir::Model> sized = at_sizes_of(original, feeds);
  dim::Scope scope;
  const infer::Result facts = infer::infer(*sized, scope);
  std::vector<Layer> layers;
  for (const ir::Node* node : original.graph->nodes()) {
    if (!std::ranges::any_of(node->inputs(), is_weight)) continue;
    for (const ir::Value* output : node->outputs()) {
      if (output == nullptr) continue;
      const ir::Value* result = converted.graph->find(output->name());
      const ops::Fact& fact = facts.fact(sized->graph->find(output->name()));
      if (result == nullptr || result->producer() == nullptr || !fact.is_tensor() || !ir::is_floating(fact.dtype) ||
          !fact.shape)
        continue;
      const std::optional<int64_t> count = fact.num_elements().constant();
      if (!count) continue;  // sized by data
      layers.push_back(
          {node, output->name(), static_cast<uint64_t>(*count) * static_cast<uint64_t>(ir::bits_of(fact.dtype)) / 8});
    }
  }
  return layers;
}

// Evenly, so that what is kept still shows where the accuracy goes.
std::vector<Layer> within_memory(const std::vector<Layer>& layers) {
  uint64_t bytes = 0;
  for (const Layer& layer : layers) bytes += layer.bytes;
  const uint64_t step = bytes / kMostBytesOfLayers + 1;
  std::vector<Layer> kept;
  bytes = 0;
  for (size_t i = layers.size() % step; i < layers.size(); i += step) {
    if (bytes + layers[i].bytes > kMostBytesOfLayers) continue;
    bytes += layers[i].bytes;
    kept.push_back(layers[i]);
  }
  return kept;
}

Arrays run_with_layers(const ir::Model& model, const Arrays& feeds, const std::vector<Layer>& layers) {
  quantizing::MeasuredModel measured(model);
  std::vector<std::string> wanted;
  for (const Layer& layer : layers) wanted.push_back(measured.output(measured.value(layer.output)));
  measured.start();
  Arrays fed;
  for (const auto& [name, array] : feeds)
    if (measured.is_fed(name)) fed.emplace(name, array);
  return measured.run(fed, wanted);
}

}  // namespace

LayerComparisons compare_layers(const ir::Model& original, const ir::Model& converted, const FirstRun& run) {
  LayerComparisons compared{.dataset = run.from, .name = run.name, .layers = {}};
  const std::vector<Layer> all = find_layers(original, converted, run.feeds), layers = within_memory(all);
  compared.not_measured = all.size() - layers.size();
  if (layers.empty()) return compared;
  Arrays wanted, got;
  try {
    wanted = run_with_layers(original, run.feeds, layers);
    got = run_with_layers(converted, run.fed, layers);
  } catch (const Error& error) {
    // With more outputs the runtime may refuse what it runs, or run out of time. The models' own outputs decide.
    if (error.code() != ErrorCode::kRuntimeFailed && error.code() != ErrorCode::kOutOfBudget) throw;
    return compared;
  }
  for (const Layer& layer : layers) {
    const Array &x = wanted.at(layer.output), &y = got.at(layer.output);
    if (x.dims != y.dims) continue;
    MeasuredError measured = measure_error(x, y);
    if (measured.compared == 0 && measured.error.not_finite == 0) continue;
    measured.error.dataset = run.from;
    measured.error.name = run.name;
    measured.error.output = layer.output;
    compared.layers.push_back(
        {layer.node->name.empty() ? layer.output : layer.node->name, layer.node->op_type(), std::move(measured.error)});
  }
  return compared;
}

}  // namespace thaw::confirm
