"""A fourth part of the architectures that lifting is measured on: a fresh trial, written down before anything was lifted of them.

Of transformers and timm, text, images, pages, speech and codecs, where none of the other parts has the architecture. Their verdicts are those
of what lifting was not made for, as far as it has not been changed since.
"""
import importlib.util

import numpy as np

from lifting_image_models import CLIPS, DEEP, INTERPOLATED, LINES, _clip, _named, _part
from lifting_language_models import CHUNKS, _numbers
from lifting_models import (
    AUDIO,
    DECODER,
    FEATURES,
    IMAGE,
    MODELS,
    NO_CALL,
    SMALL,
    SPEECH,
    TEXT,
    VIT,
    _add,
    _features,
    _ids,
    _image,
    _masked,
    _resnet,
)
from lifting_text_models import NO_CACHE, PAIR, _after_encoder, _experts_at_once, _random
from lifting_timm_models import DEEP as STRIDES
from lifting_timm_models import _resized, _timm


def _shortened(name, model, sizes, shorten, **options):
    """One that has no smaller variant: fewer of its repeated blocks."""
    _timm(name, model, sizes, **options)
    make = MODELS[f"timm_{name}"].make

    def made():
        both = make()
        shorten(both.model)
        return both
    MODELS[f"timm_{name}"].make = made


def _fewer_repeats(model):
    import torch
    for name in ("repeat", "repeat_1", "repeat_2"):
        setattr(model, name, torch.nn.Sequential(next(getattr(model, name).children())))


def _fewer_inceptions(model):
    import torch
    model.features = torch.nn.Sequential(*[each for i, each in enumerate(model.features) if i not in (7, 8, 9, 12, 13, 14, 15, 16, 17, 20, 21)])


def _of_any_size(model):
    for module in model.modules():
        if hasattr(module, "strict_img_size"):
            module.strict_img_size = False


def _mvit(**options):
    from timm.models.mvitv2 import MultiScaleVitCfg
    return dict(cfg=MultiScaleVitCfg(depths=(1, 1, 1), embed_dim=(16, 32, 64), num_heads=(1, 2, 4), **options))


if importlib.util.find_spec("timm"):
    _shortened("inception_v4", "inception_v4", STRIDES, _fewer_inceptions)
    _shortened("inception_resnet_v2", "inception_resnet_v2", STRIDES, _fewer_repeats)
    _timm("nasnet", "nasnetalarge", STRIDES, channel_multiplier=2, num_features=192, stem_size=16)
    _shortened("visformer", "visformer:Visformer", ([(96, 160), (192, 128), (224, 288)], [(128, 96), (256, 320)]), _of_any_size, embed_dim=48, depth=(1, 1,
         1), num_heads=4, use_pos_embed=False, init_channels=8)
    _timm("crossvit", "crossvit:CrossVit", STRIDES, img_size=48, img_scale=(1.0, 0.5), patch_size=(8, 4), embed_dim=(24, 32), depth=((1, 1, 0), (1, 1, 0)),
          num_heads=(2, 2), mlp_ratio=(2, 2, 1))
    _resized("efficientvit_msra", "efficientvit_msra:EfficientVitMsra", ([(448, 512), (512, 640), (704, 448)], [(576, 448), (640, 768)]), embed_dim=(32, 48,
         64), num_heads=(2, 3, 4), depth=(1, 2, 2))
    _timm("mobilenetv5", "mobilenetv5_base", ([(256, 320), (320, 192), (384, 448)], [(192, 256), (448, 512)]), channel_multiplier=0.25,
         msfa_output_resolution=6)
    _timm("mvitv2", "mvitv2:MultiScaleVit", STRIDES, img_size=(320, 320), **_mvit())
    _timm("mvitv2_cls", "mvitv2:MultiScaleVit", STRIDES, img_size=(320, 320), **_mvit(use_cls_token=True))

