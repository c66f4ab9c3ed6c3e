#include "thaw/optimize/scaled_weights.h"

#include <algorithm>
#include <utility>

#include "thaw/ir/data/floats.h"
#include "thaw/ir/data/tensor_source.h"

namespace thaw::optimizing {
namespace {

class ScaledWeight final : public ir::TensorSource {
 public:
  ScaledWeight(ir::Tensor weight, ChannelLayout layout, std::vector<double> scale)
      : weight_(std::move(weight)), layout_(layout), scale_(std::move(scale)) {}

  void write(const Sink& sink) const override {
    const size_t rows = static_cast<size_t>(weight_.dims[0] * (layout_.by_first_axis ? 1 : weight_.dims[1]));
    const auto count = static_cast<size_t>(weight_.num_elements());
    if (count == 0) return;
    const std::span<const std::byte> bytes = weight_.bytes();
    const size_t width = count / rows, row_bytes = bytes.size() / rows;
    std::vector<double> numbers(width);
    std::vector<float> rounded(width);
    std::vector<std::byte> out(row_bytes);
    for (size_t row = 0; row < rows; ++row) {
      const double by = scale_[channel_of(static_cast<int64_t>(row))];
      ir::to_doubles(weight_.data_type, bytes.data() + row * row_bytes, numbers);
      std::ranges::transform(numbers, rounded.begin(), [&](double number) { return static_cast<float>(number * by); });
      ir::from_floats(rounded, weight_.data_type, out.data());
      sink(out);
    }
  }

 private:
  size_t channel_of(int64_t row) const {
    if (layout_.by_first_axis) return static_cast<size_t>(row);
    const int64_t each = weight_.dims[1], inputs_of_group = weight_.dims[0] / layout_.groups;
    return static_cast<size_t>(row / each / inputs_of_group * each + row % each);
  }

  ir::Tensor weight_;
  ChannelLayout layout_;
  std::vector<double> scale_;
};

}  // namespace

int64_t num_channels(const ir::Tensor& weight, ChannelLayout layout) {
  return layout.by_first_axis ? weight.dims[0] : weight.dims[1] * layout.groups;
}

ir::Tensor scaled(const ir::Tensor& weight, ChannelLayout layout, std::vector<double> scale) {
  return ir::Tensor::made({}, weight.data_type, weight.dims,
                          std::make_shared<ScaledWeight>(weight, layout, std::move(scale)));
}

}  // namespace thaw::optimizing
