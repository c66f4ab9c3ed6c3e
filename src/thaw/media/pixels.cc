#include "thaw/media/pixels.h"

#include <cstring>

namespace thaw::media {

PixelTable::PixelTable(const ImageSettings& settings) {
  for (size_t c = 0; c < floats_.size(); ++c) {
    for (size_t level = 0; level < floats_[c].size(); ++level) {
      double value = static_cast<double>(level);
      if (settings.rescales) value *= settings.rescale_factor;
      if (settings.normalizes) value = (value - settings.mean[c]) / settings.std[c];
      floats_[c][level] = static_cast<float>(value);
    }
  }
}

float* FloatRows::grow(size_t count) {
  floats_.resize(floats_.size() + count);
  return floats_.data() + (floats_.size() - count);
}

Array FloatRows::take(std::vector<int64_t> dims) {
  Array array{.dtype = DataType::kFloat, .dims = std::move(dims), .bytes = {}, .strings = {}};
  array.bytes.resize(floats_.size() * sizeof(float));
  if (!floats_.empty()) std::memcpy(array.bytes.data(), floats_.data(), array.bytes.size());
  floats_ = {};
  return array;
}

}  // namespace thaw::media