# Vision.
CLIP = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)
DINO = VIT | dict(mlp_ratio=2, reshape_hidden_states=False)
_add("depth_pro", "DepthProConfig", "DepthProForDepthEstimation", dict(fusion_hidden_size=16, patch_size=32, intermediate_hook_ids=[1, 0],
     intermediate_feature_dims=[16, 16], scaled_images_ratios=[0.5, 1.0], scaled_images_overlap_ratios=[0.0, 0.25], scaled_images_feature_dims=[24, 16]),
     _image, ([(64, 96), (128, 96), (96, 160)], [(128, 128), (192, 160)]), {}, None,
     {f"{_kind}_model_config": ("Dinov2Config", DINO | dict(image_size=32, patch_size=8)) for _kind in ("image", "patch", "fov")})
_add("timesformer", "TimesformerConfig", "TimesformerModel", CLIP | dict(image_size=64, patch_size=8, num_frames=4), _clip(),
     ([(4, 64, 64), (4, 96, 64), (4, 112, 64)], [(4, 80, 64), (4, 136, 64)]))
_add("timesformer_joint", "TimesformerConfig", "TimesformerModel", CLIP | dict(image_size=240, patch_size=8, num_frames=4,
     attention_type="joint_space_time"), _clip(), CLIPS)
_part("idefics_vision", "idefics", "IdeficsVisionTransformer", "IdeficsVisionConfig", dict(embed_dim=32, image_size=64, intermediate_size=48, patch_size=8,
      num_hidden_layers=2, num_attention_heads=4), IMAGE, call=INTERPOLATED)
_part("idefics_vision_wide", "idefics", "IdeficsVisionTransformer", "IdeficsVisionConfig", dict(embed_dim=144, image_size=64, intermediate_size=48, patch_size=8,
      num_hidden_layers=1, num_attention_heads=4), IMAGE, call=INTERPOLATED)
_add("tvp", "TvpConfig", "TvpModel", SMALL | dict(visual_prompt_size=16, max_img_size=128, num_frames=4, max_grid_col_position_embeddings=20,
     max_grid_row_position_embeddings=20), lambda h, w: dict(pixel_values=_random(h * w, 1, 4, 3, h, w), input_ids=np.array([[1, 5, 7, 9, 2]]),
     attention_mask=np.ones((1, 5), np.int64)), ([(64, 96), (128, 96), (96, 128)], [(96, 96), (128, 64)]), INTERPOLATED, None, _resnet(4))
_add("siglip2_vision", "Siglip2VisionConfig", "Siglip2VisionModel", CLIP | dict(patch_size=8, num_patches=64), lambda h, w: dict(
     pixel_values=_random(h * w, 1, h * w, 192), pixel_attention_mask=np.ones((1, h * w), np.int64), spatial_shapes=np.array([[h, w]])),
     ([(8, 12), (11, 7), (12, 16)], [(9, 13), (15, 10)]))
# Text.
ROBERTA = SMALL | dict(pad_token_id=1, bos_token_id=0)
for _name, _cls, _options in (("camembert", "Camembert", ROBERTA), ("xlm_roberta", "XLMRoberta", ROBERTA), ("xlm_roberta_xl", "XLMRobertaXL", ROBERTA),
                              ("gte", "Gte", SMALL | dict(head_dim=8)), ("esmc", "Esmc", SMALL | dict(mask_token_id=3)),
                              ("metaclip_2_text", "MetaClip2Text", SMALL), ("tipsv2_text", "Tipsv2Text", SMALL)):
    _add(_name, f"{_cls}Config", f"{_cls}Model", _options, _masked, TEXT, NO_CALL)
_add("camembert_padded", "CamembertConfig", "CamembertModel", ROBERTA, lambda n: dict(input_ids=np.concatenate([_ids(n - 4)["input_ids"], np.full((1, 4),
     1)], 1),
     attention_mask=np.concatenate([np.ones((1, n - 4), np.int64), np.zeros((1, 4), np.int64)], 1)), TEXT, NO_CALL)
