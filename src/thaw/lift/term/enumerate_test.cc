#include "thaw/lift/term/enumerate.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

using Values = std::vector<int64_t>;

constexpr size_t kTraces = 3;
const Values kHeights{13, 22, 35, 17, 29, 40, 64, 5, 71}, kWidths{10, 31, 24, 18, 9, 33, 50, 77, 6};

struct TwoSides {
  dim::Scope scope;
  std::vector<Atom> atoms{{scope.symbol("h"), kHeights}, {scope.symbol("w"), kWidths}};

  dim::Assignment at(size_t point) const {
    return {{scope.symbol_id(atoms[0].size), kHeights[point]}, {scope.symbol_id(atoms[1].size), kWidths[point]}};
  }
  std::vector<Term> find(const Values& wanted, size_t most = 200) const {
    Forms forms;
    return Terms(atoms, kTraces, forms).find(wanted, most);
  }
};

// The forms as the header says them, one after the other.
std::vector<Values> all_forms() {
  std::vector<Values> forms;
  const auto add = [&](const Values& side, const std::function<int64_t(int64_t)>& form) {
    Values& at = forms.emplace_back();
    for (const int64_t v : side) at.push_back(form(v));
  };
  for (const Values& side : {kHeights, kWidths}) {
    add(side, [](int64_t v) { return v; });
    add(side, [](int64_t v) { return 2 * v - 1; });
    for (int64_t n = 2; n <= 64; ++n) {
      add(side, [n](int64_t v) { return v / n; });
      add(side, [n](int64_t v) { return (v + n - 1) / n; });
      add(side, [n](int64_t v) { return (v + n - 1) / n * n; });
      add(side, [n](int64_t v) { return v / n * n; });
      add(side, [n](int64_t v) { return (v + n - 1) / n * n - v; });
      add(side, [n](int64_t v) { return (v + n / 2) / n; });
      // What is left of sides that are all shorter than a piece says nothing of longer ones.
      if (std::any_of(side.begin(), side.begin() + kTraces, [n](int64_t v) { return v >= n; }))
        add(side, [n](int64_t v) { return v % n; });
    }
  }
  return forms;
}

bool gives(const Values& at, const Values& wanted) { return std::equal(wanted.begin(), wanted.end(), at.begin()); }

bool varies(const Values& wanted) {
  return std::ranges::any_of(wanted, [&](int64_t v) { return v != wanted.front(); });
}

bool has(const std::vector<Term>& terms, const Values& at) {
  return std::ranges::any_of(terms, [&](const Term& term) { return term.at == at; });
}

TEST(Terms, AreWhatTheySayAtEveryPoint) {
  const TwoSides sides;
  std::mt19937_64 random(1);
  for (int round = 0; round < 60; ++round) {
    const Values wanted{static_cast<int64_t>(random() % 40), static_cast<int64_t>(random() % 40),
                        static_cast<int64_t>(random() % 40)};
    double before = 0;
    std::set<Values> functions;
    for (const Term& term : sides.find(wanted)) {
      EXPECT_TRUE(gives(term.at, wanted)) << dim::to_string(term.size);
      EXPECT_TRUE(functions.insert(term.at).second) << dim::to_string(term.size);
      EXPECT_GE(term.bits, before);
      before = term.bits;
      for (size_t k = 0; k < kHeights.size(); ++k)
        EXPECT_EQ(dim::evaluate(term.size, sides.at(k)), term.at[k]) << dim::to_string(term.size);
    }
  }
}

// Every form times a number and with a number, tried one by one, is among the terms.
TEST(Terms, HaveEveryFormTimesANumberAndWithANumber) {
  const TwoSides sides;
  for (const Values& form : all_forms())
    for (const auto& [factor, more] : {std::pair<int64_t, int64_t>{1, 0}, {3, 0}, {1, -1}, {2, 5}, {-1, 40}}) {
      Values at, wanted;
      for (const int64_t v : form) at.push_back(factor * v + more);
      wanted.assign(at.begin(), at.begin() + kTraces);
      if (varies(wanted)) {
        EXPECT_TRUE(has(sides.find(wanted, 20000), at)) << testing::PrintToString(at);
      }
    }
}

// Pieces longer than any form's, up and down: what all integers are multiples of.
TEST(Terms, HaveWholePiecesOfAnyLength) {
  dim::Scope scope;
  const Values lengths{2291, 1197, 908, 1307, 1750, 2001, 2080, 2816, 3527};
  Forms forms;
  const Terms terms({{scope.symbol("n"), lengths}}, kTraces, forms);
  for (int64_t n = 65; n <= 400; ++n)
    for (const int64_t more : {n - 1, int64_t{0}}) {
      Values at;
      for (const int64_t v : lengths) at.push_back((v + more) / n * n);
      const Values wanted(at.begin(), at.begin() + kTraces);
      int64_t shared = 0;
      for (const int64_t v : wanted) shared = std::gcd(shared, v);
      if (shared == n) {
        ASSERT_TRUE(has(terms.find(wanted, 200), at)) << n << ": " << testing::PrintToString(at);
      }
    }
}

