// `thaw split`: cuts a model into parts.
#pragma once

#include <memory>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/split.h"
#include "thaw/split/parts.h"

namespace thaw::splitting {

using thaw::CutPoint;
using thaw::SplitOptions;

struct Result {
  std::vector<Part> parts;
  std::vector<std::string> carried;
};

Result split(const ir::Model& model, const SplitOptions& options);

std::vector<CutPoint> cut_points(const ir::Model& model, const NamedSizes& sizes);

}  // namespace thaw::splitting
