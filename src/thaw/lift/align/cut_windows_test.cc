#include "thaw/lift/align/cut_windows.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

enum class Until { kEnd, kSeen, kWhole };

// As code cuts them: while a window begins before the end, while something is left that none has, while whole ones fit.
std::vector<AxisPiece> cut(int64_t n, int64_t first, int64_t length, int64_t stride, Until until) {
  const int64_t rest = n - first;
  const int64_t count = until == Until::kEnd    ? up(rest, stride)
                        : until == Until::kSeen ? 1 + std::max<int64_t>(0, up(rest - length, stride))
                                                : (rest - length) / stride + 1;
  std::vector<AxisPiece> pieces;
  if (first > 0) pieces.push_back({0, first});
  for (int64_t i = 0; i < count; ++i) pieces.push_back({first + i * stride, std::min(n, first + i * stride + length)});
  return pieces;
}

// Whether there are as many windows at n as in the traces, by all that the traces leave open.
bool has(const CutWindows& windows, int64_t n) {
  const int64_t rest = n - windows.first;
  if (!windows.has_short_last) return (rest - windows.length) / windows.stride + 1 == windows.count;
  return up(rest - windows.least_left, windows.stride) == windows.count &&
         up(rest - windows.most_left, windows.stride) == windows.count;
}

TEST(CutWindows, WindowsAreFoundAndHoldWhereTheirNumberDoes) {
  int found = 0;
  for (const Until until : {Until::kEnd, Until::kSeen, Until::kWhole})
    for (const int64_t first : {0, 1, 3})
      for (int64_t stride = 1; stride <= 5; ++stride)
        for (int64_t length = stride; length <= 3 * stride; ++length)
          for (int64_t one = first + length + 1; one <= first + length + 5 * stride; ++one)
            for (int64_t two = one + 1; two < one + 2 * stride; ++two) {
              const std::vector<std::vector<AxisPiece>> pieces{cut(one, first, length, stride, until),
                                                               cut(two, first, length, stride, until)};
              if (pieces[0].size() != pieces[1].size() || pieces[0].size() < (first > 0 ? 4 : 2)) continue;
              const std::vector<int64_t> lengths{one, two};
              const auto windows = windows_of(pieces, lengths);
              ASSERT_TRUE(windows) << first << ' ' << length << ' ' << stride << ' ' << one << ' ' << two;
              ++found;
              ASSERT_TRUE(has(*windows, one) && has(*windows, two));
              for (int64_t n = first + length; n < two + 3 * stride; ++n) {
                if (!has(*windows, n)) continue;
                ASSERT_EQ(cut(n, first, length, stride, until).size(), pieces[0].size())
                    << first << ' ' << length << ' ' << stride << ' ' << one << ' ' << two << ' ' << n;
              }
            }
  EXPECT_GT(found, 1000);
}

TEST(CutWindows, OtherPiecesAreNoWindows) {
  const auto are = [](std::vector<std::vector<AxisPiece>> pieces, std::vector<int64_t> lengths) {
    return windows_of(pieces, lengths).has_value();
  };
  EXPECT_FALSE(are({{{0, 1}, {1, 11}}, {{0, 1}, {1, 18}}}, {11, 18}));  // a class token
  EXPECT_FALSE(are({{{0, 8}, {8, 20}}, {{0, 8}, {8, 23}}}, {20, 23}));  // the rest is longer
  EXPECT_FALSE(are({{{0, 8}, {8, 16}}, {{0, 8}, {8, 16}}}, {30, 33}));  // much is left
  EXPECT_FALSE(are({{{0, 5}, {5, 10}}, {{0, 6}, {6, 12}}}, {10, 12}));  // halves
  EXPECT_FALSE(are({{{0, 4}, {8, 12}}, {{0, 4}, {8, 12}}}, {13, 14}));  // gaps
  EXPECT_FALSE(are({{{0, 3}}, {{0, 3}}}, {3, 3}));                      // one
  EXPECT_FALSE(are({{}, {}}, {3, 4}));
  EXPECT_FALSE(are({{{0, 8}, {8, 11}}, {{0, 8}, {8, 16}, {16, 19}}}, {11, 19}));  // as many in all
}

}  // namespace
}  // namespace thaw::lifting
