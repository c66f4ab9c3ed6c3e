#include "thaw/lift/table/learned_grid.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

namespace thaw::lifting {
namespace {

constexpr int64_t kLongestLearned = 512;

// Resizing along one side: n sums of a few of `side` entries each, and what solves them in least squares. Sums overlap
// with their neighbours alone, so that the normal equations are a band.
class SideMap {
 public:
  SideMap(int64_t n, int64_t side, const Resizing& method) : side_(static_cast<size_t>(side)) {
    for (int64_t i = 0; i < n; ++i) {
      rows_.push_back(taps_at(i, n, side, method));
      const auto [first, last] = std::ranges::minmax(rows_.back(), {}, &Tap::at);
      band_ = std::max(band_, static_cast<size_t>(last.at - first.at));
    }
    factor();
  }
  bool is_solvable() const { return solvable_; }
  size_t length() const { return rows_.size(); }

  std::vector<double> map(const std::vector<double>& entries) const {
    std::vector<double> sums(rows_.size(), 0);
    for (size_t i = 0; i < rows_.size(); ++i)
      for (const Tap& tap : rows_[i]) sums[i] += tap.weight * entries[static_cast<size_t>(tap.at)];
    return sums;
  }

  std::vector<double> solve(const std::vector<double>& sums) const {
    std::vector<double> x(side_, 0);
    for (size_t i = 0; i < rows_.size(); ++i)
      for (const Tap& tap : rows_[i]) x[static_cast<size_t>(tap.at)] += tap.weight * sums[i];
    for (size_t i = 0; i < side_; ++i) {
      for (size_t d = 1; d <= std::min(i, band_); ++d) x[i] -= lower(i, d) * x[i - d];
      x[i] /= lower(i, 0);
    }
    for (size_t i = side_; i-- > 0;) {
      for (size_t d = 1; d <= band_ && i + d < side_; ++d) x[i] -= lower(i + d, d) * x[i + d];
      x[i] /= lower(i, 0);
    }
    return x;
  }

  double magnification() const {
    return lifting::magnification(rows_.size(), [this](const auto& sums) { return solve(sums); });
  }

 private:
  double& lower(size_t i, size_t d) { return lower_[i * (band_ + 1) + d]; }  // of row i, d columns before i
  double lower(size_t i, size_t d) const { return lower_[i * (band_ + 1) + d]; }

  // Cholesky's, in place of the normal equations.
  void factor() {
    constexpr double kLeastPivot = 1e-6;
    lower_.assign(side_ * (band_ + 1), 0);
    for (const std::vector<Tap>& row : rows_)
      for (const Tap& a : row)
        for (const Tap& b : row)
          if (b.at <= a.at) lower(static_cast<size_t>(a.at), static_cast<size_t>(a.at - b.at)) += a.weight * b.weight;
    for (size_t i = 0; i < side_; ++i) {
      for (size_t d = std::min(i, band_); d > 0; --d) {
        for (size_t k = d + 1; k <= std::min(i, band_); ++k) lower(i, d) -= lower(i, k) * lower(i - d, k - d);
        lower(i, d) /= lower(i - d, 0);
      }
      for (size_t d = 1; d <= std::min(i, band_); ++d) lower(i, 0) -= lower(i, d) * lower(i, d);
      if (lower(i, 0) < kLeastPivot) return;
      lower(i, 0) = std::sqrt(lower(i, 0));
    }
    solvable_ = true;
  }

