// Two models, made ready to be compared: copies in which calls of functions are their bodies, shared inputs are declared
// alike, and no two values have one name.
//
// Where one model declares a size as a number, or as equal to another one, both do: what is proven holds at the sizes that
// both declare.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/model.h"

namespace thaw::proving {

// The size of an axis of an input, or the number in an element of a small integer input.
struct BoundName {
  std::string input;
  size_t index = 0;  // of the axis, or of the element in row-major order
  bool is_element = false;

  auto operator<=>(const BoundName&) const = default;
};

// What a proof takes for granted of a size: first, first + step, … up to last.
struct SizeBound {
  BoundName of;
  int64_t first = 0;
  std::optional<int64_t> last;  // none: no end
  int64_t step = 1;
  bool is_needed = false;  // no choice: both models run there alone

  bool operator==(const SizeBound&) const = default;
};

// Axes of inputs that have one size, and what is known of it.
struct AlignedSize {
  std::string name;             // by which the models declare it now
  std::vector<BoundName> axes;  // in the order of the inputs; or one element
  std::optional<int64_t> number;
  std::optional<SizeBound> bound;  // where it is given or needed
};

struct Aligned {
  std::array<std::unique_ptr<ir::Model>, 2> models;
  std::vector<AlignedSize> sizes;
  std::string prefix;  // of the names of values that the second model makes
};

// Throws thaw::Error where there is no size that both models take, or none within the bounds.
Aligned align(const ir::Model& first, const ir::Model& second, std::span<const SizeBound> bounds = {});

// States the bounds of sizes that are no numbers. To be called before anything else is made in the scope.
void assume(const Aligned& aligned, dim::Scope& scope);

}  // namespace thaw::proving
