// Where images and clips stand in a prompt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thaw::media {

// What a prompt has for its files. Of families whose clips have a placeholder for each group of frames `groups` says how
// many groups each clip is; of others it is 1 for each.
struct PicturesOfPrompt {
  int64_t image_token = -1, clip_token = -1;
  size_t images = 0;
  std::vector<int64_t> groups;
};

// The files as the prompt names them, and the towers' features are taken: an index below `images` is an image, those from
// there on are the clips. ids: the prompt's tokens, a placeholder for each image and each clip or group. Where it has another
// number of placeholders than there are files, images come first and then clips. Throws thaw::Error (kInvalidArgument) where
// an image stands between the groups of one clip.
std::vector<size_t> order_in_prompt(std::span<const int64_t> ids, const PicturesOfPrompt& pictures);

}  // namespace thaw::media
