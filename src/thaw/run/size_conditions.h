// Sizes that what a model demands of them holds at.
//
// A decoder needs past + new == total, an encoder more samples than its first window: such statements are known as
// expressions, and a choice of sizes is moved until they hold.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "thaw/dim/expr/proof.h"
#include "thaw/dim/expr/scope.h"

namespace thaw::run {

// What must hold of two sizes for a model to run.
struct SizeCondition {
  dim::Relation relation = dim::Relation::kEqual;
  dim::Dim a, b;
};

class SizeConditions {
 public:
  // Conditions over anything but dims and elements of inputs are left out, and so are repeated ones. The scope that
  // they are of must outlive this.
  explicit SizeConditions(std::span<const SizeCondition> conditions);

  // Elements of integer inputs that some condition names, by id.
  const std::vector<int>& values() const { return values_; }

  // Moves those of `movable` (ids of symbols, each with a size in `sizes`) until every condition holds whose symbols all
  // have one. False, with as many of them held as were found to be, where some does not. Bounded work: a few hundred
  // steps, in each of which a condition that is broken is solved for one of its symbols, or the nearest size looked for.
  bool fit(dim::Assignment& sizes, const std::vector<int>& movable) const;

 private:
  struct Condition {
    SizeCondition what;
    std::vector<int> symbols;
  };
  static bool holds(const SizeCondition& condition, const dim::Assignment& sizes);
  std::vector<int64_t> repairs(const SizeCondition& condition, int symbol, const dim::Assignment& sizes) const;
  size_t broken(const std::vector<size_t>& which, const dim::Assignment& sizes) const;

  std::vector<Condition> conditions_;
  std::map<int, std::vector<size_t>> of_symbol_;
  std::vector<int> values_;
  const dim::Scope* scope_ = nullptr;
};

}  // namespace thaw::run
