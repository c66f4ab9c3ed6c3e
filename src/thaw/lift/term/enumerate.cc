#include "thaw/lift/term/enumerate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace thaw::lifting {
namespace {

using dim::Dim;

constexpr int64_t kLargest = int64_t{1} << 28;  // of values: four times one, times another, is reckoned in 64 bits
constexpr int64_t kLargestPiece = 64;           // windows, patches and strides
constexpr int64_t kLargestShare = 8;            // of p / q
constexpr double kMostOfAPair = 11;             // bits of each of two forms that are combined
constexpr double kSum = 3, kDifference = 3.5, kProduct = 2, kQuotient = 4.5, kExtreme = 4.5;

double bits_of(int64_t n) {
  n = std::abs(n);
  if (n <= 1) return 1;
  const double length = std::log2(static_cast<double>(n));
  return std::has_single_bit(static_cast<uint64_t>(n)) ? 1 + 0.5 * length : 2 + length;
}
double bits_of_factor(int64_t n) { return n == 1 ? 0 : 0.5 + bits_of(n) + (n < 0 ? 3 : 0); }
double bits_of_offset(int64_t n) { return n == 0 ? 0 : 2.5 + 1.5 * bits_of(n); }

int64_t floor_of(int64_t a, int64_t n) { return a / n - (a % n < 0 ? 1 : 0); }
int64_t ceil_of(int64_t a, int64_t n) { return -floor_of(-a, n); }

bool is_small(int64_t v) { return v > -kLargest && v < kLargest; }

bool is_steady(std::span<const int64_t> at) {
  return std::ranges::all_of(at, [&](int64_t v) { return v == at.front(); });
}

}  // namespace

double bits_of_list(std::span<const int64_t> values) {
  double bits = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    const auto before = values.first(k);
    const bool is_known = std::ranges::find(before, values[k]) != before.end();
    bits += is_known ? 1 : std::log2(std::abs(static_cast<double>(values[k])) + 2);
  }
  return bits;
}

size_t Terms::HashValues::operator()(std::span<const int64_t> values) const {
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (const int64_t v : values) hash = (std::rotl(hash, 13) ^ static_cast<uint64_t>(v)) * 0xff51afd7ed558ccd;
  return hash ^ (hash >> 31);
}

Terms::Terms(std::vector<Atom> atoms, size_t num_traces, std::span<const int64_t> windows)
    : atoms_(std::move(atoms)), num_traces_(num_traces), windows_(windows.begin(), windows.end()) {
  std::ranges::stable_sort(atoms_, {}, &Atom::bits);
  for (uint32_t i = 0; i < atoms_.size(); ++i) {
    num_points_ = atoms_[i].at.size();
    if (std::ranges::all_of(atoms_[i].at, is_small) && !is_steady(atoms_[i].at)) add_forms(i);
  }
  std::ranges::stable_sort(forms_, {}, &Form::bits);
  std::unordered_set<Values, HashValues> functions;
  std::erase_if(forms_, [&](const Form& form) { return !functions.insert(form.at).second; });
  for (uint32_t i = 0; i < forms_.size(); ++i)
    by_traces_[Values(forms_[i].at.begin(), forms_[i].at.begin() + static_cast<std::ptrdiff_t>(num_traces_))].push_back(
        i);
}

double Terms::bits_of_piece(int64_t n) const {
  return std::ranges::find(windows_, n) != windows_.end() ? 1 : 0.5 + bits_of(n);
}

void Terms::add(Shape shape, uint32_t atom, int64_t n, int64_t p, double bits) {
  Form form{shape, atom, n, p, bits + atoms_[atom].bits, atoms_[atom].at};
  for (int64_t& v : form.at) {
    switch (shape) {
      case Shape::kItself:
        break;
      case Shape::kFloor:
        v = floor_of(v, n);
        break;
      case Shape::kCeil:
        v = ceil_of(v, n);
        break;
      case Shape::kUp:
        v = ceil_of(v, n) * n;
        break;
      case Shape::kDown:
        v = floor_of(v, n) * n;
        break;
      case Shape::kMissing:
        v = ceil_of(v, n) * n - v;
        break;
      case Shape::kLeft:
        v = v - floor_of(v, n) * n;
        break;
      case Shape::kShareDown:
        v = floor_of(v * p, n);
        break;
      case Shape::kShareUp:
        v = ceil_of(v * p, n);
        break;
      case Shape::kDistances:
        v = 2 * v - 1;
        break;
    }
  }
  forms_.push_back(std::move(form));
}

