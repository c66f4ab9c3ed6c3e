// The two sides of an obligation at which a size of the inputs meets a constant. Internal to frozen/.
#pragma once

#include <cstdint>
#include <optional>

#include "thaw/frozen/source.h"
#include "thaw/ops/rule/obligation.h"

namespace thaw::frozen {

struct Sides {
  dim::Dim expression;
  int64_t constant;
  int input;  // of the constant
  int axis;
};

// nullopt where there is no such pair.
std::optional<Sides> sides_of(const ops::Obligation& o);

// Whether it is made of what a Reshape's -1 leaves of elements that data count, over sizes of the inputs: a channel axis,
// as a rule, of which inference does not see that the data has as many rows as it takes ([n, 4, 64] of windows back to
// [patches, -1]).
bool holds_remainder(dim::Dim d);

// A number that the operator itself asks for (the two coordinates of a GridSample's grid, heads in an attribute): the
// rule says where the other side was read from, and this one was read from no operand.
bool is_own_number(const ops::Obligation& o, const Sides& sides);

// Whether a computed operand has that size for no constant's sake.
bool comes_from_nothing(SourceTracer& tracer, const ops::Obligation& o, const Sides& sides);

}  // namespace thaw::frozen
