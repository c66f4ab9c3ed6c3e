#include "thaw/lift/term/forms.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "thaw/dim/expr/expr.h"
#include "thaw/lift/term/bits.h"
#include "thaw/lift/term/numbers.h"

namespace thaw::lifting {

namespace {

using dim::Dim;
using Shape = Forms::Shape;

constexpr int64_t kLargestShare = 8;     // of p / q
constexpr int64_t kLargestRounded = 16;  // n of (a + r) / n; and powers of two
constexpr int64_t kLargestPieceOfParts = 16;
constexpr int64_t kParts[] = {2, 4, 8, 14, 16, 32};  // of which whole ones are cut again: strides and patches
// Rounded elsewhere than at none, at half or at all of a piece: what convolutions leave, which is a tensor's size.
constexpr double kOddShare = 7;
// To the nearest, as frames around their middles are counted: rarer than up, but no number has to be said.
constexpr double kNearest = 5.25;
constexpr double kOtherWay = 3;

// To whole pieces: up, down, and what is missing or left.
double bits_of_rounding(Shape shape) { return shape == Shape::kUp ? 2.5 : shape == Shape::kMissing ? 3 : 3.5; }

// What a form of this shape is of a number, or as a size.
template <typename Number>
Number form_of(Shape shape, int64_t by, int64_t more, Number a) {
  const Number n(by), p(more);
  const auto missing = [&] { return ceil_div(a, n) * n - a; };
  switch (shape) {
    case Shape::kItself:
      return a;
    case Shape::kDistances:
      return a * Number(2) - Number(1);
    case Shape::kLast:
      return a - Number(1);
    case Shape::kFloor:
      return floor_div(a, n);
    case Shape::kCeil:
      return ceil_div(a, n);
    case Shape::kRounded:
      return floor_div(a + p, n);
    case Shape::kUp:
      return ceil_div(a, n) * n;
    case Shape::kDown:
      return floor_div(a, n) * n;
    case Shape::kMissing:
      return missing();
    case Shape::kHalfMissingDown:
      return floor_div(missing(), Number(2));
    case Shape::kHalfMissingUp:
      return ceil_div(missing(), Number(2));
    case Shape::kLeft:
      return a - floor_div(a, n) * n;
    case Shape::kShareDown:
      return floor_div(a * p, n);
    case Shape::kShareUp:
      return ceil_div(a * p, n);
  }
  return a;
}

template <typename Number>
Number whole_part(Number a, int64_t part) {
  return part > 1 ? floor_div(a, Number(part)) : part < 0 ? ceil_div(a, Number(-part)) : a;
}

class Making {
 public:
  explicit Making(const Atom& atom) : atom_(atom) {}

  std::vector<Forms::Form> run() {
    add(Shape::kItself, 1, 1, 0);
    add(Shape::kDistances, 1, 1, kBitsOfDistances);
    if (atom_.cut != Atom::Cut::kTwice) add(Shape::kLast, 1, 1, kBitsOfLast);
    if (atom_.cut == Atom::Cut::kNot) return std::move(forms_);
    pieces(Forms::kLargestPiece, 0);
    for (int64_t n = 3; n <= Forms::kLargestPiece; ++n) {
      add(Shape::kRounded, n, n / 2, kNearest + bits_of_piece(n));
      if (n > kLargestRounded && !std::has_single_bit(static_cast<uint64_t>(n))) continue;
      for (int64_t r = 1; r + 1 < n; ++r)
        if (r != n / 2) add(Shape::kRounded, n, r, kOddShare + bits_of_piece(n) + bits_of(r));
    }
    for (int64_t n = 2; n <= kLargestShare; ++n)
      for (int64_t p = 2; p <= kLargestShare; ++p) {
        if (std::gcd(p, n) != 1) continue;
        add(Shape::kShareDown, n, p, 2.5 + bits_of(n) + bits_of(p));
        add(Shape::kShareUp, n, p, 3 + bits_of(n) + bits_of(p));
      }
    if (atom_.cut == Atom::Cut::kOnce) return std::move(forms_);
    for (const int64_t part : kParts)
      for (const int64_t rounded : {part, -part}) {
        part_ = rounded;
        pieces(kLargestPieceOfParts, (rounded > 0 ? 1 : 1.5) + bits_of_piece(part));
      }
    return std::move(forms_);
  }

 private:
  void pieces(int64_t largest, double bits) {
    for (int64_t n = 2; n <= largest; ++n) {
      const double piece = bits + bits_of_piece(n);
      // What is cut twice is rounded the same way both times, mostly.
      add(Shape::kFloor, n, 1, 1 + piece + (part_ < 0 ? kOtherWay : 0));
      add(Shape::kCeil, n, 1, 1.5 + piece + (part_ > 1 ? kOtherWay : 0));
      for (const Shape shape : {Shape::kUp, Shape::kMissing, Shape::kDown, Shape::kLeft})
        add(shape, n, 1, bits_of_rounding(shape) + piece);
      add(Shape::kHalfMissingDown, n, 1, 4.5 + piece);
      add(Shape::kHalfMissingUp, n, 1, 4.5 + piece);
    }
  }

  void add(Shape shape, int64_t n, int64_t p, double bits) {
    Forms::Form form{shape, n, p, part_, bits, atom_.size, atom_.at, 0};
    for (int64_t& v : form.at) v = Forms::value(shape, n, p, Forms::part_of(v, part_));
    form.hash = hash_of_values(form.at);
    forms_.push_back(std::move(form));
  }

  const Atom& atom_;
  int64_t part_ = 1;
  std::vector<Forms::Form> forms_;
};

}  // namespace

bool Forms::Form::is_whole_piece() const {
  return part == 1 && shape != Shape::kRounded && shape != Shape::kShareDown && shape != Shape::kShareUp;
}

bool Forms::Form::is_missing() const {
  return shape == Shape::kMissing || shape == Shape::kHalfMissingDown || shape == Shape::kHalfMissingUp;
}

int64_t Forms::value(Shape shape, int64_t n, int64_t p, int64_t number) { return form_of(shape, n, p, number); }

int64_t Forms::part_of(int64_t number, int64_t part) { return whole_part(number, part); }

Dim Forms::Form::size() const { return form_of(shape, n, p, whole_part(of, part)); }

const std::vector<Forms::Form>& Forms::of(const Atom& atom) {
  std::vector<Form>& forms = made_[{atom.size.expr(), atom.cut}];
  if (forms.empty()) forms = Making(atom).run();
  return forms;
}

const Forms::Form& Forms::pieces(const Form& itself, Shape shape, int64_t n) {
  const auto [known, is_new] = pieces_.try_emplace({itself.of.expr(), shape, n}, itself);
  Form& form = known->second;
  if (is_new) {
    form.shape = shape;
    form.n = n;
    form.bits = bits_of_rounding(shape) + bits_of_piece(n);
    for (int64_t& v : form.at) v = Forms::value(shape, n, form.p, v);
    form.hash = hash_of_values(form.at);
  }
  return form;
}

}  // namespace thaw::lifting
