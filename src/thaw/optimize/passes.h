// The passes of `optimize`, and the tables that become passes: each is in the file of its name. Their order is in optimize.cc.
//
// A pass returns how much it did.
#pragma once

#include <span>
#include <vector>

#include "thaw/optimize/context.h"
#include "thaw/optimize/simplify.h"
#include "thaw/rewrite/fuse.h"

namespace thaw::optimizing {

// --- Standard operators only, the same numbers bit for bit ---

// Calls of functions of the model's own opset become the functions' nodes, functions in functions too. Functions that nothing
// calls any more go. Throws thaw::Error where the bodies are more than the model's budget allows.
int inline_functions(Context& context);

// Constant nodes become initializers of their graph, under the name of their output.
int list_constants(Context& context);

std::span<const Simplification> identities();         // nodes whose output is their input
std::span<const Simplification> merged_layouts();     // Transposes, Reshapes, Slices, Concats, Pads in a row
std::span<const Simplification> merged_numbers();     // Casts, limits, signs, conditions in a row
std::span<const Simplification> merged_reductions();  // reductions, stretches of shapes, conditions as numbers

// Between Transposes, nodes that work on each element alone, or name the axes that they work along, take their operands in the
// order in which those come before the Transposes. Parts of the graph are found by one walk; one is rewritten where it has fewer
// Transposes afterwards, of no more elements: none is only moved. Small constants are transposed, and those that nothing else
// reads. Nothing adds floats in another order: it would round otherwise, and what is a norm with its Transposes is none without.
// Returns how many parts.
int push_transposes(Context& context);

std::span<const Simplification> plain_sequences();  // sequences and optionals that are tensors

// A SplitToSequence that SequenceAt alone reads becomes one Split, where it is known how many parts there are, and else a Slice or
// Gather for each part that is taken. A count that follows from a size is none of a model with frozen ones.
int split_sequences(Context& context);

// An If whose condition is a constant becomes the branch that it takes, and one whose condition comes out the same at every size,
// unless the model has frozen sizes, which it may follow from.
int take_branches(Context& context);

// A Loop whose trip count is a small constant, not one that a size was frozen in, and whose condition stays true, becomes its
// rounds, one after the other, as long as the model has no more nodes than it may have then.
int unroll_loops(Context& context);

std::span<const Simplification> plain_einsums();

// Zeros that a recurrence begins with (initial_h, initial_c) are left out: it begins with them anyway.
int drop_zero_states(Context& context);

std::span<const Simplification> equal_quantization();  // dequantized and quantized alike

// Constants of one type, shape and bytes, but for those that a size was frozen in. Bytes are looked at only where type and shape
// are those of another.
int share_constants(Context& context);

// Nodes that compute the same from the same: values numbered by their operator, operands and attributes. In a subgraph, what
// the graphs around it have computed before counts too. Random numbers, and nodes that hold graphs or whose operator Thaw
// does not know, are left.
int share_nodes(Context& context);

// Small integer tensors that are the same expressions of the inputs' sizes, however they are computed: the first is
// kept.
int share_sizes(Context& context);

// Targets of Reshapes that are computed, where a constant of 0 and -1 says the same. A size is written as a number only where the
// file has it as one. Beside frozen sizes, what looks like a number may be one of them: there kept_sizes does what it can.
int write_reshape_targets(Context& context);
std::span<const Simplification> kept_sizes();  // targets of Reshapes that keep sizes where they are

// --- Operators of other domains ---

// What the target does not take and stands for operators of ai.onnx, as its entry says, becomes those, the same up to rounding;
// imports of domains that nothing is of go. What has no equal is left, and `left` says why. Nothing happens for ONNX Runtime.
int write_standard_operators(Context& context);

// --- For backends with a table, of which some run no graphs inside a graph ---

// An If whose branches work element by element, and run whatever its condition is, becomes their nodes and a Where.
int merge_branches(Context& context);
// A Loop or Scan each of whose rounds works on a row of its own becomes the nodes of its body over all rows.
int map_rows_at_once(Context& context);
// A Scan or Loop that adds what it reads to what it carries becomes CumSum and ReduceSum.
int add_scans_at_once(Context& context);
std::span<const Simplification> backend_forms();  // what the backend has no kernel for, or a slow one

// --- Fusions: what a target has an operator for, the same numbers up to rounding ---

std::vector<rewrite::Fusion> fused_activations(OptimizeTarget target);
std::vector<rewrite::Fusion> fused_norms(OptimizeTarget target);
// Norms of instances and groups, over the axes after the channels; a part of fused_norms.
std::vector<rewrite::Fusion> fused_group_norms(OptimizeTarget target);
// x over its length, along the last axis; a part of fused_norms.
std::vector<rewrite::Fusion> fused_lengths();

// x cos + (-x2, x1) sin and its kin.
int fuse_rotary(Context& context);

// Softmax over scaled products of q and k, a mask added, times v.
int fuse_attention(Context& context);
// attention/: an Attention whose heads were split off and transposed before the positions, and whose result is transposed back, reads
// [batch, positions, heads * width] and returns that: no Transpose is left. RotaryEmbedding between goes along.
int merge_heads(Context& context);
// attention/: where queries and keys of a GroupQueryAttention are rotated by the same angles at positions from 0 on, and nothing
// else reads them rotated, the operator rotates them itself.
int rotate_inside(Context& context);

// Sums that a norm follows: SkipLayerNormalization and its kin, which return the sum too.
int fuse_skips(Context& context);

// What follows a convolution or a Gemm channel by channel goes into its weights, zeros around what it reads into its pads.
int fuse_convolutions(Context& context);
// The same of a MatMul with a weight, where BatchNormalization follows.
int fuse_linear_norms(Context& context);
std::span<const Simplification> whole_convolutions();  // of patches as large as the kernel

// com.microsoft's MatMulNBits: a product with a weight in blocks of 4 or 8 bits that DequantizeLinear reads.
int fuse_block_weights(Context& context);
// com.microsoft's FusedConv: a convolution and its activation.
int fuse_conv_activations(Context& context);
// com.microsoft's FusedMatMul: a product with what it is multiplied by and the Transposes before it.
int fuse_products(Context& context);

}  // namespace thaw::optimizing
