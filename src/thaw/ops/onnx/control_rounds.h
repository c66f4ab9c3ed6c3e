// How often Loop, Scan, SequenceMap and If run their graphs.
#pragma once

#include "thaw/dim/expr/dim.h"
#include "thaw/ops/rule/rule_types.h"

namespace thaw::ops {

// How often a Loop runs, as far as its operands tell.
struct TripCount {
  dim::Dim limit;       // max(M, 0); unknown without M or when M is not known
  bool starts = false;  // the condition holds at first
  bool never = false;   // it certainly does not run
};

TripCount trip_count(NodeView& view);

dim::Dim if_rounds(NodeView& view, const ir::Graph& branch);
dim::Dim loop_rounds(NodeView& view, const ir::Graph& body);
dim::Dim scan_rounds(NodeView& view, const ir::Graph& body);
dim::Dim sequence_map_rounds(NodeView& view, const ir::Graph& body);

}  // namespace thaw::ops
