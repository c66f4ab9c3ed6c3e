// Terms of one trace: a size, a multiple, a few more or less of it, what is left of a round number, products and quotients of two, products
// of three, the larger or smaller of two. Sums and differences are met too often.
#include <algorithm>
#include <bit>

#include "thaw/lift/term/bits.h"

namespace thaw::lifting {
namespace {

using Shape = Forms::Shape;

constexpr int64_t kMostBeside = 4;
constexpr double kLargerOrSmaller = 3;  // the longest side of a grid has its table of angles
constexpr bool kAsOfCut = true;         // a number beside a size

// Whether both sides are cut by one number, which then is said once: patches of a grid.
bool are_cut_alike(const Forms::Form& a, const Forms::Form& b) {
  return is_cut(a) && a.shape == b.shape && a.n == b.n && a.p == b.p && a.part == b.part && a.of.expr() != b.of.expr();
}

}  // namespace

void Terms::find_of_one(int64_t wanted, std::vector<Found>& found) const {
  if (wanted <= 0) return;
  find_multiples_of_one(wanted, found);
  find_products_of_one(wanted, found);
  const std::vector<const Used*> atoms = plainest_atoms();
  for (size_t i = 0; i < atoms.size(); ++i)
    for (size_t j = i + 1; j < atoms.size(); ++j)
      for (const Operator op : {Operator::kMin, Operator::kMax}) {
        const int64_t x = atoms[i]->at().front(), y = atoms[j]->at().front();
        if ((op == Operator::kMin ? std::min(x, y) : std::max(x, y)) == wanted)
          found.push_back({op, atoms[i], atoms[j], 1, 0, atoms[i]->bits + atoms[j]->bits + kLargerOrSmaller});
      }
}

void Terms::find_multiples_of_one(int64_t wanted, std::vector<Found>& found) const {
  const auto add = [&](const Used& x, int64_t factor, int64_t more) {
    const bool is_part = x.is_exact && is_cut(*x.form) && !x.is_known;
    const double known = is_part ? bits_of_piece(x.form->n) - kBitsOfWindow : 0;
    const bool is_left = factor < 0;  // of a round number, which then is what has to be said
    const double number = is_left ? bits_of(more) + kMostBeside : bits_of_offset(more, kAsOfCut);
    found.push_back(
        {Operator::kNone, &x, nullptr, factor, more, x.bits - known + (is_left ? 0 : bits_of_factor(factor)) + number});
  };
  for (const Used& x : forms_) {
    const int64_t at = x.at().front();
    if (at <= 0 || is_factor(x)) continue;
    if (wanted % at == 0) add(x, wanted / at, 0);
    if (is_cut(*x.form) || wanted < 2) continue;
    const int64_t more = wanted - at, whole = wanted + at;
    if (more != 0 && std::abs(more) <= kMostBeside) add(x, 1, more);
    if (std::has_single_bit(static_cast<uint64_t>(whole)) && x.form->shape == Shape::kItself) add(x, -1, whole);
  }
}

void Terms::find_products_of_one(int64_t wanted, std::vector<Found>& found) const {
  const auto bits_of_pair = [](const Used& x, const Used& y) {
    if (!are_cut_alike(*x.form, *y.form)) return x.bits + y.bits;
    const bool is_told = x.is_exact && y.is_exact && !x.is_known;
    return x.bits + y.bits - y.form->bits - (is_told ? bits_of_piece(x.form->n) - kBitsOfWindow : 0);
  };
  const auto add = [&](const Used& x, const Used& y, int64_t factor, int64_t more) {
    found.push_back({Operator::kTimes, &x, &y, factor, more,
                     bits_of_pair(x, y) + kBitsOfProduct + bits_of_factor(factor) + bits_of_offset(more, false)});
  };
  for (size_t i = 0; i < num_of_pairs_; ++i)
    for (size_t j = i; j < num_of_pairs_; ++j) {
      const Used &x = forms_[i], &y = forms_[j];
      const int64_t a = x.at().front(), b = y.at().front();
      const bool is_plain = !is_cut(*x.form) && !is_cut(*y.form);
      if (a <= 0 || b <= 0 || is_factor(x) || is_factor(y)) continue;
      if (!is_plain && !are_cut_alike(*x.form, *y.form)) continue;
      const int64_t product = a * b;
      if (wanted % product == 0) add(x, y, wanted / product, 0);
      if (wanted == product + 1 && wanted > 2) add(x, y, 1, 1);
      for (const auto& [over, under] : {std::pair(&x, &y), std::pair(&y, &x)}) {
        const int64_t whole = over->at().front(), part = under->at().front();
        const bool divides = is_plain && i != j && whole % part == 0 && whole / part == wanted && wanted > 1;
        if (divides) found.push_back({Operator::kOver, over, under, 1, 0, x.bits + y.bits + kBitsOfQuotient});
      }
    }
  const std::vector<const Used*> atoms = plainest_atoms();
  for (size_t i = 0; i < atoms.size(); ++i)
    for (size_t j = i; j < atoms.size(); ++j)
      for (size_t k = j; k < atoms.size(); ++k) {
        const __int128 product =
            static_cast<__int128>(atoms[i]->at().front()) * atoms[j]->at().front() * atoms[k]->at().front();
        if (product <= 0 || wanted % product != 0) continue;
        const auto factor = static_cast<int64_t>(wanted / product);
        found.push_back({Operator::kTimes, atoms[i], atoms[j], factor, 0,
                         atoms[i]->bits + atoms[j]->bits + atoms[k]->bits + 2 * kBitsOfProduct + bits_of_factor(factor),
                         atoms[k]});
      }
  find_parts_of_products({&wanted, 1}, found);
}

}  // namespace thaw::lifting
