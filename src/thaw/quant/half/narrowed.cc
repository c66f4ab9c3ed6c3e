#include "thaw/quant/half/narrowed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include <tbb/parallel_for.h>

#include "thaw/core/cancel.h"
#include "thaw/ir/data/floats.h"
#include "thaw/ir/data/tensor_chunks.h"

namespace thaw::quantizing {
namespace {

constexpr size_t kNarrowedAtOnce = size_t{1} << 16;   // elements, to a processor
constexpr size_t kChunkOfNarrowed = size_t{1} << 20;  // elements, to the file
constexpr size_t kSmallWeight = size_t{1} << 12;      // bytes
constexpr size_t kNarrow = 2;                         // bytes

void narrow(std::span<const std::byte> from, ir::DataType to, Saturation limits, std::byte* bytes) {
  const size_t count = from.size() / sizeof(float);
  tbb::parallel_for(size_t{0}, (count + kNarrowedAtOnce - 1) / kNarrowedAtOnce, [&](size_t chunk) {
    throw_if_cancelled();
    std::vector<float> values(std::min(kNarrowedAtOnce, count - chunk * kNarrowedAtOnce));
    std::memcpy(values.data(), from.data() + chunk * kNarrowedAtOnce * sizeof(float), values.size() * sizeof(float));
    std::byte* at = bytes + chunk * kNarrowedAtOnce * kNarrow;
    if (ir::from_floats(values, to, at)) return;
    const auto lowest = static_cast<float>(limits.lowest), highest = static_cast<float>(limits.highest);
    for (float& value : values)
      if (std::isfinite(value)) value = std::clamp(value, lowest, highest);
    ir::from_floats(values, to, at);
  });
}

class NarrowedSource final : public ir::TensorSource {
 public:
  NarrowedSource(ir::Tensor from, ir::DataType to, Saturation limits)
      : from_(std::move(from)), to_(to), limits_(limits) {}

  void write(const Sink& sink) const override {
    std::vector<std::byte> made;
    const auto pass = [&](std::span<const std::byte> bytes) {
      made.resize(bytes.size() / sizeof(float) * kNarrow);
      narrow(bytes, to_, limits_, made.data());
      sink(made);
    };
    ir::for_chunks(from_, kChunkOfNarrowed * sizeof(float), pass);
  }

 private:
  ir::Tensor from_;
  ir::DataType to_;
  Saturation limits_;
};

}  // namespace

ir::Tensor narrowed(const ir::Tensor& tensor, std::string name, ir::DataType to, Saturation limits) {
  if (tensor.num_bytes() > kSmallWeight || tensor.storage() == ir::Tensor::Storage::kMade)
    return ir::Tensor::made(std::move(name), to, tensor.dims, std::make_shared<NarrowedSource>(tensor, to, limits));
  std::vector<std::byte> bytes(tensor.num_bytes() / sizeof(float) * kNarrow);
  narrow(tensor.bytes(), to, limits, bytes.data());
  return ir::Tensor::from_bytes(std::move(name), to, tensor.dims, std::move(bytes));
}

}  // namespace thaw::quantizing
