// The operator families: each function adds its family's entries to the registry. registry.cc calls them.
#pragma once

namespace thaw::ops {

class Registry;

// Element-wise and numeric.
void add_elementwise_ops(Registry&);
void add_logical_ops(Registry&);
void add_cast_ops(Registry&);
void add_activation_ops(Registry&);
void add_reduction_ops(Registry&);
// Contractions, windows, normalizations.
void add_matmul_ops(Registry&);
void add_einsum_ops(Registry&);
void add_conv_ops(Registry&);
void add_pool_ops(Registry&);
void add_normalization_ops(Registry&);
void add_attention_ops(Registry&);
void add_recurrent_ops(Registry&);
void add_quantization_ops(Registry&);
// Images, signals, random numbers, losses.
void add_resize_ops(Registry&);
void add_vision_ops(Registry&);
void add_signal_ops(Registry&);
void add_random_ops(Registry&);
void add_loss_ops(Registry&);
// Movement of elements.
void add_reshape_ops(Registry&);
void add_squeeze_ops(Registry&);
void add_transpose_ops(Registry&);
void add_slice_ops(Registry&);
void add_split_ops(Registry&);
void add_expand_ops(Registry&);
void add_pad_ops(Registry&);
void add_scatter_ops(Registry&);
void add_optional_ops(Registry&);
void add_concat_ops(Registry&);
void add_gather_ops(Registry&);
void add_select_ops(Registry&);
void add_generator_ops(Registry&);
// Sequences, control flow, text, classic machine learning.
void add_sequence_ops(Registry&);
void add_control_ops(Registry&);
void add_string_ops(Registry&);
void add_ml_ops(Registry&);
// com.microsoft.
void add_microsoft_attention_ops(Registry&);
void add_microsoft_grouped_attention_ops(Registry&);
void add_microsoft_linear_attention_ops(Registry&);
void add_microsoft_packed_ops(Registry&);
void add_microsoft_rotary_ops(Registry&);
void add_microsoft_normalization_ops(Registry&);
void add_microsoft_activation_ops(Registry&);
void add_microsoft_embedding_ops(Registry&);
void add_microsoft_fused_product_ops(Registry&);
void add_microsoft_expert_ops(Registry&);
void add_microsoft_quantized_ops(Registry&);
void add_microsoft_quantized_product_ops(Registry&);
void add_microsoft_movement_ops(Registry&);
void add_microsoft_transform_ops(Registry&);
void add_microsoft_generation_ops(Registry&);

inline constexpr void (*kFamilies[])(Registry&) = {
    add_elementwise_ops,
    add_logical_ops,
    add_cast_ops,
    add_activation_ops,
    add_reduction_ops,
    add_matmul_ops,
    add_einsum_ops,
    add_conv_ops,
    add_pool_ops,
    add_normalization_ops,
    add_attention_ops,
    add_recurrent_ops,
    add_quantization_ops,
    add_resize_ops,
    add_vision_ops,
    add_signal_ops,
    add_random_ops,
    add_loss_ops,
    add_reshape_ops,
    add_squeeze_ops,
    add_transpose_ops,
    add_slice_ops,
    add_split_ops,
    add_expand_ops,
    add_pad_ops,
    add_scatter_ops,
    add_optional_ops,
    add_concat_ops,
    add_gather_ops,
    add_select_ops,
    add_generator_ops,
    add_sequence_ops,
    add_control_ops,
    add_string_ops,
    add_ml_ops,
    add_microsoft_attention_ops,
    add_microsoft_grouped_attention_ops,
    add_microsoft_linear_attention_ops,
    add_microsoft_packed_ops,
    add_microsoft_rotary_ops,
    add_microsoft_normalization_ops,
    add_microsoft_activation_ops,
    add_microsoft_embedding_ops,
    add_microsoft_fused_product_ops,
    add_microsoft_expert_ops,
    add_microsoft_quantized_ops,
    add_microsoft_quantized_product_ops,
    add_microsoft_movement_ops,
    add_microsoft_transform_ops,
    add_microsoft_generation_ops,
};

}  // namespace thaw::ops
