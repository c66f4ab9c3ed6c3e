// Terms of one trace: a size, a multiple, a part, a few more or less of it, what is left of a round number, products and quotients of two,
// products of three, the larger or smaller of two. Sums and differences are met too often, as are parts that nobody cuts.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <tuple>

#include "thaw/lift/term/bits.h"
#include "thaw/lift/term/enumerate.h"

namespace thaw::lifting {
namespace {

using Shape = Forms::Shape;

constexpr int64_t kMostBeside = 4;
constexpr double kLargerOrSmaller = 3;  // the longest side of a grid has its table of angles
constexpr double kPatches = 1.5;        // fewer, of two sides that are cut alike
constexpr bool kAsOfCut = true;         // a number beside a size

constexpr std::array<int64_t, 16> kDivisors = {2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 64};

// Whether both sides are cut by one number, which then is said once: patches of a grid.
bool are_cut_alike(const Forms::Form& a, const Forms::Form& b) {
  return is_cut(a) && a.shape == b.shape && a.n == b.n && a.p == b.p && a.part == b.part && a.of.expr() != b.of.expr();
}

}  // namespace

bool Terms::may_be_of_one(const Forms::Form& form, bool is_exact) {
  if (!is_cut(form)) return !is_factor(form);
  const bool is_part = form.part == 1 && (form.shape == Shape::kFloor || form.shape == Shape::kCeil);
  return is_part && (is_exact || std::ranges::find(kDivisors, form.n) != kDivisors.end());
}

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
    const bool is_left = factor < 0;  // of a round number, which then is what has to be said
    const double number = is_left ? bits_of(more) + kMostBeside : bits_of_offset(more, kAsOfCut);
    found.push_back(
        {Operator::kNone, &x, nullptr, factor, more, x.bits + (is_left ? 0 : bits_of_factor(factor)) + number});
  };
  for (const Used& x : forms_) {
    const int64_t at = x.at().front();
    if (at <= 0) continue;
    if (wanted % at == 0 && (at == wanted || x.form->shape == Shape::kItself)) add(x, wanted / at, 0);
    if (is_cut(*x.form) || wanted < 2) continue;
    const int64_t more = wanted - at, whole = wanted + at;
    if (more != 0 && std::abs(more) <= kMostBeside) add(x, 1, more);
    if (std::has_single_bit(static_cast<uint64_t>(whole)) && x.form->shape == Shape::kItself) add(x, -1, whole);
  }
}

void Terms::find_products_of_one(int64_t wanted, std::vector<Found>& found) const {
  const auto bits_of_pair = [](const Used& x, const Used& y) {
    const bool are_alike = are_cut_alike(*x.form, *y.form);
    return x.bits + y.bits - (are_alike ? y.form->bits + kPatches : 0);
  };
  const auto add = [&](const Used& x, const Used& y, int64_t factor, int64_t more) {
    found.push_back({Operator::kTimes, &x, &y, factor, more,
                     bits_of_pair(x, y) + kBitsOfProduct + bits_of_factor(factor) + bits_of_offset(more, false)});
  };
  // Those that are as they are, and those that are cut alike.
  std::map<std::tuple<Shape, int64_t>, std::vector<const Used*>> alike;
  for (size_t i = 0; i < num_of_pairs_; ++i)
    if (forms_[i].at().front() > 0)
      alike[is_cut(*forms_[i].form) ? std::tuple(forms_[i].form->shape, forms_[i].form->n)
                                    : std::tuple(Shape::kItself, int64_t{1})]
          .push_back(&forms_[i]);
  for (const auto& [cut, used] : alike)
    for (size_t i = 0; i < used.size(); ++i)
      for (size_t j = i; j < used.size(); ++j) {
        const Used &x = *used[i], &y = *used[j];
        const bool is_plain = !is_cut(*x.form);
        if (!is_plain && !are_cut_alike(*x.form, *y.form)) continue;
        const int64_t product = x.at().front() * y.at().front();
        if (wanted % product == 0 && (is_plain || wanted == product)) add(x, y, wanted / product, 0);
        if (wanted == product + 1 && wanted > 2) add(x, y, 1, 1);
        for (const auto& [over, under] : {std::pair(&x, &y), std::pair(&y, &x)}) {
          const int64_t whole = over->at().front(), part = under->at().front();
          const bool divides = is_plain && i != j && whole % part == 0 && whole / part == wanted && wanted > 1;
          if (divides) found.push_back({Operator::kOver, over, under, 1, 0, x.bits + y.bits + kBitsOfQuotient});
        }
      }
  constexpr size_t kMostOfThree = 12;
  const std::vector<const Used*> atoms = plainest_atoms();
  const size_t most = std::min(atoms.size(), kMostOfThree);
  for (size_t i = 0; i < most; ++i)
    for (size_t j = i; j < most; ++j)
      for (size_t k = j; k < most; ++k) {
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
