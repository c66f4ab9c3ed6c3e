"""Architectures that lifting is measured on: tiny, with random weights, and the sizes that each is exported and judged at.

MODELS: by name, what makes the torch model, what makes its inputs of a size, and the sizes. Nothing is downloaded.
"""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

TEXT = ([(19,), (34,), (53,)], [(27,), (61,)])
IMAGE = ([(64, 96), (77, 59), (90, 131)], [(88, 70), (101, 115)])
RAGGED = ([(70, 96), (93, 59), (120, 131)], [(88, 70), (129, 151)])  # of windows: those of neither side are always whole
LARGER = ([(96, 160), (160, 128), (224, 192)], [(128, 96), (256, 288)])
WHOLE = ([(64, 96), (96, 160), (160, 128)], [(96, 128), (192, 64)])  # of those that refuse parts of patches
AUDIO = ([(3000,), (5217,), (7850,)], [(4100,), (8403,)])
FEATURES = ([(61,), (94,), (142,)], [(77,), (163,)])


@dataclass
class Architecture:
    name: str
    make: Callable  # -> torch.nn.Module whose forward takes the inputs by name
    inputs: Callable  # (*size) -> numpy arrays by name
    sizes: list  # of the traces
    unseen: list
    call: dict  # what else forward is given
    resize: Callable = None  # (model, *size): what is told the size before it is given an image of it


def _ids(n):
    return dict(input_ids=np.random.default_rng(n).integers(3, 90, (1, n)))


def _masked(n):
    return _ids(n) | dict(attention_mask=np.ones((1, n), np.int64))


def _image(h, w):
    return dict(pixel_values=np.random.default_rng(h * w).standard_normal((1, 3, h, w), dtype=np.float32))


def _audio(n):
    return dict(input_values=np.random.default_rng(n).standard_normal((1, n), dtype=np.float32))


def _features(width, name="input_features", last=False):
    def make(n):
        shape = (1, width, n) if last else (1, n, width)
        return {name: np.random.default_rng(n).standard_normal(shape, dtype=np.float32)}
    return make


SMALL = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=100, max_position_embeddings=512,
             pad_token_id=0, bos_token_id=1, eos_token_id=2)
DECODER = dict(SMALL, num_key_value_heads=2, head_dim=8)
SPEECH = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=30, conv_dim=(16, 16, 16),
              conv_stride=(5, 2, 2), conv_kernel=(10, 3, 2), num_feat_extract_layers=3, num_conv_pos_embeddings=15, num_conv_pos_embedding_groups=4)
VIT = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=240, patch_size=8)

MODELS = {}


def _add(name, config, model, options, inputs, sizes, call=None, part=None, inner=None):
    """A class of transformers by its config; `part` picks what is exported; `inner` sets options of a part's config."""
    def make():
        import transformers
        settings = dict(options)
        for key, (cls, kept) in (inner or {}).items():
            settings[key] = getattr(transformers, cls)(**kept)
        made = getattr(transformers, model)(getattr(transformers, config)(**settings))
        return part(made) if part else made
    MODELS[name] = Architecture(name, make, inputs, *sizes, {"use_cache": False} | (call or {}) if inputs in (_ids, _masked) and call is None
                                else call or {})


def _vision(name, make, inputs=_image, sizes=IMAGE):
    MODELS[name] = Architecture(name, make, inputs, *sizes, {})


NO_CALL = {"return_dict": False}
# Encoders of text.
_add("bert", "BertConfig", "BertModel", SMALL, _masked, TEXT, NO_CALL)
_add("roberta", "RobertaConfig", "RobertaModel", SMALL, _ids, TEXT, NO_CALL)
_add("mpnet", "MPNetConfig", "MPNetModel", SMALL, _ids, TEXT, NO_CALL)
_add("deberta_v2", "DebertaV2Config", "DebertaV2Model", SMALL | dict(relative_attention=True, position_buckets=16, pos_att_type=["p2c", "c2p"],
     norm_rel_ebd="layer_norm", share_att_key=True), _masked, TEXT, NO_CALL)
_add("layoutlmv2_text", "LayoutLMv3Config", "LayoutLMv3Model", SMALL | dict(visual_embed=False, coordinate_size=6, shape_size=4,
     max_2d_position_embeddings=64), _ids, TEXT, NO_CALL)
