#include "thaw/lift/solve/propose.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_map>

#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

using dim::Dim;
using Values = std::vector<int64_t>;

constexpr size_t kMostProposals = 24;
constexpr size_t kMostNamed = 2;       // of those that no point tells from a proposal
constexpr double kNearlyAsSimple = 3;  // bits
constexpr int64_t kLargestProposed = int64_t{1} << 31;

double bits(int64_t n) { return std::log2(static_cast<double>(n)); }

double cost_of_integer(int64_t n) {
  return std::has_single_bit(static_cast<uint64_t>(n)) ? 1 + 0.5 * bits(n) : 2 + bits(n);
}

struct Base {
  Dim dim;
  Values at;
  bool is_product = false;
};

// Of one point alone, nothing is known to be constant.
bool never_varies(const Values& at) {
  return at.size() > 1 && std::all_of(at.begin(), at.end(), [&](int64_t v) { return v == at.front(); });
}

Values in_each_point(const Base& a, const Base& b, int64_t (*f)(int64_t, int64_t)) {
  Values at;
  for (size_t k = 0; k < a.at.size(); ++k) at.push_back(f(a.at[k], b.at[k]));
  return at;
}

Base product_of(const Base& a, const Base& b) {
  return {a.dim * b.dim, in_each_point(a, b, [](int64_t x, int64_t y) {
            const bool small = std::abs(x) < kLargestProposed && std::abs(y) < kLargestProposed;
            return small ? x * y : kLargestProposed;
          })};
}

class Proposer {
 public:
  Proposer(int64_t value, std::span<const Point> points) : value_(value) {
    for (const Point& p : points) {
      const bool is_size =
          std::all_of(p.at.begin(), p.at.end(), [](int64_t v) { return v >= 0 && v < kLargestProposed; });
      if (!is_size) continue;
      (never_varies(p.at) ? fixed_ : bases_).push_back({p.symbol, p.at, p.product.is_known()});
      if (p.product.is_known()) products_.emplace(dim::scope_of(p.symbol)->symbol_id(p.symbol), p.product);
    }
  }

  std::vector<Proposal> run(size_t num_values) {
    found_.emplace_back(Dim(value_), Values(num_values, value_), value_ > 0 ? cost_of_integer(value_) : 1,
                        std::vector<std::string>());
    if (value_ > 0 && value_ < kLargestProposed) {
      // A size that is the same at every point: nothing tells it from the integer, but that is worth a word.
      for (const Base& base : fixed_) add(base.dim, base.at, 2.5);
      singles();
      pairs();
      triples();
    }
    return std::move(*this).ranked();
  }

 private:
  void add(Dim dim, Values at, double cost) {
    if (at.front() != value_ || dim.is_unknown()) return;
    for (const int64_t v : at)
      if (v < 0 || v >= kLargestProposed) return;
    if (never_varies(at) && dim.is_symbolic()) {
      // Nothing tells it from the integer. That is worth a word where it is the simpler of the two.
      if (cost < cost_of_integer(value_)) unseen_.emplace_back(cost, dim::to_string(dim));
      return;
    }
    found_.emplace_back(dim, std::move(at), cost, std::vector<std::string>());
  }

  static Values each(const Base& base, const std::function<int64_t(int64_t)>& f) {
    Values at;
    for (const int64_t v : base.at) at.push_back(f(v));
    return at;
  }

  // base, c * base, base / c where it is a whole number at the export.
  void scaled(const Base& base, double cost) {
    const int64_t at = base.at.front();
    if (at <= 0) return;
    if (at == value_) add(base.dim, base.at, cost);
    if (value_ % at == 0 && value_ > at) {
      const int64_t c = value_ / at;
      add(base.dim * Dim(c), each(base, [c](int64_t v) { return v * c; }), cost + 1 + bits(c));
    }
    if (at % value_ == 0 && at > value_) {
      const int64_t c = at / value_;
      add(dim::floor_div(base.dim, c), each(base, [c](int64_t v) { return v / c; }), cost + 1 + bits(c));
    }
  }

  void singles() {
    constexpr int64_t kLargestShift = 4;
    constexpr int64_t kDivisors[] = {2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 64};
    for (const Base& base : bases_) {
      const int64_t at = base.at.front();
      scaled(base, 2);
      const int64_t shift = value_ - at;
      if (shift != 0 && std::abs(shift) <= kLargestShift)
        add(base.dim + Dim(shift), each(base, [shift](int64_t v) { return v + shift; }),
            4 + static_cast<double>(std::abs(shift)));
      if (at <= 0 || value_ < 2) continue;
      if (std::has_single_bit(static_cast<uint64_t>(value_ + at))) {  // what is left of a round number
        const int64_t whole = value_ + at;
        add(Dim(whole) - base.dim, each(base, [whole](int64_t v) { return whole - v; }), 4 + cost_of_integer(whole));
      }
      for (const int64_t c : kDivisors) {
        if (at % c == 0) continue;
        add(dim::floor_div(base.dim, c), each(base, [c](int64_t v) { return v / c; }), 4.5 + bits(c));
        add(dim::ceil_div(base.dim, c), each(base, [c](int64_t v) { return (v + c - 1) / c; }), 4.5 + bits(c));
      }
    }
  }

