"""More architectures of images and clips that lifting is measured on, beside those of lifting_models.py, to whose MODELS they are added.

Backbones, towers of models of images and text, detection, segmentation, depth and pages of transformers, and classification, segmentation,
detection, clips and flow of torchvision.
"""
import numpy as np

from lifting_models import IMAGE, LARGER, MODELS, RAGGED, SMALL, VIT, WHOLE, WIDE, _add, _image, _resnet, _vision

INTERPOLATED = {"interpolate_pos_encoding": True}
NATIVE = VIT | dict(image_size=64)  # learned at a size that is smaller than the traces
DEEP = ([(96, 160), (160, 96), (224, 192)], [(128, 192), (256, 288)])  # of five levels
FRAMES = ([(4, 64, 96), (6, 96, 64), (8, 80, 112)], [(6, 80, 80), (10, 128, 96)])
CLIPS = ([(4, 64, 96), (6, 77, 59), (8, 90, 131)], [(6, 88, 70), (10, 101, 115)])
LINES = ([(48, 160), (48, 224), (48, 320)], [(48, 192), (48, 384)])
PAGES = ([(80, 96), (112, 64), (128, 144)], [(96, 80), (144, 160)])


def _named(name):
    """An image by another name."""
    return lambda h, w: {name: _image(h, w)["pixel_values"]}


def _clip(name="pixel_values", first="frames"):
    def make(t, h, w):
        shape = (1, t, 3, h, w) if first == "frames" else (1, 3, t, h, w)
        return {name: np.random.default_rng(t * h * w).standard_normal(shape, dtype=np.float32)}
    return make


def _of(module, name):
    """A class that transformers does not export at its top."""
    import importlib
    return getattr(importlib.import_module(f"transformers.models.{module}.modeling_{module}"), name)


def _part(name, module, cls, config, options, sizes=IMAGE, inputs=_image, call=None, of=None):
    """As _add, of a class that transformers does not export at its top."""
    def make():
        import transformers
        made = _of(module, cls)(getattr(transformers, config)(**options))
        return of(made) if of else made
    _vision(name, make, inputs, sizes)
    MODELS[name].call.update(call or {})


# Windows and biases of small configurations.
_add("beit_small", "BeitConfig", "BeitModel", NATIVE | dict(use_relative_position_bias=True), _image, IMAGE, INTERPOLATED)
_add("beit_shared", "BeitConfig", "BeitModel", NATIVE | dict(use_shared_relative_position_bias=True, use_absolute_position_embeddings=True), _image, IMAGE,
     INTERPOLATED)
_add("data2vec_small", "Data2VecVisionConfig", "Data2VecVisionModel", NATIVE | dict(use_relative_position_bias=True), _image, IMAGE, INTERPOLATED)
_add("davit_small", "Florence2VisionConfig", "Florence2VisionBackbone", dict(depths=[1, 1], patch_size=[7, 3], patch_stride=[4, 2], patch_padding=[3, 1],
     patch_prenorm=[False, True], embed_dim=[16, 32], num_heads=[2, 4], num_groups=[2, 4], window_size=5, projection_dim=32),
     _named("hidden_states"), ([(30, 46), (52, 40), (64, 57)], [(44, 60), (76, 67)]))
# Convolutions, and attention over levels.
_add("poolformer", "PoolFormerConfig", "PoolFormerModel", dict(depths=[1, 1, 1, 1], hidden_sizes=[8, 12, 16, 24]), _image, IMAGE)
_add("cvt", "CvtConfig", "CvtModel", dict(embed_dim=[16, 24, 32], num_heads=[1, 2, 4], depth=[1, 2, 3]), _image, IMAGE)
_add("efficientnet", "EfficientNetConfig", "EfficientNetModel", dict(image_size=64, width_coefficient=0.5, depth_coefficient=0.3, hidden_dim=640), _image, IMAGE)
_add("regnet", "RegNetConfig", "RegNetModel", dict(embedding_size=16, hidden_sizes=[16, 24, 32, 40], depths=[1, 1, 2, 1], groups_width=8), _image, IMAGE)
_add("resnet", "ResNetConfig", "ResNetForImageClassification", dict(embedding_size=16, hidden_sizes=[16, 24, 32, 40], depths=[1, 2, 1, 1]), _image, IMAGE)
_add("bit", "BitConfig", "BitModel", dict(embedding_size=16, hidden_sizes=[32, 32, 64, 64], depths=[1, 1, 1, 1], num_groups=4), _image, IMAGE)
_add("bit_same", "BitConfig", "BitModel", dict(embedding_size=16, hidden_sizes=[32, 32, 64, 64], depths=[1, 1, 1, 1], num_groups=4, global_padding="SAME",
     embedding_dynamic_padding=True, layer_type="bottleneck"), _image, IMAGE)
