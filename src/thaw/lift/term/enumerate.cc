#include "thaw/lift/term/enumerate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "thaw/dim/expr/expr.h"
#include "thaw/lift/term/bits.h"
#include "thaw/lift/term/numbers.h"

namespace thaw::lifting {

namespace {

using dim::Dim;
using Shape = Forms::Shape;

constexpr int64_t kMostMore = 5;     // positions beside those of a grid
constexpr double kMostOfAPair = 11;  // bits of each of two forms that are combined
constexpr size_t kMostHalved = 48;   // forms whose differences are halved
constexpr double kHalfOfCut = 3;
constexpr double kMoreThanABatch = 4;
constexpr double kCutPosition = 4;  // more than a cut size
constexpr double kFills = 5;        // fewer than another amount of a Pad
constexpr double kSum = 3, kDifference = 3.5, kExtreme = 4.5, kHalf = 4;

}  // namespace

int64_t num_summands(Dim size) {
  if (!size.is_symbolic()) return 1;
  return std::ssize(size.expr()->terms) + (size.expr()->constant != 0 ? 1 : 0);
}

double bits_of_list(std::span<const int64_t> values) {
  double bits = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    const auto before = values.first(k);
    const bool is_known = std::ranges::find(before, values[k]) != before.end();
    bits += is_known ? 1 : std::log2(std::abs(static_cast<double>(values[k])) + 2);
  }
  return bits;
}

Terms::Terms(std::vector<Atom> atoms, size_t num_traces, Forms& forms, const Cuts& cuts, Meaning meaning)
    : num_traces_(num_traces), meaning_(meaning), made_(&forms) {
  std::ranges::stable_sort(atoms, {}, &Atom::bits);
  std::erase_if(atoms,
                [](const Atom& atom) { return !std::ranges::all_of(atom.at, is_in_range) || is_steady(atom.at); });
  std::unordered_map<const void*, Atom::Cut> cut_of;
  for (const Atom& atom : atoms) {
    Atom::Cut& cut = cut_of[atom.size.expr()];
    cut = std::max(cut, atom.cut);
  }
  std::unordered_set<const void*> known;
  for (Atom& atom : atoms) {
    if (!known.insert(atom.size.expr()).second) continue;
    num_points_ = atom.at.size();
    atom.cut = cut_of.at(atom.size.expr());
    for (const Forms::Form& form : forms.of(atom)) {
      const bool is_part = is_cut(form);
      if ((is_part && atom.cut == Atom::Cut::kNot) || (form.part != 1 && atom.cut != Atom::Cut::kTwice)) continue;
      // What is the same in every trace, or shorter than a piece, says nothing of what it is elsewhere.
      bool is_whole = form.shape == Shape::kLeft;
      for (size_t k = 0; k < num_traces_ && is_whole; ++k)
        is_whole = form.at[k] == Forms::part_of(atom.at[k], form.part);
      if (is_whole || is_steady(in_traces(form.at))) continue;
      const auto is_among = [&](const std::vector<int64_t>& pieces) {
        return is_part && std::ranges::find(pieces, form.n) != pieces.end();
      };
      const bool may_be_exact = form.shape == Shape::kFloor || (num_traces_ == 1 && form.shape == Shape::kCeil);
      bool is_exact = !is_part || (may_be_exact && form.part == 1);
      for (size_t k = 0; k < num_traces_ && is_part && is_exact; ++k) is_exact = form.at[k] * form.n == atom.at[k];
      if (num_traces_ == 1 && !may_be_of_one(form, is_exact)) continue;
      const bool is_of_readers = is_among(cuts.readers), is_told = is_of_readers && form.is_whole_piece();
      const bool is_known = is_of_readers || is_among(cuts.others);
      double bits = atom.bits + form.bits - (is_known ? bits_of_piece(form.n) - kBitsOfWindow : 0);
      if (is_part && meaning == Meaning::kPlace) bits += kCutPosition;
      forms_.push_back({&form, bits, is_told, is_exact, is_known, atom.role, atom.cut});
    }
  }
  std::ranges::stable_sort(forms_, {}, &Used::bits);
  std::unordered_map<uint64_t, const Forms::Form*> functions;
  // The points of one trace may not tell functions apart that differ elsewhere.
  if (num_traces_ > 1)
    std::erase_if(forms_, [&](const Used& used) {
      const auto [same, is_new] = functions.emplace(used.form->hash, used.form);
      return !is_new && same->second->at == used.form->at;
    });
  while (num_of_pairs_ < forms_.size() && forms_[num_of_pairs_].bits <= kMostOfAPair) {
    const auto here = std::span(forms_[num_of_pairs_].at()).first(num_traces_);
    by_traces_[hash_of_values(here)].push_back(static_cast<uint32_t>(num_of_pairs_++));
  }
}

