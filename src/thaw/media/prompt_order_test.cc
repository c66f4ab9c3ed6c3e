#include "thaw/media/prompt_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::media {
namespace {

using testing::ElementsAre;

constexpr int64_t kImage = 7, kClip = 9;

std::vector<size_t> order(const std::vector<int64_t>& ids, size_t images, std::vector<int64_t> groups) {
  return order_in_prompt(ids, {kImage, kClip, images, std::move(groups)});
}

TEST(PromptOrder, IsThatOfThePlaceholders) {
  EXPECT_THAT(order({1, kImage, 2, kClip, 3}, 1, {1}), ElementsAre(0, 1));
  EXPECT_THAT(order({1, kClip, 2, kImage, 3}, 1, {1}), ElementsAre(1, 0));
  EXPECT_THAT(order({kClip, kImage, kClip, kImage}, 2, {1, 1}), ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(order({1, 2}, 0, {}), ElementsAre());
}

TEST(PromptOrder, TakesAllGroupsOfAClipAtOnce) {
  EXPECT_THAT(order({kClip, 5, kClip, 5, kClip, kImage, kClip}, 1, {3, 1}), ElementsAre(1, 0, 2));
  EXPECT_THROW(order({kClip, kImage, kClip}, 1, {2}), Error);
}

// What the prompt lacks is said where placeholders are repeated.
TEST(PromptOrder, IsThatOfTheCallWhereThePromptHasAnotherNumber) {
  EXPECT_THAT(order({kClip, kImage}, 2, {1}), ElementsAre(0, 1, 2));
  EXPECT_THAT(order({kClip}, 1, {1}), ElementsAre(0, 1));
}

}  // namespace
}  // namespace thaw::media