_add("roformer", "RoFormerConfig", "RoFormerModel", SMALL | dict(embedding_size=32), _ids, TEXT, NO_CALL)
_add("xlnet", "XLNetConfig", "XLNetModel", dict(vocab_size=100, d_model=128, n_layer=2, n_head=4, d_inner=48), _ids, TEXT, NO_CALL)
_add("funnel", "FunnelConfig", "FunnelModel", dict(vocab_size=100, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=48), _ids, TEXT, NO_CALL)
_add("fnet", "FNetConfig", "FNetModel", dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, intermediate_size=48, max_position_embeddings=512), _ids,
     TEXT, NO_CALL)
_add("modernbert", "ModernBertConfig", "ModernBertModel", SMALL | dict(cls_token_id=1, sep_token_id=2, global_attn_every_n_layers=2, local_attention=16), _ids,
     TEXT, NO_CALL)
_add("esm", "EsmConfig", "EsmModel", SMALL | dict(position_embedding_type="rotary", mask_token_id=3), _masked, TEXT, NO_CALL)
_add("longformer", "LongformerConfig", "LongformerModel", SMALL | dict(attention_window=16, max_position_embeddings=200), _ids, TEXT, NO_CALL)
_add("t5_encoder", "T5Config", "T5EncoderModel", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4), _ids, TEXT, NO_CALL)
_add("umt5_encoder", "UMT5Config", "UMT5EncoderModel", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4), _ids, TEXT, NO_CALL)
# Decoders of text.
_add("gpt2", "GPT2Config", "GPT2Model", dict(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=512), _masked, TEXT)
_add("llama", "LlamaConfig", "LlamaModel", DECODER, _masked, TEXT)
_add("mistral_window", "MistralConfig", "MistralModel", DECODER | dict(sliding_window=16), _masked, TEXT)
_add("gemma3", "Gemma3TextConfig", "Gemma3TextModel", DECODER | dict(sliding_window=16, query_pre_attn_scalar=8), _masked, TEXT)
_add("bloom", "BloomConfig", "BloomModel", dict(vocab_size=100, hidden_size=32, n_layer=2, n_head=4), _masked, TEXT)
_add("mpt", "MptConfig", "MptModel", dict(vocab_size=100, d_model=32, n_layers=2, n_heads=4, max_seq_len=512, expansion_ratio=2), _masked, TEXT)
_add("phi", "PhiConfig", "PhiModel", SMALL | dict(partial_rotary_factor=0.5), _masked, TEXT)
_add("gpt_neo", "GPTNeoConfig", "GPTNeoModel", dict(vocab_size=100, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]],
     window_size=16, max_position_embeddings=512), _masked, TEXT)
_add("opt", "OPTConfig", "OPTModel", dict(vocab_size=100, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=512,
     word_embed_proj_dim=32), _masked, TEXT)
_add("mamba", "MambaConfig", "MambaModel", dict(vocab_size=100, hidden_size=16, state_size=4, num_hidden_layers=1), _ids, TEXT)
_add("rwkv", "RwkvConfig", "RwkvModel", dict(vocab_size=100, hidden_size=16, num_hidden_layers=2, context_length=96), _ids, TEXT)
# Recurrences that are written out step by step.
MIXER = dict(hidden_size=32, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2, vocab_size=100, mamba_d_state=8, mamba_d_conv=4,
             mamba_expand=2)
_add("falcon_mamba", "FalconMambaConfig", "FalconMambaModel", dict(vocab_size=100, hidden_size=16, state_size=4, num_hidden_layers=2), _ids, TEXT)
_add("mamba2", "Mamba2Config", "Mamba2Model", dict(vocab_size=100, hidden_size=16, state_size=8, num_hidden_layers=2, num_heads=4, head_dim=8, n_groups=2,
     chunk_size=16, expand=2), _ids, TEXT)
_add("recurrent_gemma", "RecurrentGemmaConfig", "RecurrentGemmaModel", dict(SMALL, num_hidden_layers=3, lru_width=32, attention_window_size=16,
     num_key_value_heads=1, head_dim=8), _ids, TEXT)
