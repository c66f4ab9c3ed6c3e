// What loading a model and inferring its sizes cost in the library, apart from the process around it.
//
// THAW_BENCH_MODEL names the model. Each figure carries `us_per_node`: processor time over the main graph's nodes.
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include <benchmark/benchmark.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace {

const char* model_path() {
  const char* path = std::getenv("THAW_BENCH_MODEL");
  if (path == nullptr) throw std::runtime_error("THAW_BENCH_MODEL is not set: it names the model to measure with");
  return path;
}

void set_per_node(benchmark::State& state, size_t nodes) {
  // An inverted rate is seconds an item; 1e-6 of the items make it microseconds.
  using benchmark::Counter;
  state.counters["us_per_node"] =
      Counter(static_cast<double>(nodes) * 1e-6, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void load(benchmark::State& state) {
  size_t nodes = 0;
  for (auto _ : state) {
    std::unique_ptr<thaw::ir::Model> model = thaw::ir::load(model_path());
    nodes = model->graph->nodes().size();
    benchmark::DoNotOptimize(model);
  }
  set_per_node(state, nodes);
}

void infer(benchmark::State& state) {
  std::unique_ptr<thaw::ir::Model> model = thaw::ir::load(model_path());
  for (auto _ : state) {
    thaw::dim::Scope scope;
    thaw::infer::Result result = thaw::infer::infer(*model, scope);
    benchmark::DoNotOptimize(result);
  }
  set_per_node(state, model->graph->nodes().size());
}

BENCHMARK(load)->Unit(benchmark::kMillisecond);
BENCHMARK(infer)->Unit(benchmark::kMillisecond);

}  // namespace
