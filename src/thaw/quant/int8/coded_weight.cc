#include "thaw/quant/int8/coded_weight.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "thaw/core/cancel.h"
#include "thaw/core/error.h"
#include "thaw/ir/data/floats.h"
#include "thaw/ir/data/tensor_chunks.h"

namespace thaw::quantizing::int8 {
namespace {

constexpr size_t kChunkOfWeight = size_t{1} << 20;  // numbers, to the file
constexpr size_t kGrain = size_t{1} << 15;          // numbers, to a processor

using Floats = std::span<const float>;

[[noreturn]] void refuse_weight(const ir::Tensor& weight) {
  throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("weight '{}' has a NaN or an infinity", weight.name),
                                        .where = "its scales",
                                        .expected = "finite weights",
                                        .next = "--keep leaves its reader unchanged"});
}

// Runs of one channel: each(channel, first, count). Divides once: a run may be one number.
template <typename Each>
void for_runs(const Channels& channels, int64_t first, size_t count, Each each) {
  auto channel = static_cast<size_t>(channels.of(first));
  size_t left = static_cast<size_t>(channels.inner - first % channels.inner);
  for (size_t at = 0; at < count;) {
    const size_t size = std::min(count - at, left);
    each(channel, at, size);
    at += size;
    left = static_cast<size_t>(channels.inner);
    if (++channel == static_cast<size_t>(channels.count)) channel = 0;
  }
}

class CodedSource final : public ir::TensorSource {
 public:
  CodedSource(ir::Tensor weight, WeightScales scales) : weight_(std::move(weight)), scales_(std::move(scales)) {}

  void write(const Sink& sink) const override {
    std::vector<std::byte> codes;
    for_chunks(weight_, [&](int64_t first, Floats weights) {
      codes.resize(weights.size());
      tbb::parallel_for(size_t{0}, (weights.size() + kGrain - 1) / kGrain, [&](size_t chunk) {
        throw_if_cancelled();
        const size_t at = chunk * kGrain, size = std::min(kGrain, weights.size() - at);
        encode(first + static_cast<int64_t>(at), weights.subspan(at, size), codes.data() + at);
      });
      sink(codes);
    });
  }

 private:
  void encode(int64_t first, Floats weights, std::byte* codes) const {
    for_runs(scales_.channels, first, weights.size(), [&](size_t channel, size_t at, size_t size) {
      const Affine& affine = scales_.affine[channel];
      for (size_t i = at; i < at + size; ++i)
        codes[i] = static_cast<std::byte>(code_of(weights[i], affine, scales_.codes));
    });
  }

  ir::Tensor weight_;
  WeightScales scales_;
};

}  // namespace

Channels::Channels(const std::vector<int64_t>& dims, int along) : axis(along) {
  for (size_t k = 0; k < dims.size(); ++k) {
    if (along >= 0 && k == static_cast<size_t>(along)) count = dims[k];
    if (along < 0 || k > static_cast<size_t>(along)) inner *= dims[k];
  }
}

void for_chunks(const ir::Tensor& weight, const std::function<void(int64_t first, Floats)>& each) {
  std::vector<float> numbers;
  int64_t first = 0;
  const auto pass = [&](std::span<const std::byte> bytes) {
    numbers.resize(bytes.size() * 8 / static_cast<size_t>(ir::bits_of(weight.data_type)));
    ir::to_floats(weight.data_type, bytes.data(), numbers);
    each(first, numbers);
    first += static_cast<int64_t>(numbers.size());
  };
  ir::for_chunks(weight, kChunkOfWeight * sizeof(float), pass);
}

WeightScales weight_scales(const ir::Tensor& weight, int axis, const Codes& codes, bool symmetric,
                           const std::vector<double>& least) {
  WeightScales found{codes, Channels(weight.dims, axis), {}};
  std::vector<Range> ranges(static_cast<size_t>(found.channels.count));
  bool is_finite = true;
  for_chunks(weight, [&](int64_t first, Floats weights) {
    for_runs(found.channels, first, weights.size(), [&](size_t channel, size_t at, size_t size) {
      Range& range = ranges[channel];
      float low = 0, high = 0, odd = 0;
      for (size_t i = at; i < at + size; ++i) {
        low = std::min(low, weights[i]);
        high = std::max(high, weights[i]);
        odd += weights[i] * 0;
      }
      is_finite = is_finite && odd == 0;
      range.lowest = std::min(range.lowest, static_cast<double>(low));
      range.highest = std::max(range.highest, static_cast<double>(high));
    });
  });
  if (!is_finite) refuse_weight(weight);
  for (size_t channel = 0; channel < ranges.size(); ++channel) {
    Affine affine = affine_of(ranges[channel], codes, symmetric);
    const double lowest_scale = channel < least.size() ? least[channel] : 0;
    const bool is_zero = ranges[channel].lowest == 0 && ranges[channel].highest == 0;
    if (lowest_scale > 0 && (is_zero || affine.scale < lowest_scale)) {
      // A coarser scale: what it spans holds the range still, and 0 keeps its code.
      affine.scale = static_cast<float>(std::min(lowest_scale, 1e30));
    }
    found.affine.push_back(affine);
  }
  return found;
}

ir::Tensor coded(const ir::Tensor& weight, std::string name, WeightScales scales) {
  const ir::DataType type = scales.codes.type;
  return ir::Tensor::made(std::move(name), type, weight.dims, std::make_shared<CodedSource>(weight, std::move(scales)));
}

namespace {

std::vector<int64_t> scale_dims(const WeightScales& scales) {
  return scales.channels.axis < 0 ? std::vector<int64_t>{} : std::vector<int64_t>{scales.channels.count};
}

}  // namespace

ir::Tensor scale_tensor(const WeightScales& scales, std::string name) {
  std::vector<float> numbers;
  for (const Affine& affine : scales.affine) numbers.push_back(affine.scale);
  return ir::Tensor::from_float(std::move(name), scale_dims(scales), numbers);
}

ir::Tensor zero_point_tensor(const WeightScales& scales, std::string name) {
  std::vector<std::byte> zeros;
  for (const Affine& affine : scales.affine) zeros.push_back(static_cast<std::byte>(affine.zero));
  return ir::Tensor::from_bytes(std::move(name), scales.codes.type, scale_dims(scales), std::move(zeros));
}

}  // namespace thaw::quantizing::int8