std::span<const int64_t> Terms::in_traces(const Values& at) const {
  return std::span(at).first(num_traces_ > 1 ? num_traces_ : at.size());
}

// One more or less stands beside a size more often than beside parts of it.
double Terms::bits_of_offset(int64_t n, bool is_cut) const {
  if (n == 0) return 0;
  if (n == -1 && meaning_ == Meaning::kPlace) return 1;
  return std::abs(n) == 1 ? (is_cut ? 3 : 1.5) : (is_cut ? 3 : 2) + std::log2(std::abs(static_cast<double>(n)));
}

// factor * form + more, both read off the traces.
void Terms::find_linear(Wanted wanted, std::vector<Found>& found) const {
  for (const Used& x : forms_) {
    if (is_factor(x)) continue;
    const std::vector<int64_t>& at = x.at();
    size_t other = 1;
    while (other < num_traces_ && at[other] == at[0]) ++other;
    if (other == num_traces_) continue;
    const int64_t rise = wanted[other] - wanted[0], run = at[other] - at[0];
    if (rise == 0 || rise % run != 0) continue;
    const int64_t factor = rise / run, more = wanted[0] - factor * at[0];
    bool fits = true;
    for (size_t k = 0; k < num_traces_ && fits; ++k) fits = factor * at[k] + more == wanted[k];
    if (!fits) continue;
    // What divides a size in every trace is known from these.
    const bool is_part = x.is_exact && is_cut(*x.form) && factor == 1 && more == 0;
    const double known = is_part && !x.is_known ? bits_of_piece(x.form->n) - kBitsOfWindow : 0;
    const double of_batch = x.role == Atom::Role::kBatch && more != 0 ? kMoreThanABatch : 0;
    const bool fills = meaning_ == Meaning::kPadding && x.form->is_missing() && x.role == Atom::Role::kAround &&
                       factor == 1 && more == 0;
    found.push_back({Operator::kNone, &x, nullptr, factor, more,
                     x.bits + bits_of_factor(factor) + bits_of_offset(more, is_cut(*x.form)) - known + of_batch -
                         (fills ? kFills : 0)});
  }
}

// What a size misses to whole pieces, or leaves of them, of as many pieces in every trace: it is a number less the size, or the size less a
// number, and this may be meant. With a number beside them, they are hardly meant.
void Terms::prefer_numbers(std::vector<Found>& found) {
  constexpr double kPieces = 1, kPiecesAndMore = 10;
  const auto is_of = [](const Found& each, Shape shape) {
    return each.op == Operator::kNone && each.x->form->part == 1 && each.x->form->shape == shape;
  };
  std::vector<Found> numbers;
  std::ranges::copy_if(found, std::back_inserter(numbers),
                       [&](const Found& each) { return is_of(each, Shape::kItself); });
  const auto number_of = [&](const Found& pieces) {
    const int64_t factor = is_of(pieces, Shape::kMissing) ? -pieces.factor : pieces.factor;
    const bool is_pieces = is_of(pieces, Shape::kMissing) || is_of(pieces, Shape::kLeft);
    return std::ranges::find_if(numbers, [&](const Found& number) {
      return is_pieces && number.factor == factor && dim::same(number.x->form->of, pieces.x->form->of);
    });
  };
  for (Found& each : found)
    if (const auto number = number_of(each); number != numbers.end())
      each.bits = std::max(each.bits, number->bits + (each.more == 0 ? kPieces : kPiecesAndMore));
}