_add("jamba", "JambaConfig", "JambaModel", MIXER | dict(num_hidden_layers=2, attn_layer_period=2, attn_layer_offset=1, num_experts=1, mamba_dt_rank=2,
     use_mamba_kernels=False), _ids, TEXT)
_add("bamba", "BambaConfig", "BambaModel", MIXER | dict(num_hidden_layers=2, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=8, mamba_n_groups=1,
     mamba_chunk_size=16), _ids, TEXT)
_add("xlstm", "xLSTMConfig", "xLSTMModel", dict(vocab_size=100, hidden_size=32, num_heads=2, num_blocks=2, num_hidden_layers=2, chunk_size=16,
     mode="inference"), _ids, TEXT)
# Speech.
_add("wav2vec2", "Wav2Vec2Config", "Wav2Vec2Model", SPEECH, _audio, AUDIO, NO_CALL)
_add("wavlm", "WavLMConfig", "WavLMModel", SPEECH | dict(num_buckets=16, max_bucket_distance=40), _audio, AUDIO, NO_CALL)
_add("sew_d", "SEWDConfig", "SEWDModel", SPEECH | dict(position_buckets=16, max_position_embeddings=64, squeeze_factor=2), _audio, AUDIO, NO_CALL)
_add("wav2vec2_conformer", "Wav2Vec2ConformerConfig", "Wav2Vec2ConformerModel", SPEECH | dict(position_embeddings_type="relative",
     max_source_positions=300), _audio, AUDIO, NO_CALL)
_add("wav2vec2_bert", "Wav2Vec2BertConfig", "Wav2Vec2BertModel", dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
     feature_projection_input_dim=20, left_max_position_embeddings=8, right_max_position_embeddings=4), _features(20), FEATURES, NO_CALL)
_add("encodec", "EncodecConfig", "EncodecModel", dict(num_filters=4, hidden_size=16, codebook_size=16, codebook_dim=16, upsampling_ratios=[4, 2],
     num_lstm_layers=1), lambda n: dict(hidden_states=_audio(n)["input_values"][None]), AUDIO, {}, lambda m: m.encoder)
# Images.
_add("vit", "ViTConfig", "ViTModel", VIT, _image, IMAGE, {"interpolate_pos_encoding": True})
_add("dinov2", "Dinov2Config", "Dinov2Model", VIT | dict(mlp_ratio=2), _image, IMAGE)
_add("beit", "BeitConfig", "BeitModel", VIT | dict(use_relative_position_bias=True), _image, IMAGE, {"interpolate_pos_encoding": True})
_add("swin", "SwinConfig", "SwinModel", dict(image_size=64, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4), _image, RAGGED)
_add("swinv2", "Swinv2Config", "Swinv2Model", dict(image_size=64, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4), _image, RAGGED)
_add("donut_swin", "DonutSwinConfig", "DonutSwinModel", dict(image_size=64, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=5), _image,
     RAGGED)
_add("mobilevit", "MobileViTConfig", "MobileViTModel", dict(hidden_sizes=[16, 20, 24], neck_hidden_sizes=[8, 8, 16, 16, 16, 20, 24], num_attention_heads=4),
     _image, RAGGED)
_add("mobilevit_v2", "MobileViTV2Config", "MobileViTV2Model", dict(image_size=64, base_attn_unit_dims=[16, 24, 32], width_multiplier=0.25,
     n_attn_blocks=[1, 1, 1]), _image, WHOLE)
_add("segformer", "SegformerConfig", "SegformerForSemanticSegmentation", dict(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[4, 2], hidden_sizes=[16, 32],
     patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=16), _image, IMAGE)
_add("pvt_v2", "PvtV2Config", "PvtV2Model", dict(num_encoder_blocks=2, depths=[1, 1], sr_ratios=[4, 2], hidden_sizes=[16, 32], patch_sizes=[7, 3],
     strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2]), _image, IMAGE)
_add("davit", "Florence2VisionConfig", "Florence2VisionBackbone", dict(depths=[1, 1], patch_size=[7, 3], patch_stride=[4, 2], patch_padding=[3, 1],
     patch_prenorm=[False, True], embed_dim=[16, 32], num_heads=[2, 4], num_groups=[2, 4], window_size=5, projection_dim=32),
     lambda h, w: dict(hidden_states=_image(h, w)["pixel_values"]), RAGGED)
