// Values as products and sums: one reading for the many ways in which exporters write the same arithmetic.
//
//   x * x, Pow(x, 2)                                     x^2
//   a / Sqrt(b), a * Reciprocal(Sqrt(b)), a * Pow(b, -0.5)   a * b^(-1/2)
//   Neg(x), x * -1, 0 - x                                -1 * x
//   (x + y) - 3, Sum(x, -3, y)                           -3 + x + y
//
// Constants of one element become the coefficient; Identity and Casts to the type that is there are looked through.
#pragma once

#include <optional>
#include <vector>

#include "thaw/infer/infer.h"

namespace thaw::rewrite {

struct Factor {
  ir::Value* value = nullptr;
  double exponent = 1;
};

struct Product {
  double coefficient = 1;
  std::vector<Factor> factors;         // each value once
  std::vector<const ir::Node*> nodes;  // that make it up
};

struct Summand {
  ir::Value* value = nullptr;
  double coefficient = 1;
};

struct Sum {
  double constant = 0;
  std::vector<Summand> terms;  // each value once
  std::vector<const ir::Node*> nodes;
};

// What a value is made of, at most `depth` nodes deep. One that is no product (sum) is itself, once. Values that anything
// else reads are not taken apart, but for `value` itself.
Product product_of(ir::Value* value, const infer::Result& facts, int depth = 16);
Sum sum_of(ir::Value* value, const infer::Result& facts, int depth = 16);

// The one number that a value holds: a constant of one element. nullopt for others.
std::optional<double> number_of(const ir::Value& value);
// What a value is behind Identity, and behind Casts to the type that is there already.
ir::Value* look_through(ir::Value* value, const infer::Result& facts, std::vector<const ir::Node*>* nodes = nullptr);

}  // namespace thaw::rewrite