// Whole pieces longer than any form's, of which the integers themselves tell: what a stride and the halves after it share. And what a size
// misses to them, or leaves of them, as the hops of a codec.
void Terms::find_long_pieces(Wanted wanted, std::deque<Used>& used, std::vector<Found>& found) const {
  constexpr int64_t kMostParts = 16;
  constexpr double kNoMorePieces = 1;
  const auto shared = [&](const auto& whole_at) {
    int64_t piece = 0;
    for (size_t k = 0; k < num_traces_; ++k) piece = std::gcd(piece, whole_at(k));
    return piece;
  };
  const int64_t of_wanted = shared([&](size_t k) { return wanted[k]; });
  for (const Used& x : forms_) {
    if (x.form->shape != Shape::kItself || x.form->part != 1 || x.cut == Atom::Cut::kNot) continue;
    const int64_t filled = shared([&](size_t k) { return x.at()[k] + wanted[k]; });
    const int64_t cut = shared([&](size_t k) { return x.at()[k] - wanted[k]; });
    for (const auto& [shape, whole] : {std::pair{Shape::kUp, of_wanted}, std::pair{Shape::kDown, of_wanted},
                                       std::pair{Shape::kMissing, filled}, std::pair{Shape::kLeft, cut}})
      // A piece may be a part of what all traces share.
      for (int64_t part = 1; part <= kMostParts && whole / part > Forms::kLargestPiece; ++part) {
        const int64_t piece = whole / part;
        bool fits = whole % part == 0, is_as_it_is = true,
             are_as_many = shape == Shape::kMissing || shape == Shape::kLeft;
        for (size_t k = 0; k < num_traces_ && fits; ++k) {
          fits = Forms::value(shape, piece, 1, x.at()[k]) == wanted[k];
          is_as_it_is &= x.at()[k] == wanted[k];
          are_as_many &= ceil_div(x.at()[k], piece) == ceil_div(x.at()[0], piece);
        }
        if (!fits || is_as_it_is) continue;
        const Forms::Form& form = made_->pieces(*x.form, shape, piece);
        double bits = x.bits + form.bits;
        if (are_as_many) {
          // Of as many pieces in every trace, it is a number less the size, or the size less a number; this may be meant.
          const int64_t factor = shape == Shape::kMissing ? -1 : 1;
          const double number = bits_of_offset(wanted[0] - factor * x.at()[0], false);
          bits = std::max(bits, x.bits + bits_of_factor(factor) + number + kNoMorePieces);
        } else if (meaning_ == Meaning::kPadding && shape == Shape::kMissing && x.role == Atom::Role::kAround) {
          bits -= kFills;
        }
        used.push_back({&form, bits, false, false, false, x.role, x.cut});
        found.push_back({Operator::kNone, &used.back(), nullptr, 1, 0, bits});
      }
  }
}

// min(form, c) and max(form, c), with a trace on either side.
void Terms::find_bounded(Wanted wanted, std::vector<Found>& found) const {
  const auto [low, high] = std::ranges::minmax_element(wanted);
  for (const Used& x : forms_) {
    if (is_factor(x)) continue;
    for (const auto& [op, bound] : {std::pair{Operator::kMin, *high}, std::pair{Operator::kMax, *low}}) {
      bool fits = true;
      size_t own = 0, cut = 0;
      for (size_t k = 0; k < num_traces_ && fits; ++k) {
        const int64_t v = op == Operator::kMin ? std::min(x.at()[k], bound) : std::max(x.at()[k], bound);
        fits = v == wanted[k];
        ++(x.at()[k] == wanted[k] ? own : cut);
      }
      if (fits && own > 0 && cut > 0) found.push_back({op, &x, nullptr, 1, bound, x.bits + kExtreme + bits_of(bound)});
    }
  }
}