  size_t side_, band_ = 0;
  std::vector<std::vector<Tap>> rows_;
  std::vector<double> lower_;
  bool solvable_ = false;
};

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

// Whether a line is the map of what solves it.
bool is_image(const std::vector<double>& line, const SideMap& map, double scale) {
  const std::vector<double> again = map.map(map.solve(line));
  return std::ranges::equal(line, again, [&](double x, double y) { return std::abs(x - y) <= kMostUnequal * scale; });
}

// The shortest side that gives a few lines; the side itself where none is shorter.
int64_t shorter_side(const Lines& lines, const Resizing& method, double scale) {
  constexpr int64_t kFewLines = 6;
  const int64_t n = lines.length(), step = std::max<int64_t>(1, lines.count() / kFewLines);
  std::vector<std::vector<double>> some;
  for (int64_t line = 0; line < lines.count(); line += step) some.push_back(lines.at(line));
  for (int64_t side = 2; side < n; ++side) {
    const SideMap map(n, side, method);
    if (map.is_solvable() && std::ranges::all_of(some, [&](const auto& line) { return is_image(line, map, scale); }))
      return side;
  }
  return n;
}

// A grid with one side solved.
LearnedGrid solved(const LearnedGrid& grid, bool down, int64_t side, const SideMap& map) {
  LearnedGrid out{down ? side : grid.height, down ? grid.width : side, grid.channels, {}};
  out.entries.resize(static_cast<size_t>(out.height * out.width * out.channels));
  const Lines lines(grid, down);
  for (int64_t line = 0; line < lines.count(); ++line) {
    const std::vector<double> x = map.solve(lines.at(line));
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

// What an entry weighs that is so far from the place.
double weight_at(double distance, bool is_linear, double cubic) {
  const double d = std::abs(distance);
  if (is_linear) return std::max(0.0, 1 - d);
  if (d <= 1) return ((cubic + 2) * d - (cubic + 3)) * d * d + 1;
  return d < 2 ? ((cubic * d - 5 * cubic) * d + 8 * cubic) * d - 4 * cubic : 0;
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
  const double shrunk = method.antialias && n < side ? static_cast<double>(n) / static_cast<double>(side) : 1;
  const int64_t before =
      -static_cast<int64_t>(std::floor((is_linear ? -1 : -2) / shrunk) + 1);  // entries before the place's
  const bool misread = method.misread && is_misread(i, n, side, before + 1);
  // Then x may be a bit less than the entry here.
  const double low = misread ? std::round(x) - 1 : std::floor(x), t = misread ? 0 : x - low;
  std::vector<Tap> taps;
  double sum = 0;
  for (int64_t d = -before; d <= before + 1; ++d) {
    const double at = low + static_cast<double>(d), inside = std::clamp(at, 0.0, static_cast<double>(side - 1));
    const double weight = weight_at((static_cast<double>(d) - t) * shrunk, is_linear, method.antialias ? -0.5 : -0.75);
    if (method.antialias && (at != inside || weight == 0)) continue;
    taps.push_back({static_cast<int64_t>(inside), weight});
    sum += weight;
  }
  if (method.antialias)
    for (Tap& tap : taps) tap.weight /= sum;
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

ir::Value* emit_at_least(dim::Dim side, int64_t least, TableEmitter& e) {
  ir::Value* lacking = e.emit("Min", {e.sub(e.size(side), e.list({least})), e.list({0})});
  return e.emit("Gather",
                {e.size(side), e.mul(lacking, e.list({2}))});  // at -1 stands the last one, which is the first
}

double magnification(size_t sums, const std::function<std::vector<double>(const std::vector<double>&)>& solve) {
  std::vector<double> most, unit(sums, 0);
  for (double& one : unit) {
    one = 1;
    const std::vector<double> x = solve(unit);
    most.resize(x.size(), 0);
    for (size_t k = 0; k < x.size(); ++k) most[k] += std::abs(x[k]);
    one = 0;
  }
  return *std::ranges::max_element(most);
}

std::optional<LearnedGrid> recover(const LearnedGrid& resized, const Resizing& method, double scale) {
  if (resized.height > kLongestLearned || resized.width > kLongestLearned) return std::nullopt;
  const int64_t width = shorter_side(Lines(resized, false), method, scale),
                height = shorter_side(Lines(resized, true), method, scale);
  if (width == resized.width && height == resized.height) return std::nullopt;
  const SideMap across(resized.width, width, method), down(resized.height, height, method);
  if (!across.is_solvable() || !down.is_solvable()) return std::nullopt;
  if (across.magnification() * down.magnification() > kMostMagnified) return std::nullopt;
  return solved(solved(resized, false, width, across), true, height, down);
}

}  // namespace thaw::lifting
