#include "thaw/media/image/image.h"

#include <numeric>

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/media/image/exif.h"
#include "thaw/media/image/read_image.h"
#include "thaw/media/image/resample.h"

namespace thaw::media {
namespace {

// 3 wide, 2 high: 1 2 3 / 4 5 6.
Image six() {
  Image image = blank(3, 2, 1);
  std::iota(image.samples.begin(), image.samples.end(), uint8_t{1});
  return image;
}

TEST(MediaImage, IsTurnedAsExifSays) {
  const std::vector<std::vector<uint8_t>> wanted = {{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1},
                                                    {4, 5, 6, 1, 2, 3}, {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3},
                                                    {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image rotated = rotated_upright(six(), orientation);
    EXPECT_EQ(rotated.samples, wanted[static_cast<size_t>(orientation - 1)]) << orientation;
    EXPECT_EQ(rotated.width, orientation < 5 ? 3 : 2) << orientation;
  }
  EXPECT_EQ(rotated_upright(six(), 9).samples, six().samples);
}

TEST(MediaImage, TransparencyIsLaidOverWhite) {
  Image image = blank(1, 1, 4);
  image.samples = {10, 200, 255, 0};
  EXPECT_EQ(to_rgb(image).samples, (std::vector<uint8_t>{255, 255, 255}));
  image.samples.back() = 255;
  EXPECT_EQ(to_rgb(image).samples, (std::vector<uint8_t>{10, 200, 255}));
  image.samples.back() = 51;  // a fifth: 10 / 5 + 255 * 4 / 5
  EXPECT_EQ(to_rgb(image).samples, (std::vector<uint8_t>{206, 244, 255}));
}

TEST(MediaImage, SizesAreHeldAgainstBoundsBeforeMemoryIsTaken) {
  EXPECT_NO_THROW(require_size(13'000, 13'000, 3, "a.png"));
  EXPECT_THROW(require_size(14'000, 14'000, 3, "a.png"), Error);
  EXPECT_THROW(require_size(int64_t{1} << 62, int64_t{1} << 62, 3, "a.png"), Error);
  EXPECT_THROW(require_size(0, 5, 3, "a.png"), Error);
}

TEST(MediaExif, OrientationOfEitherByteOrderAndOfNoDirectory) {
  const std::vector<uint8_t> little = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0};
  const std::vector<uint8_t> big = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 8, 0, 0};
  EXPECT_EQ(exif_orientation(little), 6);
  EXPECT_EQ(exif_orientation(big), 8);
  for (size_t size = 0; size < little.size() - 2; ++size)
    EXPECT_EQ(exif_orientation(std::span(little).first(size)), 1) << size;
  std::vector<uint8_t> far = little;
  far[4] = far[5] = far[6] = far[7] = 255;  // the directory stands past the end
  EXPECT_EQ(exif_orientation(far), 1);
}

TEST(MediaResample, ConstantsStayAndSizesAreKept) {
  for (const Filter filter : {Filter::kNearest, Filter::kBox, Filter::kBilinear, Filter::kBicubic, Filter::kLanczos}) {
    for (const Arithmetic arithmetic : {Arithmetic::kPillow, Arithmetic::kTorch}) {
      Image image = blank(37, 23, 3);
      std::ranges::fill(image.samples, uint8_t{201});
      const Image small = resize(image, 5, 61, filter, arithmetic);
      EXPECT_EQ(small.width, 5);
      EXPECT_EQ(small.samples, std::vector<uint8_t>(5 * 61 * 3, 201));
      EXPECT_EQ(resize(six(), 3, 2, filter, arithmetic).samples, six().samples);
    }
  }
  EXPECT_THROW(resize(six(), 0, 2, Filter::kBox), Error);
}

TEST(MediaResample, PlanesKeepStraightLinesInside) {
  std::vector<float> plane;
  for (int y = 0; y < 12; ++y)
    for (int x = 0; x < 16; ++x) plane.push_back(static_cast<float>(x));
  const std::vector<float> small = resize_plane(plane, 16, 12, 8, 6);
  ASSERT_EQ(small.size(), 48U);
  for (size_t x = 1; x < 7; ++x) EXPECT_NEAR(small[x], 2 * static_cast<float>(x) + 0.5F, 1e-5F);
}

TEST(MediaReadImage, WhatIsNoImageIsAnError) {
  const std::vector<uint8_t> text = {'n', 'o', 'n', 'e', ' ', 'a', 't', ' ', 'a', 'l', 'l'};
  EXPECT_THROW(decode_image(text, "a.png"), Error);
  const std::vector<uint8_t> jpeg = {0xFF, 0xD8, 0xFF}, png = {0x89, 'P', 'N', 'G', 13, 10, 26, 10};
  EXPECT_THROW(decode_image(jpeg, "a.jpg"), Error);
  EXPECT_THROW(decode_image(png, "a.png"), Error);
}

}  // namespace
}  // namespace thaw::media
