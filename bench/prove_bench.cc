// What a proof costs that two models compute the same, apart from the process around it and from all runs.
//
// THAW_BENCH_MODEL and THAW_BENCH_REFERENCE name the models. `us_per_node` is processor time over the reference's nodes.
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include <benchmark/benchmark.h>

#include "thaw/ir/graph/model.h"
#include "thaw/prove/prove.h"

namespace {

std::unique_ptr<thaw::ir::Model> load(const char* variable) {
  const char* path = std::getenv(variable);
  if (path == nullptr) throw std::runtime_error("a model to measure with is not named: THAW_BENCH_MODEL, …_REFERENCE");
  return thaw::ir::load(path);
}

void prove(benchmark::State& state) {
  const auto model = load("THAW_BENCH_MODEL"), reference = load("THAW_BENCH_REFERENCE");
  size_t proven = 0;
  for (auto _ : state) {
    proven = 0;
    for (const auto& output : thaw::proving::compare(*model, *reference).outputs) proven += output.is_proven ? 1 : 0;
  }
  // An inverted rate is seconds an item; 1e-6 of the items make it microseconds.
  using benchmark::Counter;
  state.counters["us_per_node"] = Counter(static_cast<double>(reference->graph->nodes().size()) * 1e-6,
                                          Counter::kIsIterationInvariantRate | Counter::kInvert);
  state.counters["proven"] = static_cast<double>(proven);
}

BENCHMARK(prove)->Unit(benchmark::kMillisecond);

}  // namespace