void Terms::add_forms(uint32_t atom) {
  add(Shape::kItself, atom, 1, 1, 0);
  add(Shape::kDistances, atom, 1, 1, 3);
  if (!atoms_[atom].is_cut) return;
  for (int64_t n = 2; n <= kLargestPiece; ++n) {
    const double piece = bits_of_piece(n);
    add(Shape::kFloor, atom, n, 1, 1 + piece);
    add(Shape::kCeil, atom, n, 1, 1.5 + piece);
    add(Shape::kUp, atom, n, 1, 2.5 + piece);
    add(Shape::kMissing, atom, n, 1, 3 + piece);
    add(Shape::kDown, atom, n, 1, 3.5 + piece);
    add(Shape::kLeft, atom, n, 1, 3.5 + piece);
  }
  for (int64_t n = 2; n <= kLargestShare; ++n)
    for (int64_t p = 2; p <= kLargestShare; ++p) {
      if (std::gcd(p, n) != 1) continue;
      add(Shape::kShareDown, atom, n, p, 2.5 + bits_of(n) + bits_of(p));
      add(Shape::kShareUp, atom, n, p, 3 + bits_of(n) + bits_of(p));
    }
}

// factor * form + more, both read off the traces.
void Terms::find_linear(Wanted wanted, std::vector<Found>& found) const {
  for (const Form& form : forms_) {
    size_t other = 1;
    while (other < num_traces_ && form.at[other] == form.at[0]) ++other;
    if (other == num_traces_) continue;
    const int64_t rise = wanted[other] - wanted[0], run = form.at[other] - form.at[0];
    if (rise == 0 || rise % run != 0) continue;
    const int64_t factor = rise / run, more = wanted[0] - factor * form.at[0];
    bool fits = true;
    for (size_t k = 0; k < num_traces_ && fits; ++k) fits = factor * form.at[k] + more == wanted[k];
    if (fits)
      found.push_back(
          {Operator::kNone, &form, nullptr, factor, more, form.bits + bits_of_factor(factor) + bits_of_offset(more)});
  }
}

// min(form, c) and max(form, c), with a trace on either side.
void Terms::find_bounded(Wanted wanted, std::vector<Found>& found) const {
  const auto [low, high] = std::ranges::minmax_element(wanted);
  for (const Form& form : forms_) {
    for (const auto& [op, bound] : {std::pair{Operator::kMin, *high}, std::pair{Operator::kMax, *low}}) {
      bool fits = true;
      size_t own = 0, cut = 0;
      for (size_t k = 0; k < num_traces_ && fits; ++k) {
        const int64_t v = op == Operator::kMin ? std::min(form.at[k], bound) : std::max(form.at[k], bound);
        fits = v == wanted[k];
        ++(form.at[k] == wanted[k] ? own : cut);
      }
      if (fits && own > 0 && cut > 0)
        found.push_back({op, &form, nullptr, 1, bound, form.bits + kExtreme + bits_of(bound)});
    }
  }
}