// What is missing to such pieces, and what is left of them, also where all traces are whole pieces of a multiple.
TEST(Terms, HaveWhatIsMissingToPiecesOfAnyLength) {
  dim::Scope scope;
  const Values lengths{2291, 1197, 908, 1307, 1750, 2001, 2080, 2816, 3527};
  Forms forms;
  const Terms terms({{scope.symbol("n"), lengths}}, kTraces, forms);
  for (int64_t n = 65; n <= 400; ++n)
    for (const bool is_missing : {true, false}) {
      Values at;
      for (const int64_t v : lengths) at.push_back(is_missing ? (v + n - 1) / n * n - v : v % n);
      const Values wanted(at.begin(), at.begin() + kTraces);
      int64_t shared = 0;
      for (size_t k = 0; k < kTraces; ++k)
        shared = std::gcd(shared, is_missing ? lengths[k] + at[k] : lengths[k] - at[k]);
      if (shared / n <= 16) {  // all lengths are longer
        ASSERT_TRUE(has(terms.find(wanted, 200), at)) << n << ": " << testing::PrintToString(at);
      }
    }
}

// Sums, differences and products of two plain forms, tried pair by pair.
TEST(Terms, HaveEveryPairOfPlainForms) {
  const TwoSides sides;
  Forms forms;
  const Terms terms(sides.atoms, kTraces, forms);
  std::vector<Values> plain;
  for (const Values& side : {kHeights, kWidths})
    for (const int64_t n : {1, 2, 3, 4, 7, 8, 14, 16})
      for (const int64_t up : {int64_t{0}, n - 1}) {
        Values& at = plain.emplace_back();
        for (const int64_t v : side) at.push_back((v + up) / n);
      }
  // A factor that is 0 in a trace leaves the other one open there.
  std::erase_if(plain, [](const Values& at) { return std::ranges::count(at.begin(), at.begin() + kTraces, 0) > 0; });
  for (const Values& a : plain)
    for (const Values& b : plain)
      for (const auto& op : std::initializer_list<std::function<int64_t(int64_t, int64_t)>>{
               std::plus<int64_t>(), std::minus<int64_t>(), std::multiplies<int64_t>()}) {
        Values at;
        for (size_t k = 0; k < a.size(); ++k) at.push_back(op(a[k], b[k]));
        const Values wanted(at.begin(), at.begin() + kTraces);
        if (varies(wanted)) {
          ASSERT_TRUE(has(terms.find(wanted, 20000), at)) << testing::PrintToString(at);
        }
      }
}

// How many pairs of distances lie before the first of a row: (h - 1) * (2 * w - 1). Of inputs' own axes 1 less is no factor.
TEST(Terms, HaveProductsWithASizeLessOne) {
  for (const Atom::Cut cut : {Atom::Cut::kNot, Atom::Cut::kOnce, Atom::Cut::kTwice}) {
    TwoSides sides;
    for (Atom& atom : sides.atoms) atom.cut = cut;
    for (const bool both : {false, true}) {
      Values at;
      for (size_t k = 0; k < kHeights.size(); ++k)
        at.push_back((kHeights[k] - 1) * (both ? kWidths[k] - 1 : 2 * kWidths[k] - 1));
      const std::vector<Term> terms = sides.find({at.begin(), at.begin() + kTraces}, 20000);
      EXPECT_EQ(has(terms, at), cut != Atom::Cut::kTwice);
    }
  }
}

TEST(Terms, KnowSharesAndBounds) {
  const TwoSides sides;
  EXPECT_EQ(dim::to_string(sides.find({19, 33, 52}).front().size), "h + floor(h/2)");
  EXPECT_EQ(dim::to_string(sides.find({13, 20, 20}).front().size), "min(h, 20)");
  EXPECT_EQ(dim::to_string(sides.find({20, 31, 24}).front().size), "max(w, 20)");
  EXPECT_EQ(dim::to_string(sides.find({10, 22, 24}).front().size), "min(h, w)");
  EXPECT_EQ(dim::to_string(sides.find({13, 31, 35}).front().size), "max(h, w)");
}

// Integers near a size take little beside it, however large they are: hardly a term says more of these.
TEST(Terms, SayLittleOfLargeIntegersNearASize) {
  dim::Scope scope;
  const std::vector<Atom> atoms{{scope.symbol("n"), {2009, 1042, 2095, 1307, 1750, 3000}}};
  Forms forms;
  const Terms terms(atoms, kTraces, forms);
  constexpr double kFew = 8;
  for (const Values& wanted : {Values{2005, 1042, 2095}, Values{2009, 1037, 2095}, Values{2006, 1042, 2091}})
    for (const Term& term : terms.find(wanted, 20)) EXPECT_GT(term.over_rest, kFew) << dim::to_string(term.size);
  EXPECT_LT(terms.find(Values{2005, 1042, 2095}, 1).front().bits, bits_of_list(Values{2005, 1042, 2095}));
  for (const Values& wanted : {Values{2009, 1042, 2095}, Values{2010, 1050, 2100}, Values{502, 260, 523}})
    EXPECT_LT(terms.find(wanted, 20).front().over_rest, 0);
}

