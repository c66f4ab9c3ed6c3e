// Nodes whose weights become blocks together.
#pragma once

#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/precisions.h"
#include "thaw/quant/samples/inner_values.h"

namespace thaw::quantizing {

// Nodes that read one weight in one way: it is packed once, for all that they multiply it by. With awq, which divides what nodes
// read, also those that read one value.
struct BlockGroup {
  const PrecisionOptions* precision;
  std::vector<ir::Node*> nodes = {};  // lookups last: they read what a product has
  // What its products multiply, as far as it can be seen whole: not inside a Loop or Scan. Places as they are before anything is
  // changed.
  std::vector<ValuePlace> inputs = {};
  bool has_one_sided_inputs = false;  // all that it multiplies is of one sign, as behind a Relu
};

// Of every node of the model, those of graphs inside nodes too, that is to have blocks, in the order of the graph.
std::vector<BlockGroup> block_groups(const ir::Model& model, const Precisions& precisions);

}  // namespace thaw::quantizing
