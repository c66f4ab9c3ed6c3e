"""Architectures of timm that lifting is measured on, added to MODELS of lifting_models.py where timm is installed.

One of each family that takes images of several sizes: its smallest variant, with fewer blocks where it is deep. What each returns
is the map of features and the logits.
"""
import importlib
import importlib.util
import sys

from lifting_models import IMAGE, LARGER, MODELS, RAGGED, Architecture, _image

WINDOWS = ([(224, 320), (256, 192), (320, 448)], [(288, 224), (384, 512)])  # windows of 7 or 8 at several levels, parts of them left over
BLOCKS = ([(256, 512), (512, 256), (512, 768)], [(256, 256), (768, 512)])  # whole windows of 8 at the level of 32
FOURS = ([(68, 96), (92, 60), (120, 132)], [(88, 72), (128, 152)])  # whole patches of 4
PATCHES = ([(64, 96), (160, 80), (112, 192)], [(128, 96), (208, 224)])  # whole patches of 16
PATCHES14 = ([(70, 98), (168, 84), (112, 196)], [(126, 98), (210, 224)])
DEEP = ([(96, 160), (187, 129), (224, 259)], [(128, 100), (256, 291)])  # several cells at the level of 32, sides that no stride divides


def _made(model, options):
    """A model of timm's by its name, or the class of a module (`convmixer:ConvMixer`)."""
    import timm
    import torch

    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            module, _, kind = model.partition(":")
            self.model = (getattr(importlib.import_module(f"timm.models.{module}"), kind)(num_classes=7, **options) if kind
                          else timm.create_model(model, pretrained=False, num_classes=7, **options))

        def forward(self, x):
            features = self.model.forward_features(x)
            return features, self.model.forward_head(features)

    return Both()


def _timm(name, model, sizes, **options):
    MODELS[f"timm_{name}"] = Architecture(f"timm_{name}", lambda: _made(model, options), lambda h, w: dict(x=_image(h, w)["pixel_values"]), *sizes, {})


def _resized(name, model, sizes, of_size=lambda h, w: {}, **options):
    """One whose windows and distances are made anew for a size that it is told; nothing that was learned is resampled."""
    _timm(name, model, sizes, **options)
    MODELS[f"timm_{name}"].resize = lambda both, h, w: both.model.set_input_size(img_size=(h, w), **of_size(h, w))


