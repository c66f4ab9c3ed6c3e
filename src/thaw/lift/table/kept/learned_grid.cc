#include "thaw/lift/table/kept/learned_grid.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "thaw/lift/table/kept/linear_sums.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kLongestLearned = 512;

// Resizing along one side: n sums of a few of `side` entries each.
LinearSums sums_along(int64_t n, int64_t side, const Resizing& method) {
  LinearSums sums(side);
  for (int64_t i = 0; i < n; ++i) sums.add(taps_at(i, n, side, method));
  return sums;
}

// Entries along one side of a grid, at a place of the other side and a channel: `line` counts these.
class Lines {
 public:
  Lines(const LearnedGrid& grid, bool down) : grid_(grid), down_(down) {}
  int64_t length() const { return down_ ? grid_.height : grid_.width; }
  int64_t count() const { return (down_ ? grid_.width : grid_.height) * grid_.channels; }
  std::vector<double> at(int64_t line) const {
    const int64_t other = line / grid_.channels, c = line % grid_.channels;
    std::vector<double> entries;
    for (int64_t i = 0; i < length(); ++i) entries.push_back(down_ ? grid_.at(i, other, c) : grid_.at(other, i, c));
    return entries;
  }

 private:
  const LearnedGrid& grid_;
  bool down_;
};

// Whether a line is the sums of what solves them.
bool is_image(const std::vector<double>& line, const LinearSums& sums, const LeastSquares& squares, double scale) {
  const std::vector<double> again = sums.times(squares.solve(line));
  return std::ranges::equal(line, again, [&](double x, double y) { return std::abs(x - y) <= kMostUnequal * scale; });
}

// The shortest side that gives a few lines; the side itself where none is shorter.
int64_t shorter_side(const Lines& lines, const Resizing& method, double scale) {
  constexpr int64_t kFewLines = 6;
  const int64_t n = lines.length(), step = std::max<int64_t>(1, lines.count() / kFewLines);
  std::vector<std::vector<double>> some;
  for (int64_t line = 0; line < lines.count(); line += step) some.push_back(lines.at(line));
  for (int64_t side = 2; side < n; ++side) {
    const LinearSums sums = sums_along(n, side, method);
    const LeastSquares squares(sums);
    const auto holds = [&](const auto& line) { return is_image(line, sums, squares, scale); };
    if (squares.leaves_none_open() && std::ranges::all_of(some, holds)) return side;
  }
  return n;
}

// A grid with one side solved.
LearnedGrid solved(const LearnedGrid& grid, bool down, int64_t side, const LeastSquares& squares) {
  LearnedGrid out{down ? side : grid.height, down ? grid.width : side, grid.channels, {}};
  out.entries.resize(static_cast<size_t>(out.height * out.width * out.channels));
  const Lines lines(grid, down);
  for (int64_t line = 0; line < lines.count(); ++line) {
    const std::vector<double> x = squares.solve(lines.at(line));
    const int64_t other = line / grid.channels, c = line % grid.channels;
    for (int64_t i = 0; i < side; ++i) {
      const int64_t cell = down ? i * out.width + other : other * out.width + i;
      out.entries[static_cast<size_t>(cell * out.channels + c)] = x[static_cast<size_t>(i)];
    }
  }
  return out;
}

// Whether a place is taken for the entry before the one that it falls on: step by step in double, as the evaluator computes it.
bool is_misread(int64_t i, int64_t n, int64_t side, int64_t padding) {
  const double x = (static_cast<double>(i) + .5) / (static_cast<double>(n) / static_cast<double>(side)) - .5;
  const double padded = x + static_cast<double>(padding);
  return x > std::floor(x) && padded == std::floor(padded) && padded - static_cast<double>(padding) == std::floor(x);
}

}  // namespace

std::vector<Resizing> possible_resizings(bool antialias) {
  std::vector<Resizing> methods{{"cubic", "half_pixel"},
                                {"linear", "half_pixel"},
                                {"cubic", "align_corners"},
                                {"linear", "align_corners"},
                                {"cubic", "half_pixel", false, true},
                                {"linear", "half_pixel", false, true}};
  if (antialias)
    for (const bool misread : {false, true})
      for (const char* mode : {"cubic", "linear"}) methods.push_back({mode, "half_pixel", true, misread});
  return methods;
}

bool is_same_where_longer(const Resizing& method) {
  return std::string_view(method.mode) == "linear" && std::string_view(method.coordinates) == "half_pixel";
}

