// Places between two ends: where the steps of an axis stand as shares of it, as models write it. Internal to lift/.
#pragma once

#include <cstdint>
#include <span>

#include "thaw/lift/table/formula/formula.h"

namespace thaw::lifting {

// A place between 0 and 1, or -1 and 1, as (of * index + from) / (under + more) + start.
struct Span {
  const char* name;
  int64_t of, from;
  bool ends;  // under: the length less 1, else the length
  double start;
  double more = 0;  // so that nothing is divided by 0, in float32

  double under(int64_t length) const;
  double at(int64_t index, int64_t length) const;
};

// The plainest first.
std::span<const Span> all_spans();

// index: the place is of it, in steps of the axis. length: of the axis.
Formula place_in(const Span& span, const Formula& index, const Size& length);

}  // namespace thaw::lifting
