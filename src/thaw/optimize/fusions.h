// The fusions of `optimize`: arithmetic that an operator stands for. A file a family; what a target has decides.
#pragma once

#include <vector>

#include "thaw/optimize.h"
#include "thaw/rewrite/fuse.h"

namespace thaw::optimizing {

using thaw::OptimizeTarget;

std::vector<rewrite::Fusion> fused_activations(OptimizeTarget target);
std::vector<rewrite::Fusion> fused_norms(OptimizeTarget target);

// Norms of instances and groups, over the axes after the channels; a part of fused_norms.
std::vector<rewrite::Fusion> fused_group_norms(OptimizeTarget target);

// x over its length, along the last axis.
std::vector<rewrite::Fusion> fused_lengths();

// Softmax over scaled products of q and k, a mask added, times v. Returns how many.
int fuse_attention(ir::Model& model, infer::Inference& facts, OptimizeTarget target, rewrite::Changes& changes);

// x cos + (-x2, x1) sin and its kin. Returns how many.
int fuse_rotary(ir::Model& model, infer::Inference& facts, OptimizeTarget target, rewrite::Changes& changes);

// Sums that a norm follows: SkipLayerNormalization and its kin, which give the sum too. Returns how many.
int fuse_skips(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

// What follows a convolution or a Gemm channel by channel goes into its weights, zeros around what it reads into its pads. Returns
// how many.
int fuse_convolutions(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);
// The same of a MatMul with a weight, where BatchNormalization follows. Returns how many.
int fuse_linear_norms(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);
// com.microsoft's FusedConv: a convolution and its activation. Returns how many.
int fuse_conv_activations(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

// com.microsoft's FusedMatMul: a product with what it is multiplied by and the Transposes before it. Returns how many.
int fuse_products(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

// com.microsoft's MatMulNBits: a product with a weight in blocks of 4 or 8 bits that DequantizeLinear reads. Returns how
// many.
int fuse_block_weights(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

}  // namespace thaw::optimizing
