// Images resized, as Pillow, PyTorch and OpenCV resize them.
//
// An output sample is a weighted mean of the input samples under a window that grows with the reduction (antialiasing):
// with s = input / output, center c = (x + 0.5) s and support w = r max(s, 1), r the filter's radius, the samples from
// floor(c - w + 0.5) to floor(c + w + 0.5) count with filter((i + 0.5 - c) / max(s, 1)), normalized to 1. Each row
// is resampled first, then each column; between them samples are rounded to 8 bits. Pillow (13) begins with the columns
// where they lose more than twice as many samples as the rows.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/media/image/image.h"

namespace thaw::media {

enum class Filter : uint8_t {
  kNearest,   // the sample under the center, no window
  kBox,       // radius 0.5
  kBilinear,  // radius 1, 1 - |x|
  kBicubic,   // radius 2, a = -0.5 (Keys 1981)
  kLanczos,   // radius 3
};

// In which fixed point weights are held. The first two differ by one level of 255 in some samples; OpenCV's has another
// window too, opencv_linear.h.
enum class Arithmetic : uint8_t {
  kPillow,  // 22 bits
  kTorch,   // 16 bits with sign, as many of them behind the point as the largest weight lets: torch's uint8 kernel
  kOpenCv,  // 11 bits: cv2.INTER_LINEAR, of kBilinear alone
};

// Throws thaw::Error (kInvalidArgument) for a size that is not positive, and for another filter than kBilinear in OpenCV's
// arithmetic.
Image resize(const Image& image, int64_t width, int64_t height, Filter filter,
             Arithmetic arithmetic = Arithmetic::kPillow);

// A plane of floats, [height, width], resized by cubic convolution with a = -0.75 between four samples each way, at any
// reduction: no antialiasing (torch's interpolate, mode "bicubic", align_corners false). Samples past the border are
// those at it.
std::vector<float> resize_plane(const std::vector<float>& plane, int64_t width, int64_t height, int64_t new_width,
                                int64_t new_height);

}  // namespace thaw::media
