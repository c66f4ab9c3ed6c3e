// Images for the tower of Phi-4-multimodal: crops of 448 x 448 pixels, a view of the whole before them.
//
// An image that needs no more than `most_crops` crops is enlarged to a whole number of them; a larger one is reduced to
// the grid of crops whose proportions are nearest to its own. Where the proportions differ a white border is added at the
// right or below, and patches that show nothing else are masked. The view of the whole is the bordered image reduced by
// cubic convolution without antialiasing, as the family's processor does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thaw/media/image/resample.h"
#include "thaw/media/preset.h"
#include "thaw/run/array.h"

namespace thaw::media {

struct CropGrid {
  int64_t columns = 1, rows = 1;
  int64_t width = 0, height = 0;  // of the image inside it, pixels
};

// How an image is laid into crops. Throws thaw::Error (kInvalidArgument) where a side would be less than 10 pixels.
CropGrid crop_grid(int64_t width, int64_t height, const ImageSettings& settings, const std::string& name);

struct Crops {
  int64_t columns = 1, rows = 1;
  std::vector<float> samples;  // [1 + rows * columns, 3, crop, crop]
  std::vector<uint8_t> mask;   // [1 + rows * columns, crop / patch, crop / patch]: 1 where there is image
  int64_t tokens = 0;  // that the language model sees: of cells with image, of line ends, and 256 + 1 + 16 of the whole
};

Crops cut_crops(const Image& image, const ImageSettings& settings, Arithmetic arithmetic, const std::string& name);

// pixel_values float32 [images, max_num_crops, 3, crop, crop], padded with zeros; image_attention_mask bool [images,
// max_num_crops, crop / patch, crop / patch], padded with ones; image_sizes int64 [images, 2], height and width of the
// bordered image. Takes the crops' memory.
Arrays crops_as_arrays(std::vector<Crops> images, const ImageSettings& settings);

}  // namespace thaw::media
