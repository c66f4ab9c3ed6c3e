// Samples of 8 bits as the floats that a model takes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "thaw/media/preset.h"
#include "thaw/run/array.h"

namespace thaw::media {

// For each channel and each of 256 levels the float: (level * rescale_factor - mean) / std, as far as the settings ask.
class PixelTable {
 public:
  explicit PixelTable(const ImageSettings& settings);
  float at(int channel, uint8_t level) const { return floats_[static_cast<size_t>(channel)][level]; }

 private:
  std::array<std::array<float, 256>, 3> floats_;
};

// A float32 array that grows by whole rows of axis 0.
class FloatRows {
 public:
  // The next `count` floats, to be written before the next call.
  float* grow(size_t count);
  size_t size() const { return floats_.size(); }
  // All of it, as [dims]; the product of the dims must be the number of floats. It is empty then.
  Array take(std::vector<int64_t> dims);

 private:
  std::vector<float> floats_;
};

}  // namespace thaw::media
