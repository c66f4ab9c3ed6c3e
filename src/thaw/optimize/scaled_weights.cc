#include "thaw/optimize/scaled_weights.h"

#include <algorithm>
#include <utility>

#include "thaw/ir/data/floats.h"
#include "thaw/ir/data/tensor_source.h"

namespace thaw::optimizing {
namespace {

class ScaledWeight final : public ir::TensorSource {
 public:
  // The bytes are found at once: a source must not ask another tensor for them while it writes.
  ScaledWeight(ir::Tensor weight, ChannelLayout layout, std::vector<std::vector<float>> scales)
      : weight_(std::move(weight)), bytes_(weight_.bytes()), layout_(layout), scales_(std::move(scales)) {}

  const ir::Tensor& weight() const { return weight_; }
  const std::vector<std::vector<float>>& scales() const { return scales_; }

  void write(const Sink& sink) const override {
    const bool by_group = layout_.axis == ChannelLayout::kSecondOfGroup, by_last = layout_.axis == ChannelLayout::kLast;
    const size_t rows = static_cast<size_t>(weight_.dims[0] * (by_group ? weight_.dims[1] : 1));
    const auto count = static_cast<size_t>(weight_.num_elements());
    if (count == 0) return;
    const size_t width = count / rows, row_bytes = bytes_.size() / rows;
    std::vector<float> numbers(width);
    std::vector<std::byte> out(row_bytes);
    for (size_t row = 0; row < rows; ++row) {
      const size_t channel = by_last ? 0 : channel_of(static_cast<int64_t>(row));
      ir::to_floats(weight_.data_type, bytes_.data() + row * row_bytes, numbers);
      for (const std::vector<float>& scale : scales_)
        for (size_t i = 0; i < width; ++i) numbers[i] *= scale[by_last ? i : channel];
      ir::from_floats(numbers, weight_.data_type, out.data());
      sink(out);
    }
  }

 private:
  size_t channel_of(int64_t row) const {
    if (layout_.axis == ChannelLayout::kFirst) return static_cast<size_t>(row);
    const int64_t each = weight_.dims[1], inputs_of_group = weight_.dims[0] / layout_.groups;
    return static_cast<size_t>(row / each / inputs_of_group * each + row % each);
  }

  ir::Tensor weight_;
  std::span<const std::byte> bytes_;
  ChannelLayout layout_;
  std::vector<std::vector<float>> scales_;  // one after the other
};

}  // namespace

int64_t num_channels(const ir::Tensor& weight, ChannelLayout layout) {
  if (layout.axis == ChannelLayout::kLast) return weight.dims.back();
  return layout.axis == ChannelLayout::kFirst ? weight.dims[0] : weight.dims[1] * layout.groups;
}

ir::Tensor scaled(const ir::Tensor& weight, ChannelLayout layout, std::vector<float> scale) {
  // One that is scaled already is scaled once more when it is written.
  const auto* before = dynamic_cast<const ScaledWeight*>(weight.source());
  std::vector<std::vector<float>> scales = before ? before->scales() : std::vector<std::vector<float>>();
  scales.push_back(std::move(scale));
  return ir::Tensor::made(
      {}, weight.data_type, weight.dims,
      std::make_shared<ScaledWeight>(before ? before->weight() : weight, layout, std::move(scales)));
}

}  // namespace thaw::optimizing