std::vector<const Terms::Used*> Terms::plainest_atoms() const {
  constexpr size_t kMost = 48;
  std::vector<const Used*> atoms;
  for (size_t i = 0; i < num_of_pairs_ && atoms.size() < kMost; ++i)
    if (forms_[i].form->shape == Shape::kItself && forms_[i].form->part == 1) atoms.push_back(&forms_[i]);
  return atoms;
}

// min and max of two sizes, each of which alone gives a trace: what two branches have in common.
void Terms::find_extremes(Wanted wanted, std::vector<Found>& found) const {
  const std::vector<const Used*> atoms = plainest_atoms();
  for (size_t i = 0; i < atoms.size(); ++i)
    for (size_t j = i + 1; j < atoms.size(); ++j)
      for (const Operator op : {Operator::kMin, Operator::kMax}) {
        const std::vector<int64_t>&x = atoms[i]->at(), &y = atoms[j]->at();
        bool fits = true, has_x = false, has_y = false;
        for (size_t k = 0; k < num_traces_ && fits; ++k) {
          fits = (op == Operator::kMin ? std::min(x[k], y[k]) : std::max(x[k], y[k])) == wanted[k];
          has_x |= y[k] != wanted[k];
          has_y |= x[k] != wanted[k];
        }
        if (fits && has_x && has_y)
          found.push_back({op, atoms[i], atoms[j], 1, 0, atoms[i]->bits + atoms[j]->bits + kExtreme});
      }
}

// What it takes to write the integers as a form and what is left of each: of large ones, which are near a size, much less than as they are.
double Terms::bits_of_nearest(Wanted wanted) const {
  double fewest = bits_of_list(wanted);
  Values rest(num_traces_);
  for (size_t i = 0; i < num_of_pairs_; ++i) {
    bool is_more = false, is_less = false;
    for (size_t k = 0; k < num_traces_; ++k) {
      rest[k] = wanted[k] - forms_[i].at()[k];
      is_more |= rest[k] > 0;
      is_less |= rest[k] < 0;
    }
    const double signs = is_more && is_less ? static_cast<double>(num_traces_) : 0;
    fewest = std::min(fewest, forms_[i].bits + kDifference + signs + bits_of_list(rest));
  }
  return fewest;
}

namespace {

// It is 0 at sizes of whole pieces, whatever they are at the points: nothing is divided by it.
bool is_nothing_of_whole_pieces(Shape shape) {
  return shape == Shape::kMissing || shape == Shape::kHalfMissingDown || shape == Shape::kHalfMissingUp ||
         shape == Shape::kLeft;
}

}  // namespace

// x with each y that is `rest` in the traces. around: what the pair is in, with its bits.
void Terms::meet(Operator op, const Used& x, std::span<const int64_t> rest, const Found& around,
                 std::vector<Found>& found) const {
  const auto known = by_traces_.find(hash_of_values(rest));
  if (known == by_traces_.end()) return;
  const bool is_commutative = op == Operator::kPlus || op == Operator::kTimes;
  for (const uint32_t i : known->second) {
    const Used& y = forms_[i];
    if (op == Operator::kOver && is_nothing_of_whole_pieces(y.form->shape)) continue;
    if (op != Operator::kTimes && is_factor(y)) continue;
    if ((is_commutative && &x > &y) || !std::ranges::equal(std::span(y.at()).first(num_traces_), rest)) continue;
    found.push_back({op, &x, &y, around.factor, around.more, x.bits + y.bits + around.bits, around.z});
  }
}

