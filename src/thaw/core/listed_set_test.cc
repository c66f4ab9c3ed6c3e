#include "thaw/core/listed_set.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thaw {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

template <typename T>
std::vector<T> listed(const ListedSet<T>& set) {
  return {set.begin(), set.end()};
}

TEST(ListedSet, ListsEachOnceAsItCame) {
  ListedSet<int> set;
  for (const int item : {5, 3, 9, 3, 5, 1}) set.insert(item);
  EXPECT_THAT(listed(set), ElementsAre(5, 3, 9, 1));
  EXPECT_FALSE(set.insert(9));
  EXPECT_TRUE(set.contains(9));
  set.erase(3);
  EXPECT_THAT(listed(set), ElementsAre(5, 1, 9));
  EXPECT_TRUE(set.insert(3));
  EXPECT_THAT(set.take(), ElementsAre(5, 1, 9, 3));
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.contains(5));
}

TEST(ListedSet, HoldsWhatASetHolds) {
  std::mt19937 random(1);
  ListedSet<unsigned> set;
  std::vector<unsigned> plain;
  for (int step = 0; step < 2000; ++step) {
    const unsigned item = random() % 20;
    const auto at = std::ranges::find(plain, item);
    if (random() % 2 == 0) {
      EXPECT_EQ(set.insert(item), at == plain.end());
      if (at == plain.end()) plain.push_back(item);
    } else {
      set.erase(item);
      if (at != plain.end()) plain.erase(at);
    }
    EXPECT_EQ(set.contains(item), std::ranges::find(plain, item) != plain.end());
    ASSERT_THAT(listed(set), UnorderedElementsAreArray(plain));
  }
}

}  // namespace
}  // namespace thaw
