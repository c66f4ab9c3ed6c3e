// What is made of one size, before anything is added to it or multiplied by it (enumerate.h). Internal to lift/.
//
//   form  a; 2a - 1; a - 1 of what is no input's axis, for products; a/n, (a + r)/n, a/n to the nearest and pa/q rounded either way; whole
//         pieces of n in it, up or down, what is missing to them, halves of that, and what is left; the same of whole parts a/m of it
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "thaw/dim/expr/dim.h"

namespace thaw::lifting {

struct Atom {
  // What is made of it: it alone, its multiples and sums; parts and pieces of it too; and pieces of its parts.
  enum class Cut : uint8_t { kNot, kOnce, kTwice };
  enum class Role : uint8_t { kOther, kBatch, kAround };  // kAround: it stands around the integer
  dim::Dim size;
  std::vector<int64_t> at;  // at each point
  double bits = 2;
  Cut cut = Cut::kOnce;
  Role role = Role::kOther;
};

// Bits of twice a size less 1.
constexpr double kBitsOfDistances = 3;
// Of a size less 1, which is a factor: elsewhere it is a size and a number.
constexpr double kBitsOfLast = 1.5;

// The forms of atoms at the same points, each made once.
class Forms {
 public:
  enum class Shape : uint8_t {
    kItself,
    kDistances,
    kLast,
    kFloor,
    kCeil,
    kRounded,
    kUp,
    kDown,
    kMissing,
    kHalfMissingDown,
    kHalfMissingUp,
    kLeft,
    kShareDown,
    kShareUp
  };
  struct Form {
    Shape shape;
    int64_t n, p;  // p: what is added before rounding, or p of p / n
    int64_t part;  // of which whole parts it is; 1 of the atom itself, below 0 of parts rounded up
    double bits;   // without the atom's, and with n as any number
    dim::Dim of;   // the atom
    std::vector<int64_t> at;
    uint64_t hash;  // of what it is at all points

    dim::Dim size() const;
    bool is_whole_piece() const;  // of pieces of one length, as readers cut it
    bool is_missing() const;
  };
  // In the order in which they are made; they stay.
  const std::vector<Form>& of(const Atom& atom);
  // Whole pieces of any length in an atom that is as it is: kUp, kDown, kMissing or kLeft. It stays.
  const Form& pieces(const Form& itself, Shape shape, int64_t n);

  // What a form of this shape is of a number; what its parts are of it.
  static int64_t value(Shape shape, int64_t n, int64_t p, int64_t number);
  static int64_t part_of(int64_t number, int64_t part);
  static constexpr int64_t kLargestPiece = 64;  // windows, patches and strides

 private:
  std::map<std::tuple<const void*, Shape, int64_t>, Form> pieces_;       // by the atom's expression
  std::map<std::pair<const void*, Atom::Cut>, std::vector<Form>> made_;  // by the atom's expression
};

}  // namespace thaw::lifting