void Terms::find_pairs(Wanted wanted, std::vector<Found>& found) const {
  Values rest(num_traces_);
  const auto all = [&](const Used& x, auto other) {
    for (size_t k = 0; k < num_traces_; ++k) {
      const std::optional<int64_t> v = other(x.at()[k], wanted[k]);
      if (!v) return false;
      rest[k] = *v;
    }
    return true;
  };
  const auto plain = [](double bits) { return Found{Operator::kNone, nullptr, nullptr, 1, 0, bits}; };
  using Rest = std::optional<int64_t>;
  for (size_t i = 0; i < num_of_pairs_; ++i) {
    const Used& x = forms_[i];
    if (is_factor(x)) continue;
    if (all(x, [](int64_t v, int64_t want) -> Rest { return want - v; }))
      meet(Operator::kPlus, x, rest, plain(kSum), found);
    if (all(x, [](int64_t v, int64_t want) -> Rest { return v - want; }))
      meet(Operator::kMinus, x, rest, plain(kDifference), found);
    const auto quotient = [](int64_t v, int64_t want) -> Rest {
      if (want == 0 || v % want != 0) return std::nullopt;
      return v / want;
    };
    if (all(x, quotient)) meet(Operator::kOver, x, rest, plain(kBitsOfQuotient), found);
  }
}

void Terms::find_products(Wanted wanted, const Found& around, std::vector<Found>& found) const {
  Values rest(num_traces_);
  for (size_t i = 0; i < num_of_pairs_; ++i) {
    const Used& x = forms_[i];
    bool divides = true;
    for (size_t k = 0; k < num_traces_ && divides; ++k) {
      divides = x.at()[k] != 0 && wanted[k] % x.at()[k] == 0;
      if (divides) rest[k] = wanted[k] / x.at()[k];
    }
    if (divides) meet(Operator::kTimes, x, rest, around, found);
  }
}

// A product and a few more; one times a number; one of three, of which one is an atom.
void Terms::find_more_products(Wanted wanted, std::vector<Found>& found) const {
  find_products(wanted, {Operator::kNone, nullptr, nullptr, 1, 0, kBitsOfProduct}, found);
  Values rest(num_traces_);
  for (int64_t more = -kMostMore; more <= kMostMore; ++more) {
    if (more == 0) continue;
    for (size_t k = 0; k < num_traces_; ++k) rest[k] = wanted[k] - more;
    find_products(rest, {Operator::kNone, nullptr, nullptr, 1, more, kBitsOfProduct + bits_of_offset(more, false)},
                  found);
  }
  int64_t divisor = 0;
  for (const int64_t v : wanted) divisor = std::gcd(divisor, v);
  for (int64_t factor = 2; factor <= std::min(divisor, Forms::kLargestPiece); ++factor) {
    if (divisor % factor != 0) continue;
    for (size_t k = 0; k < num_traces_; ++k) rest[k] = wanted[k] / factor;
    find_products(rest, {Operator::kNone, nullptr, nullptr, factor, 0, kBitsOfProduct + bits_of_factor(factor)}, found);
  }
  for (size_t i = 0; i < num_of_pairs_; ++i) {
    const Used& z = forms_[i];
    if (z.form->shape != Shape::kItself) continue;
    bool divides = true;
    for (size_t k = 0; k < num_traces_ && divides; ++k) {
      divides = z.at()[k] != 0 && wanted[k] % z.at()[k] == 0;
      if (divides) rest[k] = wanted[k] / z.at()[k];
    }
    if (divides) find_products(rest, {Operator::kNone, nullptr, nullptr, 1, 0, 2 * kBitsOfProduct + z.bits, &z}, found);
  }
}