_add("convnextv2", "ConvNextV2Config", "ConvNextV2Model", dict(hidden_sizes=[16, 24], depths=[1, 1], num_stages=2), _image, IMAGE)
_add("focalnet", "FocalNetConfig", "FocalNetModel", dict(image_size=64, patch_size=4, embed_dim=16, depths=[1, 1], focal_levels=[2, 2],
     focal_windows=[3, 3], hidden_sizes=[16, 32]), _image, RAGGED)
_add("vitdet", "VitDetConfig", "VitDetModel", dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=1, mlp_ratio=2, image_size=640, patch_size=8,
     pretrain_image_size=256, window_block_indices=[0], window_size=3, use_relative_position_embeddings=True), _image, WHOLE)
_add("hiera", "HieraConfig", "HieraModel", dict(embed_dim=16, image_size=[64, 64], patch_size=[7, 7], patch_stride=[4, 4], patch_padding=[3, 3],
     depths=[1, 1], num_heads=[1, 2], query_stride=[2, 2], masked_unit_size=[4, 4], masked_unit_attention=[True, False], num_query_pool=1),
     _image, WHOLE, {"interpolate_pos_encoding": True})
_add("siglip_vision", "SiglipVisionConfig", "SiglipVisionModel", VIT, _image, IMAGE, {"interpolate_pos_encoding": True})
_add("clip_vision", "CLIPVisionConfig", "CLIPVisionModel", VIT, _image, IMAGE, {"interpolate_pos_encoding": True})
_add("depth_anything", "DepthAnythingConfig", "DepthAnythingForDepthEstimation", dict(patch_size=8, reassemble_hidden_size=32, neck_hidden_sizes=[8, 16],
     fusion_hidden_size=16, head_hidden_size=8, reassemble_factors=[2, 1], depth_estimation_type="metric",
     max_depth=10), _image, WHOLE, {}, None,
     {"backbone_config": ("Dinov2Config", VIT | dict(mlp_ratio=2, out_indices=[1, 2], reshape_hidden_states=False, apply_layernorm=True))})
_add("rt_detr_encoder", "RTDetrConfig", "RTDetrModel", dict(d_model=32, encoder_hidden_dim=32, encoder_in_channels=[32, 64, 64], encoder_layers=1,
     encoder_ffn_dim=48, encoder_attention_heads=4, decoder_layers=1, decoder_ffn_dim=48, decoder_attention_heads=4, num_queries=10, num_labels=5,
     decoder_in_channels=[32, 32, 32], decoder_n_points=2, anchor_image_size=None), _image, WHOLE, {}, None,
     {"backbone_config": ("RTDetrResNetConfig", dict(embedding_size=16, hidden_sizes=[16, 32, 64, 64], depths=[1, 1, 1, 1], layer_type="basic",
                                                     out_features=["stage2", "stage3", "stage4"]))})
# Detection and segmentation over levels of a pyramid.
DETR = dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=48, decoder_ffn_dim=48, encoder_attention_heads=4, decoder_attention_heads=4,
            num_queries=7)


def _resnet(*stages):
    return {"backbone_config": ("ResNetConfig", dict(embedding_size=16, hidden_sizes=[16, 24, 32, 40], depths=[1, 1, 1, 1], layer_type="basic",
                                                     out_features=[f"stage{i}" for i in stages]))}


_add("detr", "DetrConfig", "DetrModel", DETR, _image, IMAGE, {}, None, _resnet(4))
_add("table_transformer", "TableTransformerConfig", "TableTransformerModel", DETR, _image, IMAGE, {}, None, _resnet(4))
_add("deformable_detr", "DeformableDetrConfig", "DeformableDetrModel", DETR | dict(num_feature_levels=3, encoder_n_points=2, decoder_n_points=2), _image, RAGGED,
     {}, None, _resnet(2, 3, 4))