def _convolutions():
    _timm("byobnet", "test_byobnet", IMAGE)
    _timm("lambda_resnet", "lambda_resnet26t", LARGER, width_factor=0.25)
    _timm("halonet", "halonet26t", BLOCKS, width_factor=0.25)
    _timm("gcresnet", "gcresnext26ts", IMAGE, width_factor=0.5)
    _timm("bat_resnext", "bat_resnext26ts", BLOCKS, width_factor=0.5)
    _timm("convmixer", "convmixer:ConvMixer", IMAGE, dim=32, depth=2)
    _timm("convnext", "test_convnext", DEEP)
    _timm("convnextv2", "convnextv2_atto", DEEP, depths=(1, 1, 1, 1), dims=(16, 24, 32, 40))
    _timm("csatv2", "csatv2", LARGER, depths=(1, 1, 2, 2), transformer_depths=(0, 0, 1, 1))
    _timm("cspnet", "cs3darknet_focus_s", IMAGE)
    _timm("cspnext", "cspnext_tiny", IMAGE)
    _timm("densenet", "densenet121", IMAGE, block_config=(1, 2, 2, 2), growth_rate=8)
    _timm("dla", "dla46_c", LARGER)
    _timm("dpn", "dpn48b", IMAGE, k_sec=(1, 1, 2, 1))
    _timm("efficientnet", "test_efficientnet", IMAGE)
    _timm("efficientnet_same_padding", "tf_efficientnet_lite0", IMAGE)
    _timm("mixnet", "mixnet_s", IMAGE)
    _timm("fasternet", "fasternet_t0", DEEP, depths=(1, 1, 2, 1))
    _timm("ghostnet", "ghostnet_050", IMAGE)
    _timm("ghostnetv2", "ghostnetv2_100", DEEP)
    _timm("ghostnetv3", "ghostnetv3_050", DEEP)
    _timm("hardcorenas", "hardcorenas_a", IMAGE)
    _timm("hgnet", "hgnetv2_b0", IMAGE)
    _timm("hrnet", "hrnet_w18_small", LARGER)
    _timm("inception_next", "inception_next_atto", IMAGE, depths=(1, 1, 2, 1))
    _timm("inception_v3", "inception_v3", DEEP)
    _timm("lcnetv2", "lcnetv2_small", IMAGE)
    _timm("mambaout", "test_mambaout", DEEP)
    _timm("poolformer", "metaformer:MetaFormer", DEEP, depths=(1, 1, 2, 1), dims=(16, 24, 32, 40))
    _timm("mobilenetv3", "mobilenetv3_small_050", IMAGE)
    _timm("lcnet", "lcnet_035", IMAGE)
    _timm("mobilenetv4", "mobilenetv4_conv_small_035", IMAGE)
    _timm("mobilenetv4_blur", "mobilenetv4_conv_blur_medium", IMAGE)
    _timm("nfnet", "test_nfnet", IMAGE)
    _timm("nf_regnet", "nf_regnet_b0", IMAGE)
    _timm("dm_nfnet_same_padding", "dm_nfnet_f0", IMAGE, channels=(32, 32, 64, 64), depths=(1, 1, 2, 1), group_size=8)
    _timm("rdnet", "rdnet_tiny", DEEP, num_blocks_list=(1, 1, 1, 1, 1, 1, 1))
    _timm("regnetx", "regnetx_002", IMAGE)
    _timm("regnety", "regnety_002", IMAGE)
    _timm("repghost", "repghostnet_050", IMAGE)
    _timm("repvit", "repvit_m0_9", IMAGE, depth=(1, 1, 2, 1))
    _timm("res2net", "res2net50_48w_2s", IMAGE, layers=(1, 1, 1, 1))
    _timm("resnest", "resnest14d", IMAGE)
    _timm("resnet", "test_resnet", IMAGE)
    _timm("resnet_blur", "resnetblur18", IMAGE, layers=(1, 1, 1, 1))
    _timm("ecaresnet", "ecaresnet26t", IMAGE, layers=(1, 1, 1, 1))
    _timm("resnetv2", "resnetv2_18", IMAGE, layers=(1, 1, 1, 1))
    _timm("resnetv2_bit", "resnetv2:ResNetV2", IMAGE, layers=(1, 1, 1, 1), channels=(128, 128, 256, 256))
    _timm("rexnet", "rexnet_100", IMAGE)
    _timm("selecsls", "selecsls42", DEEP)
    _timm("senet", "legacy_seresnet18", DEEP, layers=(1, 1, 1, 1))
    _timm("sknet", "skresnet18", IMAGE, layers=(1, 1, 1, 1))
    _timm("starnet", "starnet_s050", IMAGE)
    _timm("tresnet", "tresnet_m", LARGER, layers=(1, 1, 1, 1), width_factor=0.5)
    _timm("vgg", "vgg11", WINDOWS, mlp_ratio=0.02)
    _timm("vovnet", "ese_vovnet19b_slim_dw", IMAGE)
    _timm("legacy_xception", "legacy_xception", DEEP)
    _timm("xception_aligned", "xception41", DEEP)


def _hybrids():
    _timm("cpubone", "cpubone_nano", DEEP)
    _timm("edgenext", "edgenext_xx_small", DEEP, depths=(1, 1, 2, 2))
    _timm("edgenext_rw", "edgenext_small_rw", DEEP)
    _timm("efficientvim", "efficientvim_m1", DEEP)
    _timm("efficientvit_mit", "efficientvit_b0", DEEP)
    _timm("efficientvit_large", "efficientvit_l1", DEEP, widths=(16, 24, 32, 64, 64), depths=(1, 1, 1, 1, 2))
    _timm("fastvit", "fastvit_t8", DEEP, layers=(1, 1, 2, 1))
    _timm("fastvit_attention", "fastvit_sa12", DEEP, layers=(1, 1, 2, 1))
    _timm("focalnet", "focalnet:FocalNet", DEEP, depths=(1, 1, 2, 1), embed_dim=16)
    _timm("iformer", "iformer_t", DEEP)
    _timm("lowformer", "lowformer_b0", DEEP)
    _timm("caformer", "caformer_s18", DEEP)
    _timm("mobilenetv4_hybrid", "mobilenetv4_hybrid_medium_075", DEEP)
    _timm("mobilevit", "mobilevit_xxs", DEEP)
    _timm("mobilevit_whole", "mobilevit_xxs", ([(128, 192), (256, 192), (320, 448)], [(192, 256), (384, 512)]))
    _timm("mobilevitv2", "mobilevitv2_050", DEEP)
    _timm("nextvit", "nextvit_small", DEEP, depths=(2, 2, 5, 2))
    _timm("shvit", "shvit_s1", DEEP)
    _timm("swiftformer", "swiftformer_xs", DEEP, layers=(1, 1, 2, 1))
    _timm("sequencer", "sequencer2d_s", DEEP, layers=(1, 1, 1, 1), embed_dims=(24, 32, 32, 32), hidden_sizes=(6, 8, 8, 8))
    _timm("vit_hybrid", "vit_tiny_r_s16_p8_224", PATCHES, dynamic_img_size=True, depth=2)
    _timm("vitamin", "vitamin_small_224", PATCHES, dynamic_img_size=True, depth=2)