_add("dpr", "DPRConfig", "DPRQuestionEncoder", SMALL | dict(projection_dim=16), _masked, TEXT, NO_CALL)
_add("mra", "MraConfig", "MraModel", SMALL, _masked, ([(32,), (64,), (160,)], [(96,), (192,)]), NO_CALL)
_add("switch_transformers_encoder", "SwitchTransformersConfig", "SwitchTransformersEncoderModel", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48,
     num_layers=2,
     num_heads=4, num_sparse_encoder_layers=1, num_experts=4), _ids, TEXT, NO_CALL, _experts_at_once)
GEMMA = DECODER | dict(sliding_window=16, query_pre_attn_scalar=8, layer_types=["sliding_attention", "full_attention"])
_part("t5gemma2_encoder", "t5gemma2", "T5Gemma2TextEncoder", "T5Gemma2TextConfig", GEMMA | dict(dropout_rate=0.0), TEXT, _masked)
_part("t5gemma2_decoder", "t5gemma2", "T5Gemma2Decoder", "T5Gemma2DecoderConfig", GEMMA | dict(dropout_rate=0.0), PAIR, _after_encoder, NO_CACHE)
for _name, _cls, _options in (
        ("granite_swa", "GraniteSWA", dict(sliding_window=16, layer_types=["sliding_attention", "full_attention"])),
        ("mllama_text", "MllamaText", dict(cross_attention_layers=[], rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
        ("granitemoeshared", "GraniteMoeShared", dict(num_local_experts=4, shared_intermediate_size=24)),
        ("exaone_moe", "ExaoneMoe", dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, sliding_window=16,
                                         layer_types=["sliding_attention", "full_attention"])),
        ("glm4_moe_lite", "Glm4MoeLite", dict(moe_intermediate_size=16, n_routed_experts=4, num_experts_per_tok=2, num_key_value_heads=4, kv_lora_rank=8,
                                              q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8)),
        ("mimo_v2_flash", "MiMoV2Flash", dict(moe_intermediate_size=16, n_routed_experts=4, num_experts_per_tok=2, v_head_dim=8, sliding_window=16,
                                              layer_types=["full_attention", "sliding_attention"])),
        ("solar_open", "SolarOpen", dict(moe_intermediate_size=16, n_routed_experts=4, num_experts_per_tok=2)),
        ("step3p7", "Step3p7Text", dict(moe_intermediate_size=16, num_local_experts=4, n_routed_experts=4, num_experts_per_tok=2, share_expert_dim=16,
             sliding_window=16,
                                        num_sliding_attention_heads=4, layer_types=["full_attention", "sliding_attention"])),
        ("qwen3_5", "Qwen3_5Text", dict(linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4,
                                        layer_types=["linear_attention", "full_attention"])),
        ("qwen3_next", "Qwen3Next", dict(linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4, num_experts=4,
                                         num_experts_per_tok=2, moe_intermediate_size=16, shared_expert_intermediate_size=16,
                                         layer_types=["linear_attention", "full_attention"]))):
    _model = "TextModel" if _cls.endswith("Text") else "Model"
    _add(_name, f"{_cls}Config", _cls.removesuffix("Text") + _model, DECODER | _options, _masked, CHUNKS if "linear_key_head_dim" in _options else TEXT,
         NO_CACHE, _experts_at_once)
# Speech.
CONFORMER = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, num_mel_bins=24, subsampling_factor=8,
                 subsampling_conv_channels=8, max_position_embeddings=200)
WHISPER = dict(num_mel_bins=20, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)
MEL = ([(80,), (120,), (200,)], [(104,), (264,)])
_add("parakeet_ctc", "ParakeetCTCConfig", "ParakeetForCTC", dict(vocab_size=40, pad_token_id=39), _features(24), FEATURES, {}, None,
     {"encoder_config": ("ParakeetEncoderConfig", CONFORMER | dict(hidden_size=96))})
