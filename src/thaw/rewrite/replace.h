// One value in the place of another.
#pragma once

#include "thaw/ir/graph/graph.h"

namespace thaw::rewrite {

// Whether all that reads `old` may read `now`. An output of a graph keeps its name, so it takes a value of its own.
bool can_replace(const ir::Value& old, const ir::Value& now);

// All that reads `old` reads `now`; an output of a graph keeps its name and its declared type, unless `now` is an input.
void replace_value(ir::Value& old, ir::Value& now);

// The same; `now`, which is new, takes the name of `old` in any case.
void replace_by_new(ir::Value& old, ir::Value& now);

}  // namespace thaw::rewrite
