// Arithmetic of floating-point tensors in normal form: as of real numbers.
//
// A sum is of terms, each times a number; a product of terms, each to a power. Arguments have no order. Numbers and constant
// tensors are multiplied and added up in float64. Nothing is cancelled, whether x - x or x / x: infinity and 0 stay what they are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/prove/constants.h"
#include "thaw/prove/term.h"
#include "thaw/prove/views.h"

namespace thaw::proving {

// A term times a number.
struct Scaled {
  double factor = 1;
  TermId term = kNoTerm;
};

// A term to a power.
struct Power {
  TermId term = kNoTerm;
  double exponent = 1;
};

// What is done with the constant weight of a convolution or product, which is linear in it.
enum class Weights : uint8_t {
  kAsRead,
  kScaled,  // divided by its first large element, which then is a factor: a scale that went into it is told apart. Reads all weights
};

class Arithmetic {
 public:
  Arithmetic(Terms& terms, Constants& constants, Views& views, Weights weights)
      : terms_(terms), constants_(constants), views_(views), weights_(weights) {}

  // Operands broadcast; their shapes are known. A sum may be of int32 and int64, by whole numbers. The result has the shape that they broadcast to without the ones in front:
  // Views::conform gives it another.
  TermId sum(const std::vector<Scaled>& addends, ir::DataType type);
  TermId product(const std::vector<Power>& factors, ir::DataType type, double factor = 1);
  TermId number(double value, ir::DataType type) { return scaled({value, constants_.one(type)}, type); }
  TermId scaled(Scaled what, ir::DataType type) { return sum({what}, type); }
  TermId add(TermId a, TermId b) { return sum({{1, a}, {1, b}}, terms_[a].dtype); }
  TermId multiply(TermId a, TermId b) { return product({{a, 1}, {b, 1}}, terms_[a].dtype); }
  TermId times(double factor, TermId x) { return scaled({factor, x}, terms_[x].dtype); }
  TermId plus(TermId x, double number) {
    return sum({{1, x}, {number, constants_.one(terms_[x].dtype)}}, terms_[x].dtype);
  }
  TermId power(TermId x, double exponent) { return product({{x, exponent}}, terms_[x].dtype); }

  bool scales_weights() const { return weights_ == Weights::kScaled; }

  // The number in front of a term, and what is left.
  Scaled split(TermId x) const;
  // The same of a sum of several: the number in front of the first that is no constant.
  Scaled factored(TermId x);
  // Numbers that were computed; those that are all the same are one, expanded.
  TermId constant(Numbers numbers, ir::DataType type);
  // A constant weight as a number and what is left, as Weights says; of all else the number is 1.
  Scaled weight(TermId x);
  // The number that all elements of a term are; nullopt where it is none.
  std::optional<double> number_of(TermId x) const;

 private:
  Term without_reshape(TermId x);
  TermId sum_of_integers(const std::vector<Scaled>& addends, ir::DataType type);  // exact: integers.cc
  // Adds an argument to a sum or a product; its shape becomes what both broadcast to.
  void append(Term& term, TermId argument, double number) const;
  bool is_size(TermId x) const;
  bool is_one(TermId x) const { return terms_[x].is("One"); }
  std::optional<size_t> lead_of(const Term& sum) const;
  Scaled folded(Scaled addend, ir::DataType type);
  TermId written(std::vector<Scaled> addends, ir::DataType type);  // as they are
  std::optional<Numbers> combined(std::span<const Power> factors, double factor) const;
  std::optional<Numbers> added(std::span<const Scaled> addends) const;
  std::optional<Scaled> with_scaled_weight(TermId of, TermId scale, ir::DataType type);
  std::optional<std::vector<Scaled>> polynomial(std::span<const Power> factors, double number);
  void add_factor(Power factor, double& number, std::vector<Power>& factors, ir::DataType type);

  Terms& terms_;
  Constants& constants_;
  Views& views_;
  const Weights weights_;
};

}  // namespace thaw::proving