_add("canary_encoder", "CanaryConfig", "CanaryModel", dict(vocab_size=100, decoder_config=dict(vocab_size=100, hidden_size=32, num_hidden_layers=1,
     num_attention_heads=4, intermediate_size=48)), lambda n: _features(24)(n) | dict(attention_mask=np.ones((1, n), np.int64)), FEATURES, {},
     lambda m: m.encoder, {"encoder_config": ("ParakeetEncoderConfig", CONFORMER | dict(hidden_size=96, scale_input=False))})
_add("canary_decoder", "CanaryConfig", "CanaryModel", dict(vocab_size=100, decoder_config=dict(vocab_size=100, hidden_size=32, num_hidden_layers=2,
     num_attention_heads=4, intermediate_size=48, num_key_value_heads=4, head_dim=8)), _after_encoder, PAIR, NO_CACHE, lambda m: m.decoder,
     {"encoder_config": ("ParakeetEncoderConfig", CONFORMER)})
_add("cohere_asr_decoder", "CohereAsrConfig", "CohereAsrModel", SMALL, _after_encoder, PAIR, NO_CACHE, lambda m: m.decoder,
     {"encoder_config": ("ParakeetEncoderConfig", CONFORMER)})
_part("glmasr_encoder", "glmasr", "GlmAsrEncoder", "GlmAsrEncoderConfig", WHISPER, MEL, _features(20, last=True))
_part("pe_audio_encoder", "pe_audio", "PeAudioEncoder", "PeAudioEncoderConfig", DECODER | dict(dac_config=dict(encoder_hidden_size=4,
     downsampling_ratios=[2, 4],
      hidden_size=16, codebook_dim=8, n_codebooks=2, codebook_size=16, decoder_hidden_size=16)), ([(400,), (520,), (728,)], [(464,), (1000,)]),
      lambda n: dict(input_values=_random(n, 1, 1, n)))
POCKET = dict(hidden_size=16, num_filters=4, upsampling_ratios=[4, 2], num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=8,
              intermediate_size=24, sliding_window=30, upsample_groups=16, latent_stride=4, latent_dim=8)
_part("pocket_tts_decoder", "pocket_tts_audio_tokenizer", "PocketTTSAudioTokenizerDecoderModel", "PocketTTSAudioTokenizerDecoderConfig", POCKET, TEXT,
      lambda n: dict(latents=_random(n, 1, 16, n)))
_part("xcodec2_decoder", "xcodec2", "Xcodec2Decoder", "Xcodec2Config", dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
      num_key_value_heads=4, head_dim=8, encoder_hidden_size=4, downsampling_ratios=[2, 4], quantization_dim=24, quantization_levels=[4, 4]), TEXT,
      lambda n: dict(hidden_states=_random(n, 1, n, 1056)))
_part("xcodec2_encoder", "xcodec2", "Xcodec2Encoder", "Xcodec2Config", dict(hidden_size=32, encoder_hidden_size=4, downsampling_ratios=[2, 4]),
      AUDIO, lambda n: dict(hidden_state=_random(n, 1, 1, n)))
_part("neucodec_decoder", "neucodec", "NeuCodecDecoder", "NeuCodecConfig", dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2,
     num_attention_heads=4,
      num_key_value_heads=4, head_dim=8, encoder_hidden_size=4, downsampling_ratios=[2, 4], quantization_dim=24, quantization_levels=[4, 4]), TEXT,
      lambda n: dict(hidden_states=_random(n, 1, n, 1056)))
_part("xcodec_semantic", "xcodec", "SemanticEncoder", "XcodecConfig", dict(strides=[1, 2], channel_ratios=[1, 1], block_dilations=[1, 2],
      semantic_model_config=dict(model_type="hubert") | SPEECH), TEXT, lambda n: dict(hidden_state=_random(n, 1, 32, n)))