def _windows():
    _timm("davit", "davit_tiny", WINDOWS, depths=(1, 1, 1, 1), embed_dims=(16, 32, 48, 64), num_heads=(2, 2, 4, 4))
    _timm("davit_ragged", "davit_tiny", DEEP, depths=(1, 1, 1, 1), embed_dims=(16, 32, 48, 64), num_heads=(2, 2, 4, 4))
    _timm("davit_narrow", "davit:DaVit", RAGGED, depths=(1, 1, 1), embed_dims=(16, 32, 48), num_heads=(2, 4, 6), window_size=5)
    _timm("hieradet", "hieradet_small", WINDOWS, embed_dim=16, stages=(1, 1, 2, 1), global_att_blocks=(3,))
    _timm("maxvit", "maxvit_pico_rw_256", ([(128, 256), (256, 128), (256, 384)], [(128, 128), (384, 256)]), img_size=128)
    _timm("swin", "swin_tiny_patch4_window7_224", WINDOWS, embed_dim=16, depths=(2, 2, 2, 2), num_heads=(2, 2, 4, 4), strict_img_size=False)
    _timm("swin_dynamic", "swin_tiny_patch4_window7_224", WINDOWS, embed_dim=16, depths=(2, 2, 2, 2), num_heads=(2, 2, 4, 4), dynamic_img_size=True)
    _timm("swin_ragged", "swin_tiny_patch4_window7_224", FOURS, embed_dim=16, depths=(2, 2), num_heads=(2, 4), dynamic_img_size=True, window_size=5)
    _timm("swinv2", "swinv2_tiny_window8_256", WINDOWS, embed_dim=16, depths=(2, 2, 2, 2), num_heads=(2, 2, 4, 4), strict_img_size=False)
    _timm("swinv2_dynamic", "swinv2_tiny_window8_256", WINDOWS, embed_dim=16, depths=(2, 2, 2, 2), num_heads=(2, 2, 4, 4), dynamic_img_size=True)
    _timm("swinv2_cr", "swinv2_cr_tiny_ns_224", WINDOWS, embed_dim=16, depths=(2, 2, 2, 2), num_heads=(2, 2, 4, 4), strict_img_size=False)
    _timm("swinv2_cr_dynamic", "swinv2_cr_tiny_ns_224", WINDOWS, embed_dim=16, depths=(2, 2, 2, 2), num_heads=(2, 2, 4, 4), dynamic_img_size=True)
    _timm("tiny_vit", "tiny_vit_5m_224", WINDOWS, depths=(1, 2, 2, 2), embed_dims=(16, 32, 48, 64), num_heads=(2, 2, 4, 4))
    _timm("tiny_vit_ragged", "tiny_vit_5m_224", DEEP, depths=(1, 2, 2, 2), embed_dims=(16, 32, 48, 64), num_heads=(2, 2, 4, 4))
    _timm("tiny_vit_narrow", "tiny_vit:TinyVit", ([(70, 106), (133, 90), (120, 171)], [(98, 130), (189, 191)]), depths=(1, 2, 2, 1),
          embed_dims=(16, 32, 48, 64), num_heads=(1, 2, 3, 4), window_sizes=(3, 3, 4, 3))
    _timm("twins_pcpvt", "twins_pcpvt_small", LARGER, embed_dims=(16, 32, 40, 64), depths=(1, 1, 2, 1))
    _timm("twins_svt", "twins_svt_small", WINDOWS, embed_dims=(16, 32, 48, 64), depths=(2, 2, 2, 2))
    _timm("samvit", "samvit_base_patch16", WINDOWS, img_size=512, embed_dim=32, depth=2, num_heads=4, window_size=6, global_attn_indexes=(1,))


