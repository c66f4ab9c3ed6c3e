// What merging a LoRA adapter into a weight costs on its way into a model: W + scale * B A, transposed or not.
//
// The layer is Phi-4-multimodal's largest, the decoder's gate_up_proj [16384, 3072] with the vision adapter's rank 256,
// all in bfloat16 as on the model hub, written as float32. `flops` counts the product's multiplications and additions.
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <benchmark/benchmark.h>

#include "thaw/ir/data/tensor_source.h"
#include "thaw/model/weight.h"

namespace {

using thaw::ir::DataType;
using thaw::ir::Tensor;
using thaw::model::Weight;

constexpr int64_t kOut = 16384, kIn = 3072, kRank = 256;

// Random numbers between -1 and 1.
Tensor random_tensor(std::vector<int64_t> dims, uint32_t seed) {
  int64_t elements = 1;
  for (const int64_t dim : dims) elements *= dim;
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(static_cast<size_t>(elements) * 2);
  for (size_t i = 0; i < bytes.size(); i += 2) {
    const auto value = static_cast<uint16_t>((random() & 0x807fU) | 0x3f00U);
    std::memcpy(&bytes[i], &value, 2);
  }
  return Tensor::from_bytes("random", DataType::kBfloat16, std::move(dims), std::move(bytes));
}

void write(benchmark::State& state, const Weight& weight) {
  size_t written = 0;
  for (auto _ : state) {
    const Tensor tensor = weight.tensor("weight", DataType::kFloat);
    tensor.source()->write([&](std::span<const std::byte> bytes) { written += bytes.size(); });
  }
  benchmark::DoNotOptimize(written);
}

void count_flops(benchmark::State& state) {
  state.counters["flops"] = benchmark::Counter(2.0 * kOut * kIn * kRank, benchmark::Counter::kIsIterationInvariantRate);
}

Weight merged() {
  return Weight::of(random_tensor({kOut, kIn}, 1))
      .plus_low_rank(random_tensor({kRank, kIn}, 2), random_tensor({kOut, kRank}, 3), 2.0);
}

void plain_transposed(benchmark::State& state) { write(state, Weight::of(random_tensor({kOut, kIn}, 1)).transposed()); }

void merged_rows(benchmark::State& state) {
  write(state, merged());
  count_flops(state);
}

void merged_transposed(benchmark::State& state) {
  write(state, merged().transposed());
  count_flops(state);
}

BENCHMARK(plain_transposed)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(merged_rows)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(merged_transposed)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
