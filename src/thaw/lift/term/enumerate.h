// Which expressions of sizes an integer may be: all simple ones that give it in every trace, by what it takes to write them down.
// Internal to lift/.
//
// An expression is made of atoms: sizes with their values at some points, of which the traces are the first. The others are sizes that
// no trace has. Two expressions that agree in the traces and not at these are what the traces leave open.
//
//   form  a; 2a - 1; a/n and pa/q rounded either way; whole pieces of n in it, up or down, what is missing to them and what is left
//   term  k * form + c; form + form, form - form, form * form, form / form exactly; min and max of a form and a number
//         (no factor is 0 in a trace)
//
// What a term costs is in bits, as of minimum description length (Rissanen 1978): integers by their length, powers of two at half
// of it, each operator by how rarely models have it, atoms as whoever asks says. An integer is explained by a term where the term takes
// far fewer bits than the integers themselves, and than every other term that gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "thaw/dim/expr/dim.h"

namespace thaw::lifting {

struct Atom {
  dim::Dim size;
  std::vector<int64_t> at;  // at each point
  double bits = 2;
  bool is_cut = true;  // whether it is divided: else it is taken as it is, its multiples and sums
};

struct Term {
  dim::Dim size;
  std::vector<int64_t> at;  // at each point
  double bits = 0;
};

// What it takes to write these integers down, one after the other: of one that was there before, a bit.
double bits_of_list(std::span<const int64_t> values);

class Terms {
 public:
  // The first `num_traces` points of each atom are the traces'. All atoms have the same points. windows: by what readers cut, which is
  // cheaper than other numbers.
  Terms(std::vector<Atom> atoms, size_t num_traces, std::span<const int64_t> windows = {});

  // Those that give the wanted integer in each trace, the cheapest first; no two of them agree at all points.
  std::vector<Term> find(std::span<const int64_t> wanted, size_t most) const;

 private:
  enum class Shape : uint8_t { kItself, kFloor, kCeil, kUp, kDown, kMissing, kLeft, kShareDown, kShareUp, kDistances };
  struct Form {
    Shape shape;
    uint32_t atom;
    int64_t n, p;
    double bits;
    std::vector<int64_t> at;  // at each point
  };
  enum class Operator : uint8_t { kNone, kPlus, kMinus, kTimes, kOver, kMin, kMax };
  // factor * (x op y) + more; of kMin and kMax with no y: of x and `more`.
  struct Found {
    Operator op;
    const Form* x;
    const Form* y;
    int64_t factor, more;
    double bits;
  };
  using Values = std::vector<int64_t>;
  struct HashValues {
    size_t operator()(std::span<const int64_t> values) const;
  };
  using Wanted = std::span<const int64_t>;

  void add_forms(uint32_t atom);
  void add(Shape shape, uint32_t atom, int64_t n, int64_t p, double bits);
  void find_linear(Wanted wanted, std::vector<Found>& found) const;
  void find_bounded(Wanted wanted, std::vector<Found>& found) const;
  void find_pairs(Wanted wanted, std::vector<Found>& found) const;
  double bits_of_piece(int64_t n) const;
  std::optional<Values> values(const Found& term) const;
  dim::Dim dim(const Form& form) const;
  dim::Dim dim(const Found& term) const;

  std::vector<Atom> atoms_;
  size_t num_traces_, num_points_ = 0;
  std::vector<int64_t> windows_;
  std::vector<Form> forms_;  // the cheapest of those that agree at all points
  std::unordered_map<Values, std::vector<uint32_t>, HashValues> by_traces_;  // forms_, by what they are in the traces
};

}  // namespace thaw::lifting