bool has_antialiasing(const ir::Model& model) {
  constexpr int64_t kFirstOpset = 18;
  return model.opset("").value_or(0) >= kFirstOpset;
}

std::vector<Tap> taps_at(int64_t i, int64_t n, int64_t side, const Resizing& method) {
  const bool corners = std::string_view(method.coordinates) == "align_corners";
  const bool is_linear = std::string_view(method.mode) == "linear";
  const double x = corners ? (n > 1 ? static_cast<double>(i * (side - 1)) / static_cast<double>(n - 1) : 0)
                           : (static_cast<double>(i) + .5) * static_cast<double>(side) / static_cast<double>(n) - .5;
  const math::Kernel kernel = is_linear ? math::kLinear : method.antialias ? math::kCubic : math::kSharpCubic;
  const bool is_shrunk = method.antialias && n < side;
  const double shrunk = is_shrunk ? static_cast<double>(n) / static_cast<double>(side) : 1;
  // So many entries the exporter adds before the first.
  const auto padding = static_cast<int64_t>(std::ceil(kernel.radius / shrunk));
  const bool misread = method.misread && is_misread(i, n, side, padding);
  // Then x may be a bit less than the entry here.
  const double low = misread ? std::round(x) - 1 : std::floor(x), part = misread ? 0 : x - low;
  if (!method.antialias) return math::taps_between(static_cast<int64_t>(low), part, side, kernel);
  const double widened = is_shrunk ? static_cast<double>(side) / static_cast<double>(n) : 1;
  std::vector<Tap> taps = math::taps_around(low + part + .5, widened, side, kernel);
  std::erase_if(taps, [](const Tap& tap) { return tap.weight == 0; });
  return taps;
}

ir::Value* emit_resize(ir::Value* table, ir::Value* sizes, const Resizing& method, TableEmitter& emitter) {
  ops::Attributes attributes{{"mode", std::string(method.mode)},
                             {"coordinate_transformation_mode", std::string(method.coordinates)}};
  if (method.antialias) {
    attributes.emplace_back("antialias", int64_t{1});
    attributes.emplace_back("exclude_outside", int64_t{1});
    if (std::string_view(method.mode) == "cubic") attributes.emplace_back("cubic_coeff_a", -0.5F);
  }
  return emitter.emit("Resize", {table, nullptr, nullptr, sizes}, std::move(attributes));
}

std::vector<int64_t> alike(int64_t side, const std::function<bool(int64_t, int64_t)>& are_near) {
  std::vector<int64_t> first;
  for (int64_t i = 0; i < side; ++i) first.push_back(i > 0 && are_near(first.back(), i) ? first.back() : i);
  return first;
}

bool are_told(std::span<const int64_t> lengths, const std::vector<int64_t>& alike, const Resizing& method) {
  constexpr int64_t kMoreTold = 3;
  const auto side = static_cast<int64_t>(alike.size());
  const auto differ = static_cast<int64_t>(std::set(alike.begin(), alike.end()).size());
  if (differ == 1 || std::ranges::all_of(lengths, [&](int64_t n) { return n == side; })) return true;
  LinearSums places(side);
  for (const int64_t n : lengths)
    for (int64_t i = 0; i < n; ++i) {
      std::map<int64_t, double> weights;
      for (const Tap& tap : taps_at(i, n, side, method)) weights[alike[static_cast<size_t>(tap.at)]] += tap.weight;
      std::vector<Tap> sum;
      for (const auto& [at, weight] : weights) sum.push_back({at, weight});
      places.add(std::move(sum));
    }
  const int64_t more = static_cast<int64_t>(places.count_apart()) - differ;
  return more >= kMoreTold || more * 4 >= differ;
}

std::optional<LearnedGrid> recover(const LearnedGrid& resized, const Resizing& method, double scale) {
  if (resized.height > kLongestLearned || resized.width > kLongestLearned) return std::nullopt;
  const int64_t width = shorter_side(Lines(resized, false), method, scale),
                height = shorter_side(Lines(resized, true), method, scale);
  if (width == resized.width && height == resized.height) return std::nullopt;
  const LinearSums sums_across = sums_along(resized.width, width, method),
                   sums_down = sums_along(resized.height, height, method);
  const LeastSquares across(sums_across), down(sums_down);
  if (!across.leaves_none_open() || !down.leaves_none_open()) return std::nullopt;
  if (across.magnification() * down.magnification() > kMostMagnified) return std::nullopt;
  return solved(solved(resized, false, width, across), true, height, down);
}

}  // namespace thaw::lifting
