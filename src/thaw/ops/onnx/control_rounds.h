// How often Loop, Scan, SequenceMap and If run their graphs.
#pragma once

#include "thaw/ops/rule/rounds.h"

namespace thaw::ops {

dim::Dim if_rounds(NodeView& view, const ir::Graph& branch);
dim::Dim loop_rounds(NodeView& view, const ir::Graph& body);
dim::Dim scan_rounds(NodeView& view, const ir::Graph& body);
dim::Dim sequence_map_rounds(NodeView& view, const ir::Graph& body);

}  // namespace thaw::ops