TEST(Terms, CostMoreThanIntegersThatSayLittle) {
  const TwoSides sides;
  EXPECT_GT(sides.find({1, 2, 3}).front().bits, bits_of_list(Values{1, 2, 3}));
  EXPECT_LT(sides.find({19, 33, 52}).front().bits + 5, bits_of_list(Values{19, 33, 52}));
}

// Of a Pad: 3, 2 and 5 are missing to whole pieces of 8 of its own axis, and anything of another one.
TEST(Terms, OfAPadAreWhatItsOwnAxisMisses) {
  TwoSides sides;
  sides.atoms[0].role = Atom::Role::kAround;
  const auto first = [&](Meaning meaning, const Values& wanted) {
    Forms forms;
    return Terms(sides.atoms, kTraces, forms, {}, meaning).find(wanted, 50).front();
  };
  const Values missing{3, 2, 5};
  EXPECT_EQ(dim::to_string(first(Meaning::kPadding, missing).size), "(-h) % 8");
  EXPECT_LT(first(Meaning::kPadding, missing).bits, first(Meaning::kSize, missing).bits);
  const Values of_another_axis{6, 1, 0};
  EXPECT_EQ(first(Meaning::kPadding, of_another_axis).bits, first(Meaning::kSize, of_another_axis).bits);
}

TEST(Terms, TakeNumbersOfAnySize) {
  const TwoSides sides;
  EXPECT_TRUE(sides.find({INT64_MAX, INT64_MIN, 0}).empty());
  Forms forms;
  EXPECT_TRUE(Terms({}, kTraces, forms).find(Values{1, 2, 3}, 5).empty());
  std::vector<Atom> atoms = sides.atoms;
  atoms[0].at[4] = INT64_MAX;
  Forms others;
  EXPECT_FALSE(Terms(atoms, kTraces, others).find(Values{5, 15, 12}, 5).empty());
}

// Of one trace, the other points being cases: what is written with one number and both sides, tried one by one.
TEST(Terms, OfOneTraceHaveMultiplesProductsAndLeftOvers) {
  const TwoSides sides;
  Forms forms;
  const Terms terms(sides.atoms, 1, forms);
  const std::set<int64_t> kCuts{2, 3, 4, 5, 6, 7, 8, 10};
  const auto has_all = [&](const std::function<int64_t(int64_t, int64_t)>& of) {
    Values at;
    for (size_t k = 0; k < kHeights.size(); ++k) at.push_back(of(kHeights[k], kWidths[k]));
    return has(terms.find({at.data(), 1}, 20000), at);
  };
  for (int64_t n = 1; n <= 64; ++n) {
    EXPECT_TRUE(has_all([&](int64_t h, int64_t) { return h * n; })) << n;
    EXPECT_TRUE(has_all([&](int64_t h, int64_t w) { return h * w * n; })) << n;
    EXPECT_TRUE(has_all([&](int64_t h, int64_t w) { return h * h * w * n; })) << n;
    if (kCuts.contains(n)) {  // no longer than a side of the trace
      EXPECT_TRUE(has_all([&](int64_t, int64_t w) { return w / n; })) << n;
      EXPECT_TRUE(has_all([&](int64_t h, int64_t w) { return (h / n) * (w / n); })) << n;
      EXPECT_TRUE(has_all([&](int64_t h, int64_t w) { return ((h + n - 1) / n) * ((w + n - 1) / n) + 1; })) << n;
    }
    if (n <= 4) {
      EXPECT_TRUE(has_all([&](int64_t h, int64_t) { return h + n; })) << n;
      EXPECT_TRUE(has_all([&](int64_t, int64_t w) { return w - n; })) << n;
    }
  }
  for (const int64_t round : {16, 32, 64, 1024})
    EXPECT_TRUE(has_all([&](int64_t h, int64_t) { return round - h; })) << round;
  EXPECT_TRUE(has_all([](int64_t h, int64_t w) { return std::max(h, w); }));
  EXPECT_TRUE(has_all([](int64_t h, int64_t w) { return std::min(h, w); }));
}

// Under the cheapest of those that agree at all points, the others: of the other side, and rounded up.
TEST(Terms, OfOneTraceHoldWhatNoPointTellsApart) {
  dim::Scope scope;
  Forms forms;
  const Terms terms({{scope.symbol("h"), {22, 14, 30}}, {scope.symbol("w"), {22, 14, 30}}}, 1, forms);
  const int64_t wanted = 11;
  const std::vector<Term> found = terms.find({&wanted, 1}, 50);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(dim::to_string(found.front().size), "floor(h/2)");
  std::set<std::string> same;
  for (const dim::Dim other : found.front().same) same.insert(dim::to_string(other));
  EXPECT_EQ(same, (std::set<std::string>{"floor(w/2)", "ceil(h/2)", "ceil(w/2)"}));
}

}  // namespace
}  // namespace thaw::lifting