_add("mobilenet_v1", "MobileNetV1Config", "MobileNetV1Model", dict(depth_multiplier=0.25), _image, IMAGE)
_add("convnext", "ConvNextConfig", "ConvNextModel", dict(hidden_sizes=[16, 24, 32], depths=[1, 1, 1], num_stages=3), _image, IMAGE)
_add("swiftformer", "SwiftFormerConfig", "SwiftFormerModel", dict(depths=[1, 1, 1, 1], embed_dims=[16, 24, 32, 40], mlp_ratio=2), _image, IMAGE)
_part("hgnet_v2", "hgnet_v2", "HGNetV2ForImageClassification", "HGNetV2Config", dict(stem_channels=[3, 8, 12], stage_in_channels=[12, 16, 24, 32],
      stage_mid_channels=[8, 8, 12, 16], stage_out_channels=[16, 24, 32, 48], stage_numb_of_layers=[2, 2, 2, 2], hidden_sizes=[16, 24, 32, 48], num_labels=5))
_part("pp_lcnet", "pp_lcnet", "PPLCNetForImageClassification", "PPLCNetConfig", dict(scale=0.25, class_expand=64, num_labels=5))
# Towers.
for _name, _module, _cls, _config, _options in (
        ("vit_msn", "vit_msn", "ViTMSNModel", "ViTMSNConfig", {}), ("ijepa", "ijepa", "IJepaModel", "IJepaConfig", {}),
        ("deit", "deit", "DeiTModel", "DeiTConfig", {}), ("vit_small", "vit", "ViTModel", "ViTConfig", dict(image_size=64)),
        ("altclip_vision", "altclip", "AltCLIPVisionModel", "AltCLIPVisionConfig", {}),
        ("chinese_clip_vision", "chinese_clip", "ChineseCLIPVisionModel", "ChineseCLIPVisionConfig", {}),
        ("metaclip_2_vision", "metaclip_2", "MetaClip2VisionModel", "MetaClip2VisionConfig", {}),
        ("clipseg_vision", "clipseg", "CLIPSegVisionModel", "CLIPSegVisionConfig", {}),
        ("blip_vision", "blip", "BlipVisionModel", "BlipVisionConfig", {}),
        ("blip_2_vision", "blip_2", "Blip2VisionModel", "Blip2VisionConfig", {}),
        ("instructblip_vision", "instructblip", "InstructBlipVisionModel", "InstructBlipVisionConfig", dict(image_size=64)),
        ("kosmos2_vision", "kosmos2", "Kosmos2VisionModel", "Kosmos2VisionConfig", {}),
        ("git_vision", "git", "GitVisionModel", "GitVisionConfig", {}),
        ("owlvit_vision", "owlvit", "OwlViTVisionModel", "OwlViTVisionConfig", {}),
        ("owlv2_vision", "owlv2", "Owlv2VisionModel", "Owlv2VisionConfig", dict(image_size=64)),
        ("flava_image", "flava", "FlavaImageModel", "FlavaImageConfig", {}),
        ("janus_vision", "janus", "JanusVisionModel", "JanusVisionConfig", dict(mlp_ratio=2.0))):
    _part(_name, _module, _cls, _config, {k: v for k, v in (VIT | _options).items() if k != "intermediate_size" or _module != "janus"}, call=INTERPOLATED)