_part("xcodec", "xcodec", "XcodecModel", "XcodecConfig", dict(codebook_size=16, acoustic_model_config=dict(model_type="dac", encoder_hidden_size=4,
      downsampling_ratios=[5, 4], decoder_hidden_size=16, hidden_size=32, codebook_dim=8), semantic_model_config=dict(model_type="hubert") | SPEECH), AUDIO,
      lambda n: dict(input_values=_random(n, 1, 1, n)))
_part("moshi_depth", "moshi", "MoshiDepthDecoder", "MoshiDepthConfig", dict(vocab_size=100, hidden_size=32, input_size=24, num_hidden_layers=2,
     num_attention_heads=4,
      audio_vocab_size=50, max_position_embeddings=64, sliding_window=60, ffn_dim=48, num_codebooks=40), ([(8,), (13,), (20,)], [(10,), (27,)]),
           lambda n: dict(input_ids=_numbers(n, 40, 1, n),
      last_hidden_state=_random(n, 1, n, 24)), NO_CACHE)
# Pages.
HGNET = dict(model_type="hgnet_v2", stem_channels=[3, 8, 12], stage_in_channels=[12, 16, 24, 32], stage_mid_channels=[8, 8, 12, 16],
             stage_out_channels=[16, 24, 32, 48], stage_numb_of_layers=[2, 2, 2, 2], hidden_sizes=[16, 24, 32, 48], out_features=["stage1", "stage2",
                  "stage3", "stage4"])
BLOCK = dict(reduce_channel=[1, 1, 0], return_channel=[1, 1, 0]) | {
    f"{_way}_{_of}ratio": [[_k if _way[0] != "h" else 1, _k if _way[0] != "v" else 1], [1, 1], [_k // 2 if _way[0] != "h" else 0,
         _k // 2 if _way[0] != "v" else 0]]
    for _k, _of in ((7, "long"), (5, "mid"), (3, "short"))
    for _way in ("vertical_long_to_small_conv", "horizontal_small_to_long_conv", "symmetric_conv_long")}
_part("pp_ocrv5_server_det", "pp_ocrv5_server_det", "PPOCRV5ServerDetForObjectDetection", "PPOCRV5ServerDetConfig", dict(backbone_config=HGNET,
      neck_out_channels=16, intraclass_block_number=4, intraclass_block_config=BLOCK, scale_factor_list=[1, 2, 4, 8], kernel_list=[3, 2, 2]), DEEP)
_part("pp_ocrv6_medium_det", "pp_ocrv6_medium_det", "PPOCRV6MediumDetForObjectDetection", "PPOCRV6MediumDetConfig", dict(backbone_config=HGNET,
      neck_out_channels=16, intraclass_block_number=4, intraclass_block_config=BLOCK, scale_factor_list=[1, 2, 4, 8], kernel_list=[3, 2, 2]), DEEP)
_part("pp_ocrv5_server_rec", "pp_ocrv5_server_rec", "PPOCRV5ServerRecForTextRecognition", "PPOCRV5ServerRecConfig", dict(head_out_channels=40, hidden_size=24,
      num_attention_heads=4, backbone_config=HGNET | dict(stage_downsample=[True, True, True, True], stem_strides=[2, 1, 1, 1, 1],
      stage_downsample_strides=[[2, 1], [1, 2], [2, 1], [2, 1]], out_features=["stage4"])), LINES)
_part("pp_ocrv6_small_rec", "pp_ocrv6_small_rec", "PPOCRV6SmallRecForTextRecognition", "PPOCRV6SmallRecConfig", dict(head_out_channels=40, hidden_size=24,
      num_attention_heads=4), LINES)
_part("pp_ocrv6_tiny_rec", "pp_ocrv6_tiny_rec", "PPOCRV6TinyRecForTextRecognition", "PPOCRV6TinyRecConfig", dict(head_out_channels=40, hidden_size=24), LINES)
_part("slanet_backbone", "slanet", "SLANetBackbone", "SLANetConfig", dict(post_conv_out_channels=24), DEEP, _named("hidden_states"))