_add("lw_detr", "LwDetrConfig", "LwDetrModel", dict(d_model=32, decoder_ffn_dim=48, decoder_n_points=2, decoder_layers=1, decoder_self_attention_heads=4,
     decoder_cross_attention_heads=4, num_queries=7, group_detr=1, projector_scale_factors=[2.0, 1.0]), _image, WHOLE, {}, None,
     {"backbone_config": ("LwDetrViTConfig", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, mlp_ratio=2, image_size=240,
                                                  pretrain_image_size=64, patch_size=8, num_windows=4, window_block_indices=[0],
                                                  out_features=["stage1", "stage2"]))})
_add("yolos", "YolosConfig", "YolosModel", dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=[96, 160],
     patch_size=8, num_detection_tokens=5), _image, WHOLE)
_add("mask2former", "Mask2FormerConfig", "Mask2FormerModel", dict(feature_size=32, mask_feature_size=32, hidden_dim=32, encoder_feedforward_dim=48,
     encoder_layers=1, decoder_layers=2, num_attention_heads=4, dim_feedforward=48, num_queries=7), _image, LARGER, {}, None, _resnet(1, 2, 3, 4))
_add("maskformer", "MaskFormerConfig", "MaskFormerModel", dict(fpn_feature_size=32, mask_feature_size=32), _image,
     ([(96, 160), (128, 96), (224, 192)], [(160, 128), (256, 288)]), {}, None,
     {"backbone_config": ("MaskFormerSwinConfig", dict(image_size=64, patch_size=4, embed_dim=16, depths=[1, 1, 1, 1], num_heads=[2, 2, 2, 2], window_size=4,
                                                       out_features=["stage1", "stage2", "stage3", "stage4"])),
      "decoder_config": ("DetrConfig", DETR)})
_add("upernet", "UperNetConfig", "UperNetForSemanticSegmentation", dict(hidden_size=16, auxiliary_channels=16, auxiliary_in_channels=32), _image, IMAGE, {},
     None, _resnet(1, 2, 3, 4))
# Other backbones, depth, and larger images of small ones.
_add("dinov3_vit", "DINOv3ViTConfig", "DINOv3ViTModel", VIT | dict(num_register_tokens=4), _image, IMAGE)
_add("dinov3_convnext", "DINOv3ConvNextConfig", "DINOv3ConvNextModel", dict(hidden_sizes=[16, 24, 32, 40], depths=[1, 1, 1, 1]), _image, IMAGE)
_add("pixtral_vision", "PixtralVisionConfig", "PixtralVisionModel", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
     image_size=240, patch_size=8, head_dim=8), _image, WHOLE)
_add("data2vec_vision", "Data2VecVisionConfig", "Data2VecVisionModel", VIT | dict(use_relative_position_bias=True), _image, IMAGE,
     {"interpolate_pos_encoding": True})
_add("mobilenet_v2", "MobileNetV2Config", "MobileNetV2Model", dict(depth_multiplier=0.25), _image, IMAGE)
_add("glpn", "GLPNConfig", "GLPNForDepthEstimation", dict(hidden_sizes=[16, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4],
     mlp_ratios=[2, 2, 2, 2], decoder_hidden_size=16), _image, LARGER)
_add("swin2sr", "Swin2SRConfig", "Swin2SRForImageSuperResolution", dict(embed_dim=16, depths=[2, 2], num_heads=[2, 2], window_size=5), _image,
     ([(40, 50), (35, 65), (55, 45)], [(50, 35), (60, 70)]))

# Learned tables and projections larger than 8192 entries, as those of real models are: the exporter folds what is made of smaller ones.
WIDE = {key: value for key, value in DETR.items() if key != "d_model"}
_add("conditional_detr", "ConditionalDetrConfig", "ConditionalDetrModel", WIDE | dict(d_model=96), _image, IMAGE, {}, None, _resnet(4))
_add("dab_detr", "DabDetrConfig", "DabDetrModel", WIDE | dict(hidden_size=96), _image, IMAGE, {}, None, _resnet(4))
_add("vitmatte", "VitMatteConfig", "VitMatteForImageMatting", dict(hidden_size=32, convstream_hidden_sizes=[8, 12, 16], fusion_hidden_sizes=[16, 12, 8, 8]),
     lambda h, w: dict(pixel_values=np.random.default_rng(h * w).standard_normal((1, 4, h, w), dtype=np.float32)), WHOLE, {}, None,
     {"backbone_config": ("VitDetConfig", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_channels=4, image_size=128,
                                               pretrain_image_size=128, patch_size=16, window_block_indices=[0], window_size=3,
                                               use_relative_position_embeddings=True, residual_block_indices=[1], out_features=["stage2"]))})