_part("vit_mae", "vit_mae", "ViTMAEModel", "ViTMAEConfig", VIT | dict(mask_ratio=0.0),
      inputs=lambda h, w: _image(h, w) | dict(noise=np.random.default_rng(h).random((1, (h // 8) * (w // 8)), dtype=np.float32)), call=INTERPOLATED)
_part("dinov2_registers", "dinov2_with_registers", "Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", VIT | dict(mlp_ratio=2))
_part("bridgetower_vision", "bridgetower", "BridgeTowerVisionModel", "BridgeTowerVisionConfig", dict(hidden_size=64, num_hidden_layers=2, patch_size=8,
      image_size=240), inputs=_named("image"), call=INTERPOLATED)
_part("internvl_vision", "internvl", "InternVLVisionModel", "InternVLVisionConfig", VIT | dict(image_size=[240, 240], patch_size=[8, 8]))
_part("aimv2_vision", "aimv2", "Aimv2VisionModel", "Aimv2VisionConfig", VIT | dict(is_native=True))
_part("idefics2_vision", "idefics2", "Idefics2VisionTransformer", "Idefics2VisionConfig", VIT, WHOLE)
_part("smolvlm_vision", "smolvlm", "SmolVLMVisionTransformer", "SmolVLMVisionConfig", VIT, WHOLE)
_part("phi4_vision", "phi4_multimodal", "Phi4MultimodalVisionModel", "Phi4MultimodalVisionConfig", VIT, WHOLE)
_part("pixio", "pixio", "PixioModel", "PixioConfig", VIT | dict(mlp_ratio=2, n_cls_tokens=3))
_part("sapiens2", "sapiens2", "Sapiens2Model", "Sapiens2Config", VIT | dict(num_register_tokens=4, num_key_value_attention_heads=4), WHOLE)
_part("tipsv2_vision", "tipsv2", "Tipsv2VisionModel", "Tipsv2VisionConfig", VIT | dict(mlp_ratio=2))
_part("cohere2_siglip", "siglip", "SiglipVisionModel", "SiglipVisionConfig", NATIVE, call=INTERPOLATED)
# Detection, segmentation and depth.
_add("sam2_vision", "Sam2VisionConfig", "Sam2VisionModel", dict(backbone_channel_list=[64, 48, 32, 16], backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]],
     fpn_hidden_size=16), _image, WHOLE, {}, None,
     {"backbone_config": ("Sam2HieraDetConfig", dict(hidden_size=16, image_size=[128, 128], embed_dim_per_stage=[16, 32, 48, 64],
                          blocks_per_stage=[1, 2, 1, 1], num_attention_heads_per_stage=[1, 2, 2, 4], window_size_per_stage=[8, 4, 7, 4],
                          global_attention_blocks=[2], window_positional_embedding_background_size=[7, 7]))})
# Positions too wide for the exporter to fold.
_add("sam2_vision_wide", "Sam2VisionConfig", "Sam2VisionModel", dict(backbone_channel_list=[64, 48, 32, 96], backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]],
     fpn_hidden_size=16), _image, ([(192, 288), (256, 384), (352, 192)], [(288, 256), (384, 352)]), {}, None,
     {"backbone_config": ("Sam2HieraDetConfig", dict(hidden_size=96, image_size=[128, 128], embed_dim_per_stage=[96, 32, 48, 64],
                          blocks_per_stage=[1, 2, 1, 1], num_attention_heads_per_stage=[1, 2, 2, 4], window_size_per_stage=[8, 4, 7, 4],
                          global_attention_blocks=[2], window_positional_embedding_background_size=[7, 7]))})
_part("owlvit_detection", "owlvit", "OwlViTForObjectDetection", "OwlViTConfig", dict(text_config=SMALL | dict(max_position_embeddings=16),
      vision_config=VIT, projection_dim=32), inputs=lambda h, w: _image(h, w) | dict(input_ids=np.array([[1, 5, 2], [1, 7, 2]])), call=INTERPOLATED)
_add("rt_detr_v2", "RTDetrV2Config", "RTDetrV2Model", dict(d_model=32, encoder_hidden_dim=32, encoder_in_channels=[24, 32, 40], encoder_ffn_dim=48,
     encoder_attention_heads=4, decoder_layers=1, decoder_ffn_dim=48, decoder_attention_heads=4, num_queries=10, num_labels=5,
     decoder_in_channels=[32, 32, 32], decoder_n_points=2), _image, DEEP, {}, None, _resnet(2, 3, 4))
_add("d_fine", "DFineConfig", "DFineForObjectDetection", dict(d_model=32, encoder_hidden_dim=32, encoder_in_channels=[24, 32, 40], encoder_ffn_dim=48,
     encoder_attention_heads=4, decoder_layers=2, decoder_ffn_dim=48, decoder_attention_heads=4, num_queries=10, num_labels=5,
     decoder_in_channels=[32, 32, 32], decoder_n_points=[2, 2, 2]), _image, DEEP, {}, None, _resnet(2, 3, 4))
_add("deimv2", "Deimv2Config", "Deimv2ForObjectDetection", dict(d_model=32, encoder_hidden_dim=32, encoder_in_channels=[24, 32, 40], encoder_ffn_dim=48,
     encoder_attention_heads=4, decoder_layers=2, decoder_ffn_dim=48, decoder_attention_heads=4, num_queries=10, num_labels=5,
     decoder_in_channels=[32, 32, 32], decoder_n_points=[2, 2, 2]), _image, DEEP, {}, None, _resnet(2, 3, 4))
_add("pp_doclayout_v2", "PPDocLayoutV2Config", "PPDocLayoutV2Model", dict(d_model=32, encoder_hidden_dim=32, encoder_in_channels=[24, 32, 40],
     encoder_ffn_dim=48, encoder_attention_heads=4, decoder_layers=1, decoder_ffn_dim=48, decoder_attention_heads=4, num_queries=10, num_labels=5,
     decoder_in_channels=[32, 32, 32], decoder_n_points=2), _image, DEEP, {}, None, _resnet(2, 3, 4))
_add("oneformer_pixels", "OneFormerConfig", "OneFormerModel", dict(conv_dim=32, mask_dim=32, hidden_dim=32, encoder_feedforward_dim=48, encoder_layers=1,
     decoder_layers=2, num_attention_heads=4, dim_feedforward=48, num_queries=7, text_encoder_width=32, text_encoder_num_layers=1,
     text_encoder_vocab_size=50, query_dec_layers=1), lambda h, w: _image(h, w) | dict(task_inputs=np.full((1, 77), 3.0, np.float32)), LARGER, {}, None,
     _resnet(1, 2, 3, 4))
_add("grounding_dino", "GroundingDinoConfig", "GroundingDinoModel", WIDE | dict(d_model=64, num_feature_levels=3, encoder_n_points=2, decoder_n_points=2),
     lambda h, w: _image(h, w) | dict(input_ids=np.array([[101, 7, 8, 1012, 9, 102]])), DEEP, {}, None,
     _resnet(2, 3, 4) | {"text_config": ("BertConfig", SMALL | dict(vocab_size=1100))})
_add("rf_detr", "RfDetrConfig", "RfDetrModel", dict(d_model=32, decoder_ffn_dim=48, decoder_n_points=2, decoder_layers=1, decoder_self_attention_heads=4,
     decoder_cross_attention_heads=4, num_queries=7, group_detr=1, c2f_num_blocks=1), _image, WHOLE, {}, None,
     {"backbone_config": ("RfDetrDinov2Config", dict(hidden_size=32, num_hidden_layers=4, num_attention_heads=4, mlp_ratio=2, image_size=96, patch_size=8,
                          num_windows=2, out_indices=[2, 4], use_mask_token=False))})
_add("dpt_dinov2", "DPTConfig", "DPTForDepthEstimation", dict(neck_hidden_sizes=[8, 16], reassemble_factors=[2, 1], fusion_hidden_size=16, hidden_size=32,
     neck_ignore_stages=[]), _image, WHOLE, {}, None,
     {"backbone_config": ("Dinov2Config", VIT | dict(mlp_ratio=2, out_indices=[1, 2], reshape_hidden_states=False))})
_add("zoedepth", "ZoeDepthConfig", "ZoeDepthForDepthEstimation", dict(neck_hidden_sizes=[8, 12, 16, 24], fusion_hidden_size=16, bottleneck_features=16,
     num_attractors=[4, 2, 2, 1], bin_embedding_dim=16, num_relative_features=8,
     bin_configurations=[dict(name="nyu", n_bins=16, min_depth=1e-3, max_depth=10.0)]), _image, WHOLE, {}, None,
     {"backbone_config": ("BeitConfig", VIT | dict(use_relative_position_bias=True, num_hidden_layers=4, out_indices=[1, 2, 3, 4],
                                                   reshape_hidden_states=False))})
_add("prompt_depth_anything", "PromptDepthAnythingConfig", "PromptDepthAnythingForDepthEstimation", dict(patch_size=8, reassemble_hidden_size=32,
     neck_hidden_sizes=[8, 16], fusion_hidden_size=16, head_hidden_size=8, reassemble_factors=[2, 1]),
     lambda h, w: _image(h, w) | dict(prompt_depth=np.random.default_rng(h).random((1, 1, h // 4, w // 4), dtype=np.float32)), WHOLE, {}, None,
     {"backbone_config": ("Dinov2Config", VIT | dict(mlp_ratio=2, out_indices=[1, 2], reshape_hidden_states=False))})
_add("superpoint", "SuperPointConfig", "SuperPointForKeypointDetection", dict(encoder_hidden_sizes=[8, 8, 16, 16], decoder_hidden_size=16,
     descriptor_decoder_dim=16), _image, WHOLE, {}, lambda m: _heads_of_superpoint(m))
_add("efficientloftr", "EfficientLoFTRConfig", "EfficientLoFTRModel", dict(stage_num_blocks=[1, 1, 1, 1], out_features=[8, 16, 24, 32], hidden_size=32,
     num_attention_layers=1, num_attention_heads=8), lambda h, w: dict(pixel_values=np.stack([_image(h, w)["pixel_values"]] * 2, 1)), DEEP)
# Pages.
_part("pp_ocrv5_mobile_det", "pp_ocrv5_mobile_det", "PPOCRV5MobileDetForObjectDetection", "PPOCRV5MobileDetConfig",
      dict(neck_out_channels=24, backbone_config=dict(model_type="pp_lcnet_v3", scale=0.25, out_features=["stage2", "stage3", "stage4", "stage5"]),
           layer_list_out_channels=[4, 6, 8, 10]), DEEP)
_part("pp_ocrv5_mobile_rec", "pp_ocrv5_mobile_rec", "PPOCRV5MobileRecForTextRecognition", "PPOCRV5MobileRecConfig", dict(head_out_channels=40,
      backbone_config=dict(model_type="pp_lcnet_v3", stem_channels=8, out_features=["stage5"],
      block_configs=[[[3, 8, 16, 1, False]], [[3, 16, 16, 1, False]], [[3, 16, 16, [2, 1], False], [3, 16, 16, 1, False]], [[3, 16, 24, [1, 2], False]], [[5, 24, 32, [2, 1], True]]])), LINES)
_part("uvdoc", "uvdoc", "UVDocModel", "UVDocConfig", dict(backbone_config=dict(
      model_type="uvdoc_backbone", out_indices=[1, 2, 3, 4, 5, 6])), PAGES)
_add("layoutlmv3", "LayoutLMv3Config", "LayoutLMv3Model", SMALL | dict(coordinate_size=6, shape_size=4, max_2d_position_embeddings=64, input_size=64,
     patch_size=8), lambda n: dict(input_ids=np.random.default_rng(n).integers(3, 90, (1, n)), pixel_values=_image(64, 64)["pixel_values"]),
     ([(19,), (34,), (53,)], [(27,), (61,)]))
_add("vilt", "ViltConfig", "ViltModel", SMALL | VIT | dict(image_size=96, max_image_length=-1), lambda h, w: _image(h, w) | dict(
     input_ids=np.array([[1, 5, 7, 9, 2]])), WHOLE)
_part("pix2struct_vision", "pix2struct", "Pix2StructVisionModel", "Pix2StructVisionConfig", dict(hidden_size=32, patch_embed_hidden_size=48, d_ff=48, d_kv=8,
      num_hidden_layers=2, num_attention_heads=4, seq_len=64), ([(20,), (34,), (53,)], [(27,), (61,)]),
      lambda n: dict(flattened_patches=np.concatenate([np.stack([np.arange(n) // 5 + 1, np.arange(n) % 5 + 1], -1).astype(np.float32)[None],
                     np.random.default_rng(n).standard_normal((1, n, 48), dtype=np.float32)], -1)))
# Autoencoders of images.
_add("chameleon_vqvae", "ChameleonVQVAEConfig", "ChameleonVQVAE", dict(embed_dim=16, num_embeddings=64, latent_channels=16, base_channels=32,
     channel_multiplier=[1, 2], num_res_blocks=1, resolution=64), _image, WHOLE, {}, lambda m: m.encoder)
# Clips.
_part("x_clip_vision", "x_clip", "XCLIPVisionModel", "XCLIPVisionConfig", VIT | dict(num_frames=4, mit_hidden_size=32, mit_intermediate_size=48,
      mit_num_attention_heads=4), call=INTERPOLATED, inputs=lambda h, w: dict(pixel_values=np.repeat(_image(h, w)["pixel_values"], 4, 0)))
_part("vjepa2", "vjepa2", "VJEPA2Model", "VJEPA2Config", dict(patch_size=8, crop_size=64, frames_per_clip=8, tubelet_size=2, hidden_size=48,
      num_attention_heads=4, num_hidden_layers=2, mlp_ratio=2.0, pred_hidden_size=48, pred_num_attention_heads=4, pred_num_hidden_layers=1), FRAMES,
      _clip("pixel_values_videos"), dict(skip_predictor=True))
_part("videoprism", "videoprism", "VideoPrismVisionModel", "VideoPrismVisionConfig", dict(image_size=64, num_frames=8, tubelet_size=[1, 8, 8], hidden_size=32,
      num_attention_heads=4, intermediate_size=48, num_spatial_layers=2, num_temporal_layers=1), FRAMES, _clip("pixel_values_videos"), INTERPOLATED)


def _heads_of_superpoint(model):
    """Scores and descriptors of every cell: how many keypoints are picked of them follows from the image."""
    import torch

    class Heads(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, pixel_values):
            features = self.model.encoder(pixel_values[:, :1]).last_hidden_state
            scores = self.model.keypoint_decoder._get_pixel_scores(features)
            return scores, self.model.descriptor_decoder.conv_descriptor_b(self.model.descriptor_decoder.relu(
                self.model.descriptor_decoder.conv_descriptor_a(features)))
    return Heads()


# torchvision.
def _tv(make, **options):
    """A function of torchvision.models without weights."""
    def made():
        import torchvision
        return getattr(torchvision.models, make)(weights=None, num_classes=5, **options)
    return made


def _vgg():
    import torch
    import torchvision
    layers = torchvision.models.vgg.make_layers([8, "M", 12, "M", 16, 16, "M"], batch_norm=True)
    return torch.nn.Sequential(layers, torch.nn.AdaptiveAvgPool2d((7, 7)), torch.nn.Flatten(), torch.nn.Linear(16 * 49, 5))


def _levels(layers=("layer3", "layer4")):
    from torchvision.models._utils import IntermediateLayerGetter
    from torchvision.models.resnet import BasicBlock, ResNet
    return IntermediateLayerGetter(ResNet(BasicBlock, [1, 1, 1, 1], num_classes=3), {layers[-1]: "out"})


def _deeplab():
    from torchvision.models.segmentation.deeplabv3 import DeepLabHead, DeepLabV3
    return DeepLabV3(_levels(), DeepLabHead(512, 5), None)


def _fcn():
    from torchvision.models.segmentation.fcn import FCN, FCNHead
    return FCN(_levels(), FCNHead(512, 5), None)


def _detector(name):
    """A detector up to its boxes: anchors and all that its heads say of them."""
    import torch
    import torchvision
    whole = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, num_classes=3)

    class Heads(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.whole = whole

        def forward(self, x):
            from torchvision.models.detection.image_list import ImageList
            levels = list(self.whole.backbone(x).values())
            anchors = self.whole.anchor_generator(ImageList(x, [tuple(x.shape[-2:])]), levels)
            return list(self.whole.head(levels).values()), anchors
    return Heads()


def _video(name, *arguments, **options):
    def make():
        import importlib
        module = importlib.import_module("torchvision.models.video" + (".resnet" if name == "VideoResNet" else ""))
        resnet = importlib.import_module("torchvision.models.video.resnet")

        def named(a):
            return getattr(resnet, a) if isinstance(a, str) else [named(each) for each in a] if isinstance(a, list) else a
        return getattr(module, name)(*[named(a) for a in arguments], **options)
    return make


_X = _named("x")
for _name, _options in dict(densenet121={}, mnasnet0_5={}, shufflenet_v2_x0_5={}, squeezenet1_1={}, mobilenet_v3_small={}, efficientnet_b0={},
                            regnet_y_400mf={}, resnet18={}, convnext_tiny={}).items():
    _vision(f"torchvision_{_name}", _tv(_name, **_options), _X)
for _name in ("googlenet", "inception_v3"):
    _vision(f"torchvision_{_name}", _tv(_name, init_weights=False, aux_logits=False), _X, ([(80, 96), (97, 79), (110, 131)], [(88, 90), (121, 135)]))
_vision("torchvision_vgg", _vgg, _named("input"), RAGGED)
_vision("torchvision_fcn", _fcn, _X)
_vision("torchvision_deeplabv3", _deeplab, _X)
for _name in ("retinanet_resnet50_fpn", "fcos_resnet50_fpn", "ssdlite320_mobilenet_v3_large"):
    _vision(f"torchvision_{_name.split('_')[0]}", lambda of=_name: _detector(of), _X, DEEP)
    if "_fpn" in _name:  # sizes that tell how the coarsest levels' strides are rounded
        _vision(f"torchvision_{_name.split('_')[0]}_large", lambda of=_name: _detector(of), _X, ([(416, 608), (608, 416), (320, 544)], [(544, 320), (640, 480)]))
_vision("torchvision_r3d", _video("VideoResNet", "BasicBlock", ["Conv3DSimple"] * 4, [1, 1, 1, 1], "BasicStem", num_classes=5), _clip("x", "channels"), CLIPS)
_vision("torchvision_r2plus1d", _video("VideoResNet", "BasicBlock", ["Conv2Plus1D"] * 4, [1, 1, 1, 1], "R2Plus1dStem", num_classes=5), _clip("x", "channels"), CLIPS)
_vision("torchvision_s3d", _video("S3D", num_classes=5), _clip("x", "channels"), ([(16, 224, 224), (24, 224, 256), (32, 256, 240)],
                                                                                   [(24, 240, 224), (40, 256, 288)]))
_vision("torchvision_swin3d", _video("SwinTransformer3d", [2, 4, 4], 16, [2, 2], [2, 4], [4, 3, 3], num_classes=5), _clip("x", "channels"), CLIPS)
_vision("torchvision_swin3d_long", _video("SwinTransformer3d", [2, 4, 4], 16, [2, 2], [2, 4], [4, 3, 3], num_classes=5), _clip("x", "channels"),
        ([(10, 64, 96), (18, 77, 59), (24, 90, 131)], [(14, 88, 70), (30, 101, 115)]))  # longer than a window, which shorter clips are not
_vision("torchvision_raft", lambda: __import__("torchvision").models.optical_flow.raft_small(weights=None),
        lambda h, w: dict(image1=_image(h, w)["pixel_values"], image2=_image(w, h)["pixel_values"].swapaxes(2, 3).copy()),
        ([(128, 192), (160, 136), (224, 208)], [(144, 160), (256, 272)]))
