#include "thaw/media/prompt_order.h"

#include <algorithm>
#include <numeric>

#include "thaw/core/error.h"

namespace thaw::media {

std::vector<size_t> order_in_prompt(std::span<const int64_t> ids, const PicturesOfPrompt& pictures) {
  const size_t clips = pictures.groups.size();
  std::vector<size_t> order(pictures.images + clips);
  std::iota(order.begin(), order.end(), size_t{0});
  const int64_t groups = std::accumulate(pictures.groups.begin(), pictures.groups.end(), int64_t{0});
  if (std::ranges::count(ids, pictures.clip_token) != groups ||
      std::ranges::count(ids, pictures.image_token) != static_cast<int64_t>(pictures.images))
    return order;
  order.clear();
  size_t image = 0, clip = 0;
  int64_t left = 0;  // groups of the clip that has begun
  for (const int64_t id : ids) {
    if (id == pictures.clip_token) {
      if (left == 0) {
        left = pictures.groups[clip];
        order.push_back(pictures.images + clip++);
      }
      --left;
    } else if (id == pictures.image_token) {
      if (left > 0)
        throw Error(ErrorCode::kInvalidArgument,
                    {.what = "an image stands between the frames of a clip",
                     .where = "the prompt",
                     .expected = "images before a clip's first frames or behind its last"});
      order.push_back(image++);
    }
  }
  return order;
}

}  // namespace thaw::media
