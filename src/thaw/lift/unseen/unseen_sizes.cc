#include "thaw/lift/unseen/unseen_sizes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

#include "thaw/dim/expr/scope.h"
#include "thaw/lift/table/input_lines.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostUnseen = 16, kMostBeyond = 8, kMostBetween = 6, kMostOfAnyStep = 12;
// Sizes that are rounded otherwise may differ at one remainder alone: ceil(n/8) and ceil(floor(n/2)/4) where n is 1 more than a multiple.
// So the drawn ones have each: those between the traces the odd ones, in some order, and those beyond the even ones.
constexpr int64_t kRemainders = 16;

// Sizes to try: for each, the value of every variable.
class Probes {
 public:
  enum class Dims : uint8_t { kFollowOthers, kApart };

  // kApart: dims are drawn each for itself; they still follow from values.
  explicit Probes(std::span<const Variable> variables, Dims dims = Dims::kFollowOthers)
      : variables_(variables), follows_(variables.size()) {
    // A size that follows from others (patches of grids, a cache and what is new) is no size of its own.
    std::vector<Variable> others;
    for (const Variable& v : variables)
      if (v.kind == Variable::Kind::kValue) others.push_back(v);
    for (size_t i = 0; i < variables.size(); ++i) {
      const Variable& v = variables[i];
      if (v.kind != Variable::Kind::kDim) continue;
      const bool is_apart = dims == Dims::kApart;
      if (v.varies() && (is_apart || !note_sum(i))) follows_[i] = out_of(v, others);
      if (!is_apart) others.push_back(v);
    }
  }

  const std::vector<dim::Dim>& follows() const { return follows_; }

  std::vector<std::vector<int64_t>> draw() const {
    return draw(kMostUnseen, [&](const Variable& v, size_t n, std::mt19937_64& random) {
      return n % 2 == 0 ? mixed(v, random) : other(v, n, random);
    });
  }
  std::vector<std::vector<int64_t>> draw_beyond() const {
    return draw(kMostBeyond,
                [&](const Variable& v, size_t n, std::mt19937_64& random) { return beyond(v, 2 * n, random); });
  }
  std::vector<std::vector<int64_t>> draw_outside() const {
    constexpr size_t kMostOutside = 32;
    constexpr int64_t kNumParts = 4, kTimes = 2;
    return draw(kMostOutside, [&](const Variable& v, size_t n, std::mt19937_64& random) {
      const auto [low, high] = std::ranges::minmax(v.at);
      if (v.kind != Variable::Kind::kDim || !v.varies() || low < 1 || high > kLargest) return other(v, n, random);
      const int64_t unit = n / 2 % 2 == 0 ? common_divisor(v.at) : 1;
      const int64_t least = low / kNumParts / unit * unit + low % unit;
      return n % 2 == 0 ? between(v, high, kTimes * high, n / 4, random, unit)
                        : between(v, std::max<int64_t>(least, 1), low, n / 4, random, unit);
    });
  }
  std::vector<std::vector<int64_t>> draw_any_step() const {
    const auto divides = [](const Variable& v) {
      return v.varies() && v.kind == Variable::Kind::kDim && common_divisor(v.at) > 1;
    };
    if (std::ranges::none_of(variables_, divides)) return {};
    return draw(kMostOfAnyStep, [&](const Variable& v, size_t n, std::mt19937_64& random) {
      if (!divides(v)) return other(v, n, random);
      const auto [low, high] = std::minmax_element(v.at.begin(), v.at.end());
      if (*low < 0 || *high > kLargest) return mixed(v, random);
      return between(v, *low, *high, n, random, 1);
    });
  }
  std::vector<std::vector<int64_t>> draw_between(size_t index, int64_t modulus) const {
    if (follows_[index].is_known()) return {};
    return draw(kMostBetween, [&](const Variable& v, size_t, std::mt19937_64& random) {
      if (&v != &variables_[index]) return mixed(v, random);
      const auto [low, high] = std::minmax_element(v.at.begin(), v.at.end());
      if (*low < -kLargest || *high > kLargest) return mixed(v, random);
      const auto steps = static_cast<uint64_t>((*high - *low) / modulus + 1);
      return *low + modulus * static_cast<int64_t>(random() % steps);
    });
  }
  std::vector<std::vector<int64_t>> one_by_one() const {
    constexpr int64_t kMostOfOne = 2048;
    std::vector<std::vector<int64_t>> all;
    for (size_t i = 0; i < variables_.size(); ++i) {
      const Variable& v = variables_[i];
      const auto [low, high] = std::minmax_element(v.at.begin(), v.at.end());
      if (!v.varies() || follows_[i].is_known() || *low < -kLargest || *high > kLargest) continue;
      const int64_t unit = v.kind == Variable::Kind::kDim ? 1 : common_divisor(v.at);
      const int64_t step = unit * ((*high - *low) / unit / kMostOfOne + 1);
      int64_t trace = 0;
      for (int64_t size = *low; size <= *high; size += step, ++trace) {
        std::vector<int64_t>& sizes = all.emplace_back();
        for (const Variable& each : variables_) sizes.push_back(each.at[static_cast<size_t>(trace) % each.at.size()]);
        sizes[i] = size;
        follow(sizes);
      }
    }
    return all;
  }

