// Which expressions of sizes an integer may be: all simple ones that give it in every trace, by what it takes to write them down.
// Internal to lift/.
//
// An expression is made of atoms: sizes with their values at some points, of which the traces are the first. The others are sizes that
// no trace has. Two expressions that agree in the traces and not at these are what the traces leave open.
//
//   form  what is made of one size (forms.h)
//   term  k * form + c; form + form, form - form, form * form, form / form exactly, (form - form) / 2; the product of three;
//         an exact part of a product of atoms;
//         a product of two and a few more, or times a number; min and max of a form and a number, or of two atoms (no factor is 0 in
//         a trace)
//
// What a term costs is in bits, as of minimum description length (Rissanen 1978): integers by their length, powers of two at half
// of it, each operator by how rarely models have it, atoms as whoever asks says. An integer is explained by a term where the term takes
// far fewer bits than the integers themselves, and than every other term that gives them.
//
// One trace is met by every size that is as large there: the other points are then those at which something else is known of the model,
// and tell which it is (one.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "thaw/dim/expr/dim.h"
#include "thaw/lift/term/forms.h"

namespace thaw::lifting {

// What an integer is: a size; a place, of which the last is a size less 1; how much a Pad adds, which mostly is what its own axis misses to
// whole pieces.
enum class Meaning : uint8_t { kSize, kPlace, kPadding };

// Of one form; of one and a number; a product or quotient; forms that are added up.
enum class Makeup : uint8_t { kOfOne, kWithNumber, kOfFactors, kOfSeveral };

struct Term {
  dim::Dim size;
  std::vector<int64_t> at;  // at each point
  double bits = 0;
  Makeup makeup = Makeup::kOfOne;
  bool rounds = false;   // more than its atoms do, in some trace
  bool is_told = false;  // how, by what readers cut, or by what stands around it
  double over_rest = 0;  // how many bits more it takes than the nearest form and what each trace differs from it by
  std::vector<dim::Dim> same = {};  // of one trace: what is the same at all points, and nearly as plain
};

// How many are added up in a size: 1 of a product.
int64_t num_summands(dim::Dim size);

// What it takes to write these integers down, one after the other: of one that was there before, a bit.
double bits_of_list(std::span<const int64_t> values);

// By what sizes are cut, which is cheaper than other numbers: by the readers, and by whatever cuts other sides.
struct Cuts {
  std::vector<int64_t> readers = {}, others = {};
  auto operator<=>(const Cuts&) const = default;
};

class Terms {
 public:
  // The first `num_traces` points of each atom are the traces'. All atoms have the same points. The forms must stay.
  Terms(std::vector<Atom> atoms, size_t num_traces, Forms& forms, const Cuts& cuts = {},
        Meaning meaning = Meaning::kSize);

  // Those that give the wanted integer in each trace, the cheapest first; no two of them agree at all points.
  std::vector<Term> find(std::span<const int64_t> wanted, size_t most) const;

 private:
  struct Used {
    const Forms::Form* form;
    double bits;  // with the atom's
    bool is_told;
    bool is_exact;  // whether it rounds nothing in any trace
    bool is_known;  // whether something tells by what it is cut
    Atom::Role role;
    Atom::Cut cut;
    const std::vector<int64_t>& at() const { return form->at; }
  };
  enum class Operator : uint8_t { kNone, kPlus, kMinus, kTimes, kOver, kHalfDown, kHalfUp, kMin, kMax };
  // factor * ((x op y) * z / divisor) + more; of kMin and kMax of x and y, or `more` where there is no y.
  struct Found {
    Operator op;
    const Used* x;
    const Used* y;
    int64_t factor, more;
    double bits;
    const Used* z = nullptr;
    int64_t divisor = 1;  // of the product
  };
  // At which what never differs says nothing.
  std::span<const int64_t> in_traces(const std::vector<int64_t>& at) const;
  static bool is_factor(const Forms::Form& form) { return form.shape == Forms::Shape::kLast; }
  static bool is_factor(const Used& used) { return is_factor(*used.form); }
  using Values = std::vector<int64_t>;
  using Wanted = std::span<const int64_t>;

  static bool may_be_of_one(const Forms::Form& form, bool is_exact);
  void find_of_one(int64_t wanted, std::vector<Found>& found) const;
  void find_multiples_of_one(int64_t wanted, std::vector<Found>& found) const;
  void find_products_of_one(int64_t wanted, std::vector<Found>& found) const;
  void find_linear(Wanted wanted, std::vector<Found>& found) const;
  static void prefer_numbers(std::vector<Found>& found);
  void find_long_pieces(Wanted wanted, std::deque<Used>& used, std::vector<Found>& found) const;
  void find_bounded(Wanted wanted, std::vector<Found>& found) const;
  std::vector<const Used*> plainest_atoms() const;  // as they are, of which two and three are combined
  void find_extremes(Wanted wanted, std::vector<Found>& found) const;
  void find_pairs(Wanted wanted, std::vector<Found>& found) const;
  void find_products(Wanted wanted, const Found& around, std::vector<Found>& found) const;
  void find_more_products(Wanted wanted, std::vector<Found>& found) const;
  void find_parts_of_products(Wanted wanted, std::vector<Found>& found) const;
  void find_halves(Wanted wanted, std::vector<Found>& found) const;
  void meet(Operator op, const Used& x, std::span<const int64_t> rest, const Found& around,
            std::vector<Found>& found) const;
  // What the term is where its forms are these, as numbers or as sizes; 1 of what it does not have.
  template <typename Number>
  static Number outcome(const Found& term, Number x, Number y, Number z);
  std::optional<Values> values(const Found& term) const;
  static dim::Dim size(const Found& term);
  static bool rounds(const Found& term);
  static bool is_told(const Found& term);
  static Makeup makeup(const Found& term);

  double bits_of_offset(int64_t n, bool is_cut) const;
  double bits_of_nearest(Wanted wanted) const;

  size_t num_traces_, num_points_ = 0;
  Meaning meaning_;
  Forms* made_;
  std::vector<Used> forms_;  // the cheapest of those that agree at all points, by bits
  size_t num_of_pairs_ = 0;  // of these, that are combined
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_traces_;  // these, by what they are in the traces
};

}  // namespace thaw::lifting
