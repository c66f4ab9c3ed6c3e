// The weights of a model in blocks of few bits: which nodes go together, and what is measured for them first.
#pragma once

#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ops/target/target.h"
#include "thaw/quant/precisions.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing {

// Whether the method takes samples.
constexpr bool needs_data(BlockMethod method) { return method == BlockMethod::kGptq || method == BlockMethod::kAwq; }

// Throws thaw::Error (kInvalidArgument) for blocks that there are not, of 48 weights.
void require_blocks(const ConvertOptions& options);

// Raises the opset where the blocks that are asked for take a newer one: with a target that has a table to the one at which it has a
// kernel for most nodes. To be called before nodes are looked at.
void raise_opset_for_blocks(ir::Model& model, const ConvertOptions& options, const ops::Target& target);

// Every node of the main graph and of graphs inside it that is to have blocks. `samples` may be null, but for the methods that
// need some: throws thaw::Error (kInvalidArgument) then.
// A table that the target has no kernel to look rows up in stays as it is. Returns how many have them then. What writes the nodes that read blocks is blocks/block_writer.h.
int to_blocks(rewrite::PassContext& context, const Precisions& precisions, const Samples* samples,
              const ops::Target& target);

}  // namespace thaw::quantizing