 private:
  std::vector<std::vector<int64_t>> draw(size_t most, auto size_of) const {
    std::mt19937_64 random(1);
    std::vector<std::vector<int64_t>> all;
    for (size_t n = 0; n < most; ++n) {
      std::vector<int64_t> sizes;
      for (const Variable& v : variables_) sizes.push_back(size_of(v, n, random));
      follow(sizes);
      all.push_back(std::move(sizes));
    }
    return all;
  }

  // Those that follow from others: each pass settles one at least, as none follows from itself.
  void follow(std::vector<int64_t>& sizes) const {
    for (size_t pass = 0; pass < sizes.size(); ++pass) {
      const dim::Assignment at = assignment_at(variables_, sizes);
      const std::vector<int64_t> before = sizes;
      for (size_t i = 0; i < sizes.size(); ++i)
        if (follows_[i].is_known()) sizes[i] = dim::evaluate(follows_[i], at).value_or(sizes[i]);
      if (sizes == before) return;
    }
  }

  // Of `last` and the dims before it one may be the sum of two others, in whatever order they are declared: a mask's, of a cache and
  // what is new. Plainer than a quotient that explains the same numbers.
  bool note_sum(size_t last) {
    const auto is_free = [&](size_t i) {
      return variables_[i].kind == Variable::Kind::kDim && variables_[i].varies() && !follows_[i].is_known();
    };
    for (size_t sum = last + 1; sum-- > 0;) {
      if (!is_free(sum)) continue;
      std::vector<Variable> parts;
      for (size_t other = 0; other <= last; ++other)
        if (other != sum && is_free(other)) parts.push_back(variables_[other]);
      const auto found = sum_of_two(variables_[sum].at, parts);
      if (!found) continue;
      follows_[sum] = *found;
      return true;
    }
    return false;
  }

  static dim::Dim out_of(const Variable& v, const std::vector<Variable>& others) {
    const std::vector<Solution> plain = Solver(others).solutions(v.at, 1);
    if (!plain.empty() && plain.front().rule <= Rule::kLine) return plain.front().dim;
    if (const auto found = sum_of_two(v.at, others)) return *found;
    return sum_of_lines(v.at, others).value_or(dim::Dim());
  }

