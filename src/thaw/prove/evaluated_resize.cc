// Resize of constants: tables of positions, mostly. Linear and cubic interpolation is that of each axis after the other.
#include <algorithm>
#include <array>
#include <string_view>

#include "thaw/prove/evaluated.h"

namespace thaw::proving {

using ir::DataType;

namespace {

using Dims = std::vector<int64_t>;

// Where an element of the result lies in the operand, along an axis, and by how much rounding may have moved that.
struct Coordinate {
  double at = 0, error = 0;
};

// One axis, from a size to another.
struct ResizedAxis {
  int64_t from = 0, to = 0;
  double scale = 1;
};

// ONNX Runtime computes coordinates in float32. Where each step is exact there, so is the coordinate.
std::optional<Coordinate> coordinate_of(const ResizedAxis& axis, std::string_view mode, int64_t i) {
  constexpr DataType kType = DataType::kFloat;
  const KnownNumber place{0, static_cast<double>(i), 0}, half{0, 0.5, 0}, minus_half{0, -0.5, 0};
  const KnownNumber scale =
      holds_number(kType, axis.scale) ? KnownNumber{0, axis.scale, 0} : rounded(kType, axis.scale, 0);
  KnownNumber at{};
  if (mode == "asymmetric") {
    at = divided(kType, place, scale);
  } else if (mode == "half_pixel" || (mode == "pytorch_half_pixel" && axis.to > 1)) {
    at = added(kType, divided(kType, added(kType, place, half), scale), minus_half);
  } else if (mode == "align_corners" && axis.to > 1) {
    at = divided(kType, multiplied(kType, place, {0, static_cast<double>(axis.from - 1), 0}),
                 {0, static_cast<double>(axis.to - 1), 0});
  } else if (mode != "pytorch_half_pixel" && mode != "align_corners") {
    return std::nullopt;
  }
  if (at.is_open()) return std::nullopt;
  return Coordinate{at.real, 2 * at.error};  // with steps in another order
}

// Elements of the operand, each with its weight, and by how much the weights may be off.
struct Taps {
  std::array<int64_t, 4> at{};
  std::array<double, 4> weight{};
  size_t count = 0;
  double error = 0;
};

std::optional<Taps> nearest(const ResizedAxis& axis, Coordinate c, std::string_view mode) {
  const auto chosen = [&](double at) {
    if (mode == "floor") return std::floor(at);
    if (mode == "ceil") return std::ceil(at);
    return mode == "round_prefer_ceil" ? std::floor(at + 0.5) : std::ceil(at - 0.5);
  };
  if (mode != "floor" && mode != "ceil" && mode != "round_prefer_ceil" && mode != "round_prefer_floor")
    return std::nullopt;
  const auto last = static_cast<double>(axis.from - 1);
  const double low = std::clamp(chosen(c.at - c.error), 0.0, last),
               high = std::clamp(chosen(c.at + c.error), 0.0, last);
  if (low != high) return std::nullopt;
  return Taps{{static_cast<int64_t>(low)}, {1}, 1, 0};
}

Taps linear(const ResizedAxis& axis, Coordinate c) {
  const double at = std::clamp(c.at, 0.0, static_cast<double>(axis.from - 1)), low = std::floor(at);
  const auto first = static_cast<int64_t>(low);
  return {{first, std::min(first + 1, axis.from - 1)}, {1 - (at - low), at - low}, 2, c.error};
}

Taps cubic(const ResizedAxis& axis, Coordinate c, double a, bool leaves_out) {
  constexpr double kSteepest = 4;  // of a weight, by the coordinate, for a of -1 and more
  const double low = std::floor(c.at), s = c.at - low;
  const auto inner = [&](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto outer = [&](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  Taps taps{{}, {outer(s + 1), inner(s), inner(1 - s), outer(2 - s)}, 4, kSteepest * c.error};
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    const int64_t at = static_cast<int64_t>(low) - 1 + static_cast<int64_t>(i);
    taps.at[i] = std::clamp<int64_t>(at, 0, axis.from - 1);
    if (leaves_out && at != taps.at[i]) taps.weight[i] = 0;
    sum += taps.weight[i];
  }
  if (leaves_out)
    for (double& one : taps.weight) one /= sum;
  return taps;
}

KnownTensor interpolated(const KnownTensor& x, size_t k, const std::vector<Taps>& taps) {
  constexpr double kRoundings = 16;  // of weights, products and their sum
  KnownTensor made{x.type, x.dims, {}};
  made.dims[k] = std::ssize(taps);
  const int64_t inner = product_of(std::span(x.dims).subspan(k + 1)), outer = product_of(std::span(x.dims).first(k));
  for (int64_t before = 0; before < outer; ++before)
    for (const Taps& one : taps)
      for (int64_t i = 0; i < inner; ++i) {
        double value = 0, error = 0, size = 0;
        for (size_t n = 0; n < one.count; ++n) {
          const KnownNumber& from = x.elements[static_cast<size_t>((before * x.dims[k] + one.at[n]) * inner + i)];
          value += one.weight[n] * from.real;
          error += std::fabs(one.weight[n]) * from.error + one.error * std::fabs(from.real);
          size += std::fabs(one.weight[n] * from.real);
        }
        const KnownNumber& first = x.elements[static_cast<size_t>((before * x.dims[k] + one.at[0]) * inner + i)];
        made.elements.push_back(
            one.count == 1 ? first : rounded(x.type, value, error + kRoundings * rounding_of(x.type) * size));
      }
  return made;
}

}  // namespace

std::vector<KnownTensor> evaluated_resize(const NodeOfConstants& of) {
  const KnownTensor& x = *of.operands[0];
  const auto text = [&](std::string_view name, std::string_view otherwise) {
    return of.node.attribute_string(name, otherwise);
  };
  if (of.node.op_type() != "Resize" || of.opset < 11 || !is_real(x.type) || of.result_dims.empty() ||
      !of.result_dims[0])
    return {};
  const Dims& dims = *of.result_dims[0];
  const auto mode = text("mode", "nearest");
  if (of.node.attribute_int("antialias", 0) != 0 || text("keep_aspect_ratio_policy", "stretch") != "stretch" ||
      of.node.attribute("axes") || dims.size() != x.dims.size() || !count_of_result(dims) ||
      (mode != "nearest" && mode != "linear" && mode != "cubic"))
    return {};
  std::vector<double> scales;
  if (of.has(2) && !of.operands[2]->elements.empty()) {
    if (!is_real(of.operands[2]->type) || of.operands[2]->is_open()) return {};
    for (const KnownNumber& one : of.operands[2]->elements) {
      if (!one.is_exact() || !(one.real > 0)) return {};
      scales.push_back(one.real);
    }
  } else {
    for (size_t k = 0; k < dims.size(); ++k) {
      if (x.dims[k] == 0) return {};
      scales.push_back(static_cast<double>(dims[k]) / static_cast<double>(x.dims[k]));
    }
  }
  const double a = of.node.attribute_float("cubic_coeff_a", -0.75F);
  if (scales.size() != dims.size() || a < -1 || a > 0) return {};
  const bool leaves_out = of.node.attribute_int("exclude_outside", 0) != 0;
  if (leaves_out && mode != "cubic") return {};
  KnownTensor made = x;
  for (size_t k = 0; k < dims.size(); ++k) {
    const ResizedAxis axis{made.dims[k], dims[k], scales[k]};
    if (axis.from == 0) return {};
    if (axis.scale == 1 && axis.from == axis.to) continue;
    std::vector<Taps> taps;
    for (int64_t i = 0; i < axis.to; ++i) {
      const auto c = coordinate_of(axis, text("coordinate_transformation_mode", "half_pixel"), i);
      if (!c) return {};
      const auto one = mode == "nearest"  ? nearest(axis, *c, text("nearest_mode", "round_prefer_floor"))
                       : mode == "linear" ? std::optional(linear(axis, *c))
                                          : std::optional(cubic(axis, *c, a, leaves_out));
      if (!one) return {};
      taps.push_back(*one);
    }
    // One axis is made larger before another is made smaller.
    Dims next = made.dims;
    next[k] = axis.to;
    if (!count_of_result(next)) return {};
    made = interpolated(made, k, taps);
  }
  return {std::move(made)};
}

}  // namespace thaw::proving
