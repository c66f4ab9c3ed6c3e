// How many values the graphs of If, Loop, Scan and SequenceMap take and return: the body rules of their entries.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/ops/rule/bodies.h"
#include "thaw/ops/rule/rule_types.h"

namespace thaw::ops {

std::vector<BodyArity> if_bodies(const ir::Node& node, int64_t opset);
std::vector<BodyArity> loop_bodies(const ir::Node& node, int64_t opset);
std::vector<BodyArity> scan_bodies(const ir::Node& node, int64_t opset);
std::vector<BodyArity> sequence_map_bodies(const ir::Node& node, int64_t opset);

}  // namespace thaw::ops