  static int64_t mixed(const Variable& v, std::mt19937_64& random) { return v.at[random() % v.at.size()]; }
  int64_t other(const Variable& v, size_t n, std::mt19937_64& random) const {
    const auto [low, high] = std::minmax_element(v.at.begin(), v.at.end());
    return between(v, *low, *high, n, random);
  }
  // Only of dims: a value may be an index, which has an end.
  int64_t beyond(const Variable& v, size_t n, std::mt19937_64& random) const {
    const auto [low, high] = std::minmax_element(v.at.begin(), v.at.end());
    if (v.kind != Variable::Kind::kDim || *low < 0 || *high > kLargest) return other(v, n, random);
    return between(v, *high, 2 * *high, n, random);
  }
  // The n-th of those drawn: of the remainder that is n's, another one for each variable.
  int64_t between(const Variable& v, int64_t low, int64_t high, size_t n, std::mt19937_64& random,
                  std::optional<int64_t> step = {}) const {
    if (!v.varies()) return v.at.front();
    if (std::ranges::any_of(v.at, [](int64_t at) { return at < -kLargest || at > kLargest; })) return mixed(v, random);
    const int64_t unit = step.value_or(common_divisor(v.at));
    const int64_t steps = (high - low) / unit + 1, index = &v - variables_.data();
    const int64_t remainder = static_cast<int64_t>(n) * (2 * index + 1) + 2 * index - low / unit;
    const int64_t first = ((remainder % kRemainders) + kRemainders) % kRemainders;
    if (first >= steps) return low + unit * (first % steps);
    const int64_t turns = (steps - 1 - first) / kRemainders + 1;
    return low + unit * (first + kRemainders * static_cast<int64_t>(random() % static_cast<uint64_t>(turns)));
  }

  static constexpr int64_t kLargest = int64_t{1} << 31;  // what is beyond it is no size, and its differences overflow

  std::span<const Variable> variables_;
  std::vector<dim::Dim> follows_;
};

}  // namespace

std::vector<std::vector<int64_t>> unseen_sizes(std::span<const Variable> variables) { return Probes(variables).draw(); }

std::vector<std::vector<int64_t>> sizes_apart(std::span<const Variable> variables) {
  return Probes(variables, Probes::Dims::kApart).draw();
}

std::vector<std::vector<int64_t>> sizes_beyond(std::span<const Variable> variables) {
  return Probes(variables).draw_beyond();
}

std::vector<std::vector<int64_t>> sizes_outside(std::span<const Variable> variables) {
  return Probes(variables).draw_outside();
}

std::vector<std::vector<int64_t>> sizes_of_any_step(std::span<const Variable> variables) {
  return Probes(variables).draw_any_step();
}

std::vector<std::vector<int64_t>> sizes_between(std::span<const Variable> variables, size_t index, int64_t modulus) {
  return Probes(variables).draw_between(index, modulus);
}

std::vector<std::vector<int64_t>> sizes_one_by_one(std::span<const Variable> variables) {
  return Probes(variables).one_by_one();
}

std::vector<dim::Dim> followed_sizes(std::span<const Variable> variables) { return Probes(variables).follows(); }

std::vector<dim::Dim> followed_apart(std::span<const Variable> variables) {
  return Probes(variables, Probes::Dims::kApart).follows();
}

std::vector<std::vector<int64_t>> extreme_sizes(std::span<const Variable> variables, bool from_one) {
  constexpr size_t kMost = 8, kMostAlone = 64;
  constexpr int64_t kFarTimes = 16;
  std::vector<int64_t> low, high;
  for (const Variable& v : variables) {
    low.push_back(from_one && std::ranges::min(v.at) > 0 ? 1 : std::ranges::min(v.at));
    const int64_t most = std::ranges::max(v.at);
    high.push_back(v.varies() && most < INT64_MAX / kFarTimes ? most * kFarTimes : most);
  }
  std::vector<std::vector<int64_t>> sizes;
  const bool are_few = variables.size() <= kMost;
  const size_t count = are_few ? size_t{1} << variables.size() : 2 * std::min(variables.size(), kMostAlone);
  for (size_t k = 0; k < count; ++k) {
    std::vector<int64_t>& each = sizes.emplace_back(are_few || k % 2 == 0 ? low : high);
    for (size_t i = 0; i < variables.size(); ++i)
      if (are_few ? (k >> i & 1) != 0 : i == k / 2) each[i] = !are_few && k % 2 != 0 ? low[i] : high[i];
  }
  return sizes;
}

}  // namespace thaw::lifting