void Terms::find_pairs(Wanted wanted, std::vector<Found>& found) const {
  Values rest(num_traces_);
  const auto meet = [&](Operator op, const Form& x, double bits, auto other) {
    for (size_t k = 0; k < num_traces_; ++k) {
      const std::optional<int64_t> v = other(x.at[k], wanted[k]);
      if (!v) return;
      rest[k] = *v;
    }
    const auto known = by_traces_.find(rest);
    if (known == by_traces_.end()) return;
    for (const uint32_t i : known->second) {
      const Form& y = forms_[i];
      if (y.bits > kMostOfAPair) break;
      const bool is_commutative = op == Operator::kPlus || op == Operator::kTimes;
      if (!is_commutative || &x <= &y) found.push_back({op, &x, &y, 1, 0, x.bits + y.bits + bits});
    }
  };
  using Rest = std::optional<int64_t>;
  for (const Form& x : forms_) {
    if (x.bits > kMostOfAPair) break;
    meet(Operator::kPlus, x, kSum, [](int64_t v, int64_t want) -> Rest { return want - v; });
    meet(Operator::kMinus, x, kDifference, [](int64_t v, int64_t want) -> Rest { return v - want; });
    meet(Operator::kTimes, x, kProduct, [](int64_t v, int64_t want) -> Rest {
      if (v == 0 || want % v != 0) return std::nullopt;
      return want / v;
    });
    meet(Operator::kOver, x, kQuotient, [](int64_t v, int64_t want) -> Rest {
      if (want == 0 || v % want != 0) return std::nullopt;
      return v / want;
    });
  }
}

std::optional<Terms::Values> Terms::values(const Found& term) const {
  Values at(num_points_);
  for (size_t k = 0; k < num_points_; ++k) {
    const int64_t x = term.x->at[k], y = term.y ? term.y->at[k] : term.more;
    int64_t v = x;
    switch (term.op) {
      case Operator::kNone:
        break;
      case Operator::kPlus:
        v = x + y;
        break;
      case Operator::kMinus:
        v = x - y;
        break;
      case Operator::kTimes:
        v = x * y;
        break;
      case Operator::kOver:
        if (y == 0) return std::nullopt;
        v = floor_of(x, y);
        break;
      case Operator::kMin:
        v = std::min(x, y);
        break;
      case Operator::kMax:
        v = std::max(x, y);
        break;
    }
    at[k] = term.op == Operator::kNone ? v * term.factor + term.more : v;
  }
  return at;
}

Dim Terms::dim(const Form& form) const {
  const Dim a = atoms_[form.atom].size, n = form.n;
  switch (form.shape) {
    case Shape::kItself:
      return a;
    case Shape::kFloor:
      return dim::floor_div(a, n);
    case Shape::kCeil:
      return dim::ceil_div(a, n);
    case Shape::kUp:
      return dim::ceil_div(a, n) * n;
    case Shape::kDown:
      return dim::floor_div(a, n) * n;
    case Shape::kMissing:
      return dim::ceil_div(a, n) * n - a;
    case Shape::kLeft:
      return a - dim::floor_div(a, n) * n;
    case Shape::kShareDown:
      return dim::floor_div(a * Dim(form.p), n);
    case Shape::kShareUp:
      return dim::ceil_div(a * Dim(form.p), n);
    case Shape::kDistances:
      return a * Dim(2) - Dim(1);
  }
  return {};
}

Dim Terms::dim(const Found& term) const {
  const Dim x = dim(*term.x), y = term.y ? dim(*term.y) : Dim(term.more);
  switch (term.op) {
    case Operator::kNone:
      return x * Dim(term.factor) + Dim(term.more);
    case Operator::kPlus:
      return x + y;
    case Operator::kMinus:
      return x - y;
    case Operator::kTimes:
      return x * y;
    case Operator::kOver:
      return dim::floor_div(x, y);
    case Operator::kMin:
      return dim::min(x, y);
    case Operator::kMax:
      return dim::max(x, y);
  }
  return {};
}

std::vector<Term> Terms::find(Wanted wanted, size_t most) const {
  if (!std::ranges::all_of(wanted, is_small)) return {};
  std::vector<Found> found;
  std::vector<Term> terms;
  if (is_steady(wanted)) terms.push_back({Dim(wanted.front()), Values(num_points_, wanted.front()), 1});
  find_linear(wanted, found);
  if (!is_steady(wanted)) find_bounded(wanted, found);
  find_pairs(wanted, found);
  std::ranges::stable_sort(found, {}, &Found::bits);
  for (const Found& each : found) {
    if (terms.size() >= most) break;
    std::optional<Values> at = values(each);
    if (!at || std::ranges::any_of(terms, [&](const Term& known) { return known.at == *at; })) continue;
    if (const Dim size = dim(each); size.is_known()) terms.push_back({size, std::move(*at), each.bits});
  }
  return terms;
}

}  // namespace thaw::lifting
