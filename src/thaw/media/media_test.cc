#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/core/temp_folder_testing.h"
#include "thaw/media/audio/log_mel.h"
#include "thaw/media/phi4_images.h"
#include "thaw/media/preset.h"
#include "thaw/media/qwen_images.h"

namespace thaw::media {
namespace {

ImageSize smart(int64_t width, int64_t height, const ImageSettings& settings) {
  return smart_size({.width = width, .height = height}, settings, "a.png");
}

TEST(QwenImages, SmartSizesAreThoseOfTheProcessor) {
  const ImageSettings qwen = preset_for("qwen2_5_vl").images;
  EXPECT_EQ(smart(640, 480, qwen), (ImageSize{644, 476}));
  EXPECT_EQ(smart(20, 20, qwen), (ImageSize{56, 56}));
  EXPECT_EQ(smart(4000, 3000, qwen), (ImageSize{1148, 840}));
  // Halves go to the even neighbor: 98 / 28 is 3.5, 70 / 28 is 2.5.
  EXPECT_EQ(smart(98, 70, qwen), (ImageSize{112, 56}));
  EXPECT_THROW(smart(201, 1, qwen), Error);
}

TEST(QwenImages, EverySmartSizeIsWholeAndWithinItsBounds) {
  const ImageSettings qwen = preset_for("qwen3_vl").images;
  for (int64_t width = 1; width < 3000; width += 37) {
    for (int64_t height = 1 + width / 200; height < std::min<int64_t>(3000, 200 * width); height += 41) {
      const ImageSize size = smart(width, height, qwen);
      EXPECT_NO_THROW(require_multiple(size, qwen, ""));
      EXPECT_GE(size.width * size.height, qwen.min_pixels);
      EXPECT_LE(size.width * size.height, qwen.max_pixels);
    }
  }
}

TEST(QwenImages, PatchesStandInTheOrderOfTokens) {
  ImageSettings settings = preset_for("qwen2_vl").images;
  settings.patch = 1;
  settings.rescales = settings.normalizes = false;
  // 4 x 4 pixels, a patch each; 2 x 2 of them a token.
  Image image = blank(4, 4, 3);
  for (size_t i = 0; i < 16; ++i) image.samples[3 * i] = static_cast<uint8_t>(i);
  FloatRows rows;
  EXPECT_EQ(append_patches({image}, settings, rows), (std::array<int64_t, 3>{1, 4, 4}));
  const Array array = rows.take({16, 6});
  const std::vector<double> numbers = to_doubles(array);
  std::vector<int> red;
  for (size_t i = 0; i < 16; ++i) red.push_back(static_cast<int>(numbers[6 * i]));
  EXPECT_EQ(red, (std::vector<int>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
}

TEST(Phi4Images, CropsGrowWithTheImageUpToTheirBound) {
  const ImageSettings phi4 = preset_for("phi4_mm").images;
  const CropGrid small = crop_grid(100, 50, phi4, "a.png");
  EXPECT_EQ(std::pair(small.columns, small.rows), std::pair(int64_t{1}, int64_t{1}));
  EXPECT_EQ(std::pair(small.width, small.height), std::pair(int64_t{448}, int64_t{224}));
  const CropGrid large = crop_grid(8000, 6000, phi4, "a.png");
  EXPECT_LE(large.columns * large.rows, 36);
  EXPECT_GT(large.columns, large.rows);
  EXPECT_THROW(crop_grid(36000, 20, phi4, "a.png"), Error);
}

TEST(Phi4Images, EmptyPatchesAreMasked) {
  const ImageSettings phi4 = preset_for("phi4_mm").images;
  const Crops crops = cut_crops(blank(448, 224, 3), phi4, Arithmetic::kTorch, "a.png");
  EXPECT_EQ(std::accumulate(crops.mask.begin(), crops.mask.end(), 0), 1024 + 512);
  EXPECT_EQ(crops.tokens, 256 + 1 + 8 * 16 + 8 + 16);
}

TEST(LogMel, ATonePeaksInItsFilter) {
  const AudioSettings settings;
  std::vector<float> samples;
  for (int i = 0; i < 16000; ++i)
    samples.push_back(static_cast<float>(0.5 * std::sin(2 * std::numbers::pi * 1000 * i / 16000)));
  const std::vector<float> features = log_mel(samples, settings);
  ASSERT_EQ(features.size(), 128U * 100);
  // 1000 Hz is 15 mels of the 45.245 up to 8000 Hz: between filters 41 and 42 of 128.
  int loudest = 0;
  for (int m = 0; m < 128; ++m)
    if (features[static_cast<size_t>(m) * 100 + 50] > features[static_cast<size_t>(loudest) * 100 + 50]) loudest = m;
  EXPECT_TRUE(loudest == 41 || loudest == 42) << loudest;
  const auto [least, most] = std::ranges::minmax(features);
  EXPECT_NEAR(most - least, 2, 1e-5);
}

TEST(Preset, BothSpellingsOfTheBoundsAreRead) {
  const TempFolder folder;
  folder.write("config.json", R"({"model_type": "qwen2_vl"})");
  for (const char* text :
       {R"({"min_pixels": 5000, "max_pixels": 6000})", R"({"size": {"shortest_edge": 5000, "longest_edge": 6000}})",
        R"({"size": {"min_pixels": 5000, "max_pixels": 6000}})",
        R"({"size": {"shortest_edge": 1, "longest_edge": 2}, "min_pixels": 5000, "max_pixels": 6000})"}) {
    folder.write("preprocessor_config.json", text);
    const Preset preset = preset_for(folder.path().string());
    EXPECT_EQ(preset.images.min_pixels, 5000) << text;
    EXPECT_EQ(preset.images.max_pixels, 6000) << text;
    EXPECT_EQ(preset.clips.max_pixels, 6000) << text;
  }
}

TEST(Preset, ATowersPatchesCountWhereNothingElseIsSaid) {
  const TempFolder folder;
  folder.write("config.json",
               R"({"model_type": "qwen2_5_vl", "vision_config": {"patch_size": 8, "spatial_merge_size": 3}})");
  EXPECT_EQ(preset_for(folder.path().string()).images.factor(), 24);
  EXPECT_THROW(preset_for("qwen4"), Error);
}

}  // namespace
}  // namespace thaw::media
