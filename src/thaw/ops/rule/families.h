// The operator families: each function adds its family's entries to the registry. Listed once here, called in
// registry.cc.
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
void add_transpose_ops(Registry&);
void add_slice_ops(Registry&);
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
void add_ms_attention_ops(Registry&);
void add_ms_norm_ops(Registry&);
void add_ms_quant_ops(Registry&);
void add_ms_misc_ops(Registry&);

}  // namespace thaw::ops
