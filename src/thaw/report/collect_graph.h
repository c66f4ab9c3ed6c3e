// What the page of a graph shows, collected: the nodes of a model, or of two that were compared, in one graph.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

#include "thaw/report/frozen_sizes.h"
#include "thaw/report/graph_data.h"
#include "thaw/report/inspection.h"
#include "thaw/report/model_diff.h"
#include "thaw/run.h"

namespace thaw::report {

struct GraphSource {
  const Inspection& seen;                // the model, of two the later
  const FrozenSizes* frozen = nullptr;   // marked where given
  const Inspection* former = nullptr;    // the other model of two, and what differs:
  const ModelDiff* diff = nullptr;       // its nodes without partner stand in the graph too
  const Placement* placement = nullptr;  // its nodes are marked with their providers
};

// How much of it is wanted: a page is to stay small.
struct GraphDetail {
  bool attributes = true;  // and elements of small tensors, and costs as expressions
  bool tensor_names = true;
  size_t most_nodes = std::numeric_limits<size_t>::max();
};

GraphData collect_graph(const GraphSource& source, const GraphDetail& detail = {});

// The same as JSON of at most `most_bytes`. What has no place is left out: first attributes and expressions of costs,
// then names of tensors, then the last nodes; GraphData::limits says so.
std::string graph_json(const GraphSource& source, size_t most_bytes);

}  // namespace thaw::report
