// The small layers that transformers are made of. Each takes the Scope that its weights stand in, under the names that
// transformers gives them ("weight", "bias"). Shapes are written with the last axis as features; what stands before it
// is free.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "thaw/model/nn/scope.h"

namespace thaw::model {

enum class Bias : uint8_t { kNo, kYes, kIfThere };

// x [..., in] -> x W^T + b [..., out]; W is stored [out, in] and written [in, out].
Var linear(const Scope& scope, Var x, int64_t in, int64_t out, Bias bias = Bias::kYes);

// Several linear layers of one input as one product: [..., sum of outs], in the order given.
Var concatenated_linear(const Scope& scope, const std::vector<std::pair<std::string_view, int64_t>>& layers, Var x,
                        int64_t in, Bias bias, std::string_view name);

// x / sqrt(mean(x^2) + eps) * weight over the last axis (Zhang and Sennrich, 2019), in float32 whatever the model's
// type.
Var rms_norm(const Scope& scope, Var x, int64_t features, double eps);
// Over the last axis, with weight and bias.
Var layer_norm(const Scope& scope, Var x, int64_t features, double eps);

// Activations, by the names in configs: "gelu", "gelu_pytorch_tanh", "gelu_new", "quick_gelu", "silu", "swish", "relu".
// Throws thaw::Error for others.
Var activate(std::string_view name, Var x);

// down(act(gate(x)) * up(x)), with weights gate_proj, up_proj, down_proj.
Var gated_mlp(const Scope& scope, Var x, int64_t features, int64_t inner, std::string_view activation, Bias bias);
// The same without biases where gate and up are one tensor, gate_up_proj, gate's rows first.
Var fused_gated_mlp(const Scope& scope, Var x, int64_t features, int64_t inner, std::string_view activation);
// second(act(first(x)))
Var mlp(const Scope& scope, std::string_view first, std::string_view second, Var x, int64_t in, int64_t inner,
        int64_t out, std::string_view activation);

// Rows of the table [entries, features] under `scope` by index: [..., features].
Var embedding(const Scope& scope, Var indices, int64_t entries, int64_t features);

}  // namespace thaw::model
