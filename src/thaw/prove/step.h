// One step of a proof by itself: whether a value of one model equals one of the other, given that others do.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/prove/evidence.h"

namespace thaw::proving {

// A value of the model and one of the reference.
struct Equal {
  const ir::Value *model = nullptr, *reference = nullptr;
};

bool are_one_input(const Sides& sides, const Equal& pair);
bool are_one_constant(const Equal& pair);
// The expressions that both are; nullopt where one of the two is not known at all sizes, or they differ. The names of the values are
// not filled in.
std::optional<Step> common_sizes(const Sides& sides, const Equal& pair);
// Whether the same outputs of nodes that do the same, `operands` being equal; nullopt stands for one that is left out.
bool do_the_same(const Sides& sides, const Equal& pair, std::span<const std::optional<Equal>> operands);

using Certainty = Algebra::Certainty;
// Of nodes that do the same with operands of which that is known.
Certainty certainty_of(const Sides& sides, const Equal& pair, std::span<const Certainty> operands);

// An equality that is given, and the number of its step.
struct Given {
  Equal pair;
  int64_t step = 0;
  Certainty certainty = {.has_input = true};
};

// What the nodes between are by the laws, values that are given being unknown; nullopt where the two do not become one term, or one of
// steps of constants that are the same but for rounding. The names of the values and what is given are not filled in.
struct Shown {
  Step step;
  Certainty certainty;
};
std::optional<Shown> by_laws(const Sides& sides, const Equal& pair, std::span<const Given> given, Weights weights);

}  // namespace thaw::proving