  void pairs() {
    for (size_t i = 0; i < bases_.size(); ++i) {
      for (size_t j = 0; j < bases_.size(); ++j) {
        const Base &a = bases_[i], &b = bases_[j];
        if (a.is_product || b.is_product) continue;
        if (j >= i) scaled(product_of(a, b), 4);
        if (i == j) continue;
        if (j > i && products_.empty()) patches(a, b);
        if (j > i && value_ > 1) {
          add(dim::max(a.dim, b.dim), in_each_point(a, b, [](int64_t x, int64_t y) { return std::max(x, y); }), 6);
          add(dim::min(a.dim, b.dim), in_each_point(a, b, [](int64_t x, int64_t y) { return std::min(x, y); }), 6);
        }
        const bool divides = b.at.front() > 0 && a.at.front() % b.at.front() == 0 &&
                             std::all_of(b.at.begin(), b.at.end(), [](int64_t v) { return v > 0; });
        if (divides && value_ > 1)
          scaled({dim::floor_div(a.dim, b.dim), in_each_point(a, b, [](int64_t x, int64_t y) { return x / y; })}, 5);
      }
    }
  }

  // The patches of an image, d x d pixels each, and a class token before them. (Where a size counts them, it is that.)
  void patches(const Base& a, const Base& b) {
    constexpr int64_t kLargestPatch = 64;
    for (int64_t d = 2; d <= kLargestPatch; ++d) {
      if (a.at.front() % d != 0 || b.at.front() % d != 0) continue;
      const Base part = product_of({dim::floor_div(a.dim, d), each(a, [d](int64_t v) { return v / d; })},
                                   {dim::floor_div(b.dim, d), each(b, [d](int64_t v) { return v / d; })});
      const double cost = 5 + cost_of_integer(d) / 2;
      add(part.dim, part.at, cost);
      add(part.dim + Dim(1), each(part, [](int64_t v) { return v + 1; }), cost + 2);
    }
  }

  void triples() {
    for (size_t i = 0; i < bases_.size(); ++i)
      for (size_t j = i; j < bases_.size(); ++j)
        for (size_t k = j; k < bases_.size(); ++k) {
          if (bases_[i].is_product || bases_[j].is_product || bases_[k].is_product) continue;
          scaled(product_of(product_of(bases_[i], bases_[j]), bases_[k]), 6);
        }
  }

  std::vector<Proposal> ranked() && {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Proposal& a, const Proposal& b) { return a.cost < b.cost; });
    std::vector<Proposal> kept;
    std::map<Values, size_t> known;
    for (Proposal& p : found_) {
      const auto [at, is_new] = known.emplace(p.at, kept.size());
      if (is_new) {
        kept.push_back(std::move(p));
        continue;
      }
      Proposal& first = kept[at->second];
      if (first.same_here.size() == kMostNamed || p.cost > first.cost + kNearlyAsSimple) continue;
      if (dim::same(written_out(first.dim), written_out(p.dim))) continue;
      first.same_here.push_back(dim::to_string(p.dim));
    }
    // The integer itself stays among them whatever it costs.
    const auto integer = std::find_if(kept.begin(), kept.end(), [](const Proposal& p) { return p.dim.is_constant(); });
    std::sort(unseen_.begin(), unseen_.end());
    for (size_t i = 0; i < unseen_.size() && i < kMostNamed; ++i) integer->same_here.push_back(unseen_[i].second);
    if (kept.size() > kMostProposals) {
      if (integer - kept.begin() >= static_cast<std::ptrdiff_t>(kMostProposals))
        std::swap(kept[kMostProposals - 1], *integer);
      kept.resize(kMostProposals);
    }
    return kept;
  }

  // With products in the place of the sizes that they are.
  Dim written_out(Dim d) const { return d.is_symbolic() ? dim::substitute(d, products_) : d; }

  int64_t value_;
  std::unordered_map<int, Dim> products_;
  std::vector<std::pair<double, std::string>> unseen_;  // by cost: what is the integer itself at every point
  std::vector<Base> bases_, fixed_;
  std::vector<Proposal> found_;
};

}  // namespace

void find_products(std::span<Point> points) {
  for (Point& p : points) {
    if (never_varies(p.at)) continue;
    const auto is = [&](Dim dim, const Values& at) {
      if (at == p.at && p.product.is_unknown()) p.product = dim;
    };
    // The longest first: a factor that is 1 at every point belongs to it.
    for (int of = 3; of >= 2; --of) {
      for (size_t i = 0; i < points.size(); ++i) {
        for (size_t j = i + 1; j < points.size(); ++j) {
          const Point &a = points[i], &b = points[j];
          if (&a == &p || &b == &p || a.product.is_known() || b.product.is_known()) continue;
          const Base pair = product_of({a.symbol, a.at}, {b.symbol, b.at});
          if (of == 2) is(pair.dim, pair.at);
          for (size_t k = j + 1; of == 3 && k < points.size(); ++k) {
            const Point& c = points[k];
            if (&c == &p || c.product.is_known()) continue;
            const Base triple = product_of(pair, {c.symbol, c.at});
            is(triple.dim, triple.at);
          }
        }
      }
    }
  }
}

std::vector<Proposal> propose(int64_t value, std::span<const Point> points) {
  const size_t num_values = points.empty() ? 1 : points.front().at.size();
  return Proposer(value, points).run(num_values);
}

}  // namespace thaw::lifting
