// Interpolation along one axis: which samples a position between them takes, and how much of each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace thaw::math {

struct Tap {
  int64_t at;
  double weight;
};

// What a sample weighs, by how far it is: in samples, from the position.
template <typename T>
T linear_weight(T distance) {
  const T far = std::abs(distance);
  return far < 1 ? 1 - far : T{0};
}

// Cubic convolution (Keys 1981). OpenCV's and torch's a is -0.75 between samples, Pillow's and torch's with anti-aliasing -0.5.
template <typename T>
T cubic_weight(T distance, T a) {
  const T far = std::abs(distance);
  if (far < 1) return ((a + 2) * far - (a + 3)) * far * far + 1;
  return far < 2 ? ((a * far - 5 * a) * far + 8 * a) * far - 4 * a : T{0};
}

double box_weight(double distance);
double lanczos_weight(double distance);  // of three lobes

// A kernel: what a sample weighs, 0 from `radius` samples on.
struct Kernel {
  double radius;
  double (*weight)(double distance);
};
inline constexpr Kernel kBox{0.5, box_weight};
inline constexpr Kernel kLinear{1, linear_weight<double>};
inline constexpr Kernel kCubic{2, [](double distance) { return cubic_weight(distance, -0.5); }};
inline constexpr Kernel kSharpCubic{2, [](double distance) { return cubic_weight(distance, -0.75); }};
inline constexpr Kernel kLanczos{3, lanczos_weight};

// Of a position `part` of the way from sample `low` to the next: as many samples on each side as the kernel is wide. Those past the
// border are the sample at it, once more.
std::vector<Tap> taps_between(int64_t low, double part, int64_t size, const Kernel& kernel);

// Of a position counted from the border, sample i being from i to i + 1, in a window that is `widened` times the kernel: where samples
// are averaged, by as many as they become fewer (anti-aliasing), else 1. Those past the border count for nothing, and weights
// add up to 1 where they do not add up to 0. In double precision step by step as Pillow and torch compute them.
std::vector<Tap> taps_around(double center, double widened, int64_t size, const Kernel& kernel);

}  // namespace thaw::math
