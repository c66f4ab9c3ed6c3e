// What an integer of one trace may be: every simple expression of the sizes that gives it at the export's sizes.
//
// Several traces leave one simplest expression (solve.h); one trace leaves many, and something else must choose. They are terms
// (term/enumerate.h) of which the points are the export and the cases of a reference, and beside them the integer itself.
//
// Proposals that agree at every point cannot be told apart by any of them: they come as one, under the cheapest, which holds the others.
// What is the same number at every point comes as that number. A size that is the product of others (patches of a grid) is used for
// itself, not with those others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "thaw/dim/expr/dim.h"
#include "thaw/lift/term/enumerate.h"

namespace thaw::lifting {

// A size of the inputs: its value at the export, then in each case.
struct Point {
  dim::Dim symbol;
  std::vector<int64_t> at;
  dim::Dim product = {};  // of other sizes, where it is one at every point
};

struct Proposal {
  dim::Dim dim;
  std::vector<int64_t> at;               // as in Point
  double cost = 0;                       // bits
  std::vector<dim::Dim> same_here = {};  // others, nearly as plain, that give the same at every point
};

// Finds the products: of two or three of the other sizes.
void find_products(std::span<Point> points);

class Proposer {
 public:
  // Each point must have the same, positive number of values.
  explicit Proposer(std::span<const Point> points);
  Proposer(const Proposer&) = delete;
  Proposer& operator=(const Proposer&) = delete;

  // For an integer > 0: its proposals from the cheapest on, a few dozen at most, the integer itself always among them.
  // Anything else only stays what it is.
  const std::vector<Proposal>& propose(int64_t value);

 private:
  std::vector<Proposal> proposals_of(int64_t value) const;
  bool is_of_product(dim::Dim size) const;

  std::vector<Point> points_;  // that are sizes
  size_t num_values_;
  Forms forms_;
  std::optional<Terms> terms_;
  std::map<int64_t, std::vector<Proposal>> known_;
};

}  // namespace thaw::lifting
