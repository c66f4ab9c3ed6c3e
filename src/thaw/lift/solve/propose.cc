#include "thaw/lift/solve/propose.h"

#include <algorithm>
#include <utility>

#include "thaw/dim/expr/expr.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/term/bits.h"

namespace thaw::lifting {
namespace {

using dim::Dim;
using Values = std::vector<int64_t>;

constexpr size_t kMostProposals = 24, kMostLookedAt = 200;
constexpr double kSize = 1;                             // bits
constexpr int64_t kLargestProposed = int64_t{1} << 28;  // as of terms

bool is_size(const Values& at) {
  return std::ranges::all_of(at, [](int64_t v) { return v >= 0 && v < kLargestProposed; });
}

// Of each point; 0 where it is too large for any integer that is asked for.
Values product_of(const Values& a, const Values& b) {
  Values product(a.size());
  for (size_t k = 0; k < a.size(); ++k)
    if (__builtin_mul_overflow(a[k], b[k], &product[k])) product[k] = 0;
  return product;
}

}  // namespace

void find_products(std::span<Point> points) {
  for (Point& p : points) {
    if (is_steady(p.at)) continue;
    const auto is = [&](Dim dim, const Values& at) {
      if (at == p.at && p.product.is_unknown()) p.product = dim;
    };
    // The longest first: a factor that is 1 at every point belongs to it.
    for (int of = 3; of >= 2; --of) {
      for (size_t i = 0; i < points.size(); ++i) {
        for (size_t j = i + 1; j < points.size(); ++j) {
          const Point &a = points[i], &b = points[j];
          if (&a == &p || &b == &p || a.product.is_known() || b.product.is_known()) continue;
          const Dim pair = a.symbol * b.symbol;
          const Values at = product_of(a.at, b.at);
          if (of == 2) is(pair, at);
          for (size_t k = j + 1; of == 3 && k < points.size(); ++k) {
            const Point& c = points[k];
            if (&c == &p || c.product.is_known()) continue;
            is(pair * c.symbol, product_of(at, c.at));
          }
        }
      }
    }
  }
}

Proposer::Proposer(std::span<const Point> points) : num_values_(points.empty() ? 1 : points.front().at.size()) {
  std::vector<Atom> atoms;
  for (const Point& point : points) {
    if (!is_size(point.at)) continue;
    points_.push_back(point);
    if (!is_steady(point.at)) atoms.push_back({.size = point.symbol, .at = point.at, .bits = kSize});
  }
  if (!atoms.empty()) terms_.emplace(std::move(atoms), 1, forms_);
}

// Beside other sizes: which it is made of. Nor are parts of these multiplied where a size is a product.
bool Proposer::is_of_product(Dim size) const {
  const std::vector<int> symbols = dim::symbols_of(size);
  if (symbols.size() < 2) return false;
  bool is_cut = false;
  for_each_floor(size, [&](const dim::Atom&) { is_cut = true; });
  return std::ranges::any_of(points_, [&](const Point& point) {
    if (point.product.is_unknown() || is_steady(point.at)) return false;
    return is_cut || std::ranges::count(symbols, dim::scope_of(point.symbol)->symbol_id(point.symbol)) > 0;
  });
}

std::vector<Proposal> Proposer::proposals_of(int64_t value) const {
  Proposal integer{Dim(value), Values(num_values_, value), value > 0 ? bits_of(value) : 1};
  std::vector<Proposal> found;
  if (value <= 0 || value >= kLargestProposed) return {integer};
  // A size that is the same at every point: nothing tells it from the integer, but that is worth a word where it is the simpler of the two.
  for (const Point& point : points_)
    if (is_steady(point.at) && point.at.front() == value && kSize < integer.cost)
      integer.same_here.push_back(point.symbol);
  for (Term& term : terms_ ? terms_->find({&value, 1}, kMostLookedAt) : std::vector<Term>()) {
    if (!is_size(term.at) || is_of_product(term.size)) continue;
    std::erase_if(term.same, [&](Dim other) { return is_of_product(other); });
    if (is_steady(term.at)) {
      if (term.bits < integer.cost) integer.same_here.push_back(term.size);
    } else if (found.size() + 1 < kMostProposals) {
      found.push_back({term.size, std::move(term.at), term.bits, std::move(term.same)});
    }
  }
  const auto dearer = std::ranges::lower_bound(found, integer.cost, {}, &Proposal::cost);
  found.insert(dearer, std::move(integer));
  return found;
}

const std::vector<Proposal>& Proposer::propose(int64_t value) {
  const auto known = known_.find(value);
  return known != known_.end() ? known->second : known_.emplace(value, proposals_of(value)).first->second;
}

}  // namespace thaw::lifting