def _told_their_size():
    _resized("vit_relpos", "vit_relpos_small_patch16_224", PATCHES, embed_dim=48, depth=2, num_heads=4)
    _resized("vit_relpos_cls", "vit_relpos_base_patch16_cls_224", PATCHES, embed_dim=48, depth=2, num_heads=4)
    _resized("coatnet_rmlp", "coatnet_rmlp_nano_rw_224", ([(128, 192), (256, 192), (320, 448)], [(192, 256), (384, 512)]))
    _resized("maxvit_rmlp", "maxvit_rmlp_pico_rw_256", ([(128, 192), (256, 192), (320, 448)], [(192, 256), (384, 512)]))
    _resized("swinv2_told", "swinv2_tiny_window8_256", ([(128, 192), (256, 192), (320, 448)], [(192, 256), (384, 512)]), embed_dim=16, depths=(2, 2, 2, 2),
             num_heads=(2, 2, 4, 4))
    _resized("swinv2_told_odd", "swinv2_tiny_window8_256", ([(96, 160), (160, 224), (288, 128)], [(224, 96), (352, 416)]), embed_dim=16,
             depths=(2, 2), num_heads=(2, 2), pretrained_window_sizes=(12, 6))
    _resized("swin_told", "swin_tiny_patch4_window7_224", ([(224, 448), (448, 336), (560, 672)], [(336, 224), (672, 784)]),
             lambda h, w: dict(window_size=7), embed_dim=16, depths=(2, 2, 2, 2), num_heads=(2, 2, 4, 4))


def _transformers():
    small = dict(dynamic_img_size=True, embed_dim=48, depth=2, num_heads=4)
    _timm("deepseek_vit", "deepseek_vit_412m", PATCHES14, embed_dim=48, depth=2, num_heads=4)
    _timm("deit_distilled", "deit_tiny_distilled_patch16_224", PATCHES, **small)
    _timm("deit3", "deit3_small_patch16_224", PATCHES, **small)
    _timm("eva02", "eva02_tiny_patch14_224", PATCHES14, **small)
    _timm("eva02_wide", "eva02_tiny_patch14_224", PATCHES14, dynamic_img_size=True, depth=2)
    _timm("vit_rope", "vit_small_patch16_rope_224", PATCHES, **small)
    _timm("vit_rope_ape", "vit_small_patch16_rope_ape_224", PATCHES, **small)
    _timm("vit_rope_mixed", "vit_small_patch16_rope_mixed_224", PATCHES, **small)
    _timm("dinov3", "vit_small_patch16_dinov3", PATCHES, **small)
    _timm("pe_core", "vit_pe_core_tiny_patch16_384", PATCHES, **small)
    _timm("gemma4_vit", "gemma4_vit_167m", PATCHES, embed_dim=48, depth=2, num_heads=4, head_dim=12, intermediate_size=64)
    _timm("naflexvit", "naflexvit_base_patch16_gap", PATCHES, embed_dim=48, depth=2, num_heads=4)
    _timm("naflexvit_map", "naflexvit_base_patch16_map", PATCHES, embed_dim=48, depth=2, num_heads=4)
    _timm("naflexvit_factorized", "naflexvit_base_patch16_parfac_gap", PATCHES, embed_dim=48, depth=2, num_heads=4)
    # Its 16 learned rows and columns are told where one trace has as many of each; PATCHES leaves the last rows open.
    _timm("naflexvit_factorized_told", "naflexvit_base_patch16_parfac_gap", ([(64, 96), (160, 256), (256, 112)], [(128, 96), (208, 288)]),
          embed_dim=48, depth=2, num_heads=4)
    _timm("pvt_v2", "pvt_v2_b0", DEEP, depths=(1, 1, 1, 1))
    _timm("pvt_v2_linear", "pvt_v2_b2_li", DEEP, depths=(1, 1, 1, 1), embed_dims=(16, 32, 40, 48))
    _timm("qwen3_vit", "qwen3_vit_88m", ([(64, 96), (160, 96), (128, 192)], [(128, 96), (224, 192)]), embed_dim=48, depth=2, num_heads=4)
    _timm("vit", "vit_tiny_patch16_224", PATCHES, **small)
    _timm("vit_wide", "vit_tiny_patch16_224", PATCHES, dynamic_img_size=True, depth=2)
    _timm("vit_padded", "vit_tiny_patch16_224", IMAGE, dynamic_img_pad=True, **small)
    _timm("vit_registers", "vit_medium_patch16_reg4_gap_256", PATCHES, **small)
    _timm("vit_dinov2", "vit_small_patch14_dinov2", PATCHES14, **(small | dict(img_size=140)))
    _timm("siglip", "vit_base_patch16_siglip_224", PATCHES, **small)
    _timm("aimv2", "aimv2_large_patch14_224", PATCHES14, **small)
    _timm("beit3", "beit3_base_patch16_224", PATCHES, **small)
    _timm("vit_parallel", "vit_small_patch16_18x2_224", PATCHES, **small)
    _timm("xcit", "xcit_nano_12_p8_224", PATCHES, depth=2)
    _timm("xcit_wide", "xcit_tiny_12_p16_224", PATCHES, depth=2)


if importlib.util.find_spec("timm"):
    for _add_some in (_convolutions, _hybrids, _windows, _told_their_size, _transformers):
        _add_some()
else:
    print("timm is not installed: its architectures are left out", file=sys.stderr)
