// How large a node's results may be, by how large its operands are: what types of few exponents are chosen by.
//
// What comes into a model, and what its layers output, is of ordinary size, from a tenth to some hundreds. What is computed
// from that is some power of it (a square 2, a root 1/2, a quotient of two 0), or of an exponential of it, which has no
// bound. Both are followed as exponents, so that what is divided by its own norm, or by the sum of its exponentials, is
// back where it was.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "thaw/ops/rule/rule_types.h"

namespace thaw::ops {

// size^power * exp(size)^exponential * 2^factor, for a size that goes up or down.
struct Growth {
  double power = 0, exponential = 0, factor = 0;
};

enum class Sign : uint8_t { kAny, kNotNegative, kNotPositive };

struct Magnitude {
  Growth large, small;  // where what comes in is large, and where it is small
  // 2^bound is never passed, whatever comes in.
  double bound = std::numeric_limits<double>::infinity();
  Sign sign = Sign::kAny;
  bool is_assumed = false;             // nothing is known of it but that models are trained to work
  bool has_one = false;                // one of the numbers that a sum is over is 1
  const ir::Value* exceeds = nullptr;  // no number of that is above it: the maximum along an axis

  // Of activations and of what layers make of them.
  static Magnitude ordinary() { return {.large = {.power = 1}, .small = {.power = 1}, .is_assumed = true}; }
  static Magnitude within(double bound, Sign sign = Sign::kAny);

  // Whether all of its numbers may be too large for float16, or all too small.
  bool leaves_float16() const;
  // Whether some of its numbers vanish beside others: 0 beside 1, and no error but where small ones count.
  bool loses_small() const { return large.exponential < 0 || small.exponential > 0; }
};

class MagnitudeContext {
 public:
  virtual ~MagnitudeContext() = default;
  virtual const ir::Node& node() const = 0;
  virtual Magnitude input(int i) = 0;               // of an operand that there is
  virtual std::optional<double> number(int i) = 0;  // of a constant of one element
  virtual double log_summed() = 0;  // log2 of how many elements of operand 0 an element of the result is made of
};

// The operator's rule, or what its class says.
Magnitude magnitude_of(MagnitudeContext& context);

// Rules.
Magnitude magnitude_passed(MagnitudeContext& n);  // numbers of its operands, or between them
Magnitude magnitude_of_sum(MagnitudeContext& n);
Magnitude magnitude_of_difference(MagnitudeContext& n);
Magnitude magnitude_of_product(MagnitudeContext& n);
Magnitude magnitude_of_quotient(MagnitudeContext& n);
Magnitude magnitude_of_reciprocal(MagnitudeContext& n);
Magnitude magnitude_of_root(MagnitudeContext& n);
Magnitude magnitude_of_power(MagnitudeContext& n);
Magnitude magnitude_of_exponential(MagnitudeContext& n);
Magnitude magnitude_of_both_exponentials(MagnitudeContext& n);  // of x and of -x: Cosh
Magnitude magnitude_of_logarithm(MagnitudeContext& n);
Magnitude magnitude_negated(MagnitudeContext& n);
Magnitude magnitude_not_negative(MagnitudeContext& n);  // Abs, Relu
Magnitude magnitude_of_lesser(MagnitudeContext& n);     // Min
Magnitude magnitude_between(MagnitudeContext& n);       // Clip
Magnitude magnitude_of_share(MagnitudeContext& n);      // from 0 to 1, by exponentials: Softmax, Sigmoid
Magnitude magnitude_within_one(MagnitudeContext& n);    // Tanh, Sin
Magnitude magnitude_of_norm(MagnitudeContext& n);       // divided by what it is like on the average
Magnitude magnitude_of_many(MagnitudeContext& n);       // summed along axes
Magnitude magnitude_of_many_sizes(MagnitudeContext& n);
Magnitude magnitude_of_many_squares(MagnitudeContext& n);
Magnitude magnitude_of_length(MagnitudeContext& n);   // the root of that
Magnitude magnitude_of_maximum(MagnitudeContext& n);  // along axes
Magnitude magnitude_of_many_factors(MagnitudeContext& n);
Magnitude magnitude_of_layer(MagnitudeContext& n);  // products with weights, summed

}  // namespace thaw::ops
