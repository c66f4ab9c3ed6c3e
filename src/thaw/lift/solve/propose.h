// What an integer of one trace may be: every simple expression of the sizes that gives it at the export's sizes.
//
// Several traces leave one simplest expression (solve.h); one trace leaves many, and something else must choose. Each
// proposal has a cost, about the bits that it takes to write down: the integer itself, a size, its multiple or part, a
// product or quotient of two, a sum with a small constant, a rounded part, the larger or smaller of two, a product of
// three. Powers of two are cheap as integers (widths, heads, merges); 11 is dearer than half of a height of 22.
//
// Proposals that agree at every point (the export and the cases of a reference) cannot be told apart by any of them:
// they come as one, under the cheapest, which names the others. What is the same number at every point comes as that
// number. A size that is the product of others (patches of a grid) is used for itself, not with those others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thaw/dim/expr/dim.h"

namespace thaw::lifting {

// A size of the inputs: its value at the export, then in each case.
struct Point {
  dim::Dim symbol;
  std::vector<int64_t> at;
  dim::Dim product = {};  // of other sizes, where it is one at every point
};

struct Proposal {
  dim::Dim dim;
  std::vector<int64_t> at;             // as in Point
  double cost = 0;                     // bits
  std::vector<std::string> same_here;  // simple others that give the same at every point, two at most
};

// Finds the products: of two or three of the other sizes.
void find_products(std::span<Point> points);

// For an integer > 0: its proposals from the cheapest on, a few dozen at most, the integer itself always among them.
// Anything else only stays what it is. Each point must have the same, positive number of values.
std::vector<Proposal> propose(int64_t value, std::span<const Point> points);

}  // namespace thaw::lifting