_add("radio", "RadioConfig", "RadioModel", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, mlp_ratio=2.0, patch_size=8, image_size=64,
     max_img_size=256, num_cls_tokens=2, num_registers=3, patch_dim=192), _image, WHOLE)
_add("idefics3_vision", "Idefics3VisionConfig", "Idefics3VisionTransformer", VIT, _image, WHOLE)
_add("mlcd_vision", "MLCDVisionConfig", "MLCDVisionModel", VIT, _image, WHOLE)
_add("textnet", "TextNetConfig", "TextNetModel", {}, _image, IMAGE)


def _torchvision_swin():
    from torchvision.models.swin_transformer import SwinTransformer
    return SwinTransformer([4, 4], 16, [2, 2], [2, 4], [5, 5], num_classes=7)


def _torchvision_fcn():
    from torchvision.models.segmentation import lraspp_mobilenet_v3_large
    return lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=3).eval()


def _cells(kind, layers, backwards=False):
    """Cells of torch in a loop over the positions, as much code has them; `backwards`: a second row from the end."""
    import torch

    class Unrolled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            cell = dict(lstm=torch.nn.LSTMCell, gru=torch.nn.GRUCell, rnn=torch.nn.RNNCell)[kind]
            self.cells = torch.nn.ModuleList(cell(12, 12) for _ in range(layers + backwards))

        def forward(self, x):
            rows = list(x.unbind(1))
            for i, cell in enumerate(self.cells):
                state, results = None, []
                for row in reversed(rows) if backwards and i == layers else rows:
                    state = cell(row, state)
                    results.append(state[0] if kind == "lstm" else state)
                rows = results[::-1] if backwards and i == layers else results
            return torch.stack(rows, 1), state[1] if kind == "lstm" else state

    return Unrolled()


def _gated_delta_rule(chunked):
    """Qwen3-Next's, as transformers has it for devices without its kernels."""
    import torch
    from transformers.models.qwen3_next import modeling_qwen3_next as qwen

    class GatedDeltaRule(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.projection = torch.nn.Linear(12, 52)

        def forward(self, x):
            batch, length, _ = x.shape
            y = self.projection(x)
            heads = [part.reshape(batch, length, 2, 8) for part in y[..., :48].split(16, -1)]
            gates = -torch.nn.functional.softplus(y[..., 48:50]), y[..., 50:].sigmoid()
            if chunked:
                return qwen.torch_chunk_gated_delta_rule(*heads, *gates, chunk_size=16, use_qk_l2norm_in_kernel=True)[0]
            return qwen.torch_recurrent_gated_delta_rule(*heads, *gates, initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=True)[0]

    return GatedDeltaRule()


ROWS = ([(7,), (12,), (19,)], [(1,), (29,)])
for _name, _arguments in dict(lstm_cells=("lstm", 2), gru_cells=("gru", 1), gru_cells_backwards=("gru", 1, True)).items():
    MODELS[_name] = Architecture(_name, lambda of=_arguments: _cells(*of), lambda n: dict(x=_features(12, "x")(n)["x"]), *ROWS, {})

MODELS["gated_delta_rule"] = Architecture("gated_delta_rule", lambda: _gated_delta_rule(False), lambda n: dict(x=_features(12, "x")(n)["x"]), *ROWS, {})
MODELS["gated_delta_rule_chunks"] = Architecture("gated_delta_rule_chunks", lambda: _gated_delta_rule(True), lambda n: dict(x=_features(12, "x")(n)["x"]),
                                                 [(33,), (70,), (101,)], [(5,), (131,)], {})
_vision("torchvision_swin", _torchvision_swin, lambda h, w: dict(x=_image(h, w)["pixel_values"]), RAGGED)
_vision("torchvision_lraspp", _torchvision_fcn, lambda h, w: dict(input=_image(h, w)["pixel_values"]))
