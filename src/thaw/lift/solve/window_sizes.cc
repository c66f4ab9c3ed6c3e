#include "thaw/lift/solve/window_sizes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

namespace thaw::lifting {
namespace {

using dim::Dim;

constexpr int64_t kLargestWindowSide = 64;
constexpr size_t kMostVariables = 12;  // pairs of them are tried

struct CellsOfVariable {
  const Variable* variable;
  int64_t part;
  std::vector<int64_t> at;
  Dim dim() const { return part == 1 ? variable->symbol : dim::floor_div(variable->symbol, part); }
};

// Sides of no tensor, which a trace may declare, would overflow.
constexpr int64_t kLongestTracedSide = int64_t{1} << 31;

std::vector<CellsOfVariable> possible_cells(std::span<const Variable> variables, int64_t largest_part) {
  std::vector<CellsOfVariable> cells;
  for (const Variable& v : variables) {
    for (int64_t part = largest_part; part >= 1; --part) {
      CellsOfVariable c{&v, part, v.at};
      const bool exact = std::all_of(c.at.begin(), c.at.end(),
                                     [&](int64_t at) { return at > 0 && at <= kLongestTracedSide && at % part == 0; });
      if (!exact || !v.varies()) continue;
      for (int64_t& at : c.at) at /= part;
      cells.push_back(std::move(c));
    }
  }
  return cells;
}

int64_t windows(int64_t cells, int64_t size) { return (cells + size - 1) / size; }

class WindowSearch {
 public:
  WindowSearch(std::span<const Variable> sides, std::span<const Variable> multiples, std::span<const int64_t> wanted,
               const std::function<bool(Dim)>& take, WindowLimits limits)
      : multiples_(multiples),
        wanted_(wanted),
        take_(take),
        limits_(limits),
        cells_(possible_cells(sides, limits.largest_part)) {}

  void run() {
    for (int64_t m = 2; m <= kLargestWindowSide && !enough_; ++m) {
      if (limits_.only != 0 && m != limits_.only) continue;
      for (const CellsOfVariable& c : cells_) along_one_side(c, m);
      if (multiples_.size() > kMostVariables) continue;
      over_two_sides(m, nullptr);
      for (const Variable& per : multiples_) over_two_sides(m, &per);
    }
  }

 private:
  // Whether value(k) is what is wanted in each trace k.
  bool holds(auto value) const {
    if (enough_) return false;
    for (size_t k = 0; k < wanted_.size(); ++k)
      if (value(k) != wanted_[k]) return false;
    return true;
  }
  void found(Dim dim) { enough_ = take_(dim); }

  void along_one_side(const CellsOfVariable& c, int64_t m) {
    const auto whole = [&](size_t k) { return windows(c.at[k], m) * m; };
    const auto rounded = [&] { return dim::ceil_div(c.dim(), m) * Dim(m); };
    const int64_t more = wanted_[0] - whole(0);
    if (holds([&](size_t k) { return c.at[k] / m; })) found(dim::floor_div(c.dim(), m));
    if (holds([&](size_t k) { return windows(c.at[k], m); })) found(dim::ceil_div(c.dim(), m));
    if (holds([&](size_t k) { return whole(k) - c.at[k]; })) found(rounded() - c.dim());
    // Where windows fill the side in every trace, nothing speaks for them: a few more than the side is just that.
    bool fills = true;
    for (size_t k = 0; k < wanted_.size(); ++k) fills &= whole(k) == c.at[k];
    if (fills && more != 0) return;
    // Two traces meet a window of some size, and a few more, whatever it is.
    if (more != 0 && limits_.only == 0 && std::set<int64_t>(c.at.begin(), c.at.end()).size() < 3) return;
    if (std::abs(more) < m && holds([&](size_t k) { return whole(k) + more; })) found(rounded() + Dim(more));
  }

  // Windows over two sides, for each of `per`. Patches are square as a rule: equal parts come first.
  void over_two_sides(int64_t m, const Variable* per) {
    for (const bool square : {true, false}) over_two_sides(m, per, square);
  }
  void over_two_sides(int64_t m, const Variable* per, bool square) {
    for (const CellsOfVariable& a : cells_) {
      for (const CellsOfVariable& b : cells_) {
        if (a.variable >= b.variable || (a.part == b.part) != square) continue;
        const auto count = [&](size_t k) {
          std::optional<int64_t> all = windows(a.at[k], m) * windows(b.at[k], m);
          if (per && __builtin_mul_overflow(*all, per->at[k], &*all)) all.reset();
          return all;
        };
        if (!holds(count)) continue;
        const Dim all = dim::ceil_div(a.dim(), m) * dim::ceil_div(b.dim(), m);
        found(per ? all * per->symbol : all);
      }
    }
  }

  std::span<const Variable> multiples_;
  std::span<const int64_t> wanted_;
  const std::function<bool(Dim)>& take_;
  WindowLimits limits_;
  std::vector<CellsOfVariable> cells_;
  bool enough_ = false;
};

}  // namespace

void solve_windows(std::span<const Variable> sides, std::span<const Variable> multiples,
                   std::span<const int64_t> wanted, const std::function<bool(Dim)>& take, WindowLimits limits) {
  WindowSearch(sides, multiples, wanted, take, limits).run();
}

}  // namespace thaw::lifting