// An exact part of a product of two atoms or three: cells of patches, blocks of a grid.
void Terms::find_parts_of_products(Wanted wanted, std::vector<Found>& found) const {
  constexpr size_t kMostOfThree = 12;
  constexpr int64_t kLargestPart = 4096;
  if (wanted[0] == 0) return;
  const std::vector<const Used*> atoms = plainest_atoms();
  const auto add = [&](const Used& x, const Used& y, const Used* z) {
    const auto product = [&](size_t k) { return static_cast<__int128>(x.at()[k]) * y.at()[k] * (z ? z->at()[k] : 1); };
    if (product(0) % wanted[0] != 0) return;
    const __int128 part = product(0) / wanted[0];
    if (part < 2 || part > kLargestPart) return;
    for (size_t k = 1; k < num_traces_; ++k)
      if (product(k) != part * wanted[k]) return;
    const auto divisor = static_cast<int64_t>(part);
    found.push_back({Operator::kTimes, &x, &y, 1, 0,
                     x.bits + y.bits + kBitsOfProduct + (z ? z->bits + kBitsOfProduct : 0) + bits_of_piece(divisor), z,
                     divisor});
  };
  for (size_t i = 0; i < atoms.size(); ++i)
    for (size_t j = i; j < atoms.size(); ++j) {
      add(*atoms[i], *atoms[j], nullptr);
      for (size_t l = j; l < std::min(atoms.size(), kMostOfThree); ++l) add(*atoms[i], *atoms[j], atoms[l]);
    }
}

void Terms::find_halves(Wanted wanted, std::vector<Found>& found) const {
  const size_t most = std::min(num_of_pairs_, kMostHalved);
  for (size_t i = 0; i < most; ++i)
    for (size_t j = 0; j < most; ++j) {
      if (i == j || is_factor(forms_[i]) || is_factor(forms_[j])) continue;
      const std::vector<int64_t>&x = forms_[i].at(), &y = forms_[j].at();
      for (const auto& [op, more] : {std::pair<Operator, int64_t>{Operator::kHalfDown, 0}, {Operator::kHalfUp, 1}}) {
        bool fits = true;
        for (size_t k = 0; k < num_traces_ && fits; ++k) fits = floor_div(x[k] - y[k] + more, int64_t{2}) == wanted[k];
        // What is centred are tensors, which are sizes of their own.
        const double cut = (is_cut(*forms_[i].form) ? kHalfOfCut : 0) + (is_cut(*forms_[j].form) ? kHalfOfCut : 0);
        if (fits) found.push_back({op, &forms_[i], &forms_[j], 1, 0, forms_[i].bits + forms_[j].bits + kHalf + cut});
      }
    }
}

namespace {

void add_same(Term& term, Dim other) {
  const auto is_it = [&](Dim known) { return dim::same(known, other); };
  if (!is_it(term.size) && std::ranges::none_of(term.same, is_it)) term.same.push_back(other);
}

}  // namespace

std::vector<Term> Terms::find(Wanted wanted, size_t most) const {
  if (!std::ranges::all_of(wanted, is_in_range)) return {};
  std::vector<Found> found;
  std::deque<Used> long_pieces;
  std::vector<Term> terms;
  if (num_traces_ == 1) {
    find_of_one(wanted.front(), found);
  } else {
    if (is_steady(wanted)) terms.push_back({Dim(wanted.front()), Values(num_points_, wanted.front()), 1});
    find_linear(wanted, found);
    prefer_numbers(found);
    if (!is_steady(wanted)) find_long_pieces(wanted, long_pieces, found);
    if (!is_steady(wanted)) find_bounded(wanted, found);
    if (!is_steady(wanted)) find_extremes(wanted, found);
    find_pairs(wanted, found);
    find_more_products(wanted, found);
    find_parts_of_products(wanted, found);
    find_halves(wanted, found);
  }
  std::ranges::stable_sort(found, {}, &Found::bits);
  const double nearest = bits_of_nearest(wanted);
  for (const Found& each : found) {
    if (terms.size() >= most) break;
    std::optional<Values> at = values(each);
    if (!at) continue;
    if (const auto known = std::ranges::find(terms, *at, &Term::at); known != terms.end()) {
      if (num_traces_ == 1 && each.bits <= known->bits + kNearlyAsPlain) add_same(*known, size(each));
      continue;
    }
    if (const Dim whole = size(each); whole.is_known())
      terms.push_back(
          {whole, std::move(*at), each.bits, makeup(each), rounds(each), is_told(each), each.bits - nearest});
  }
  return terms;
}

}  // namespace thaw::lifting
