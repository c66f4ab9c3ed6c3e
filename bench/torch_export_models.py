"""Architectures that torch_export.py exports: small, with random weights, each with a maker of inputs and the sizes that these may have.

MODELS has them by name. Those that lifting is measured on too are made by lifting_*models.py. Nothing is downloaded.
"""
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

import lifting_image_models  # noqa: F401 (adds its own to those of lifting_models, as the next one does)
import lifting_text_models  # noqa: F401
from lifting_models import DETR
from lifting_models import MODELS as LIFTED

TEXT = "batch=1..4,seq=4..96"
PAIR = "batch=1..3,seq=4..64,target=2..32"
PAST = "batch=1..3,past=2..40,seq=1..8"
IMAGE = "batch=1..4,height=64..256:16,width=64..256:16"
PATCHES = "batch=1..3,height=64..256:8,width=64..256:8"
FOURS = "batch=1..3,height=64..256:4,width=64..256:4"
STRIDES = "batch=1..3,height=64..256:32,width=64..256:32"
PYRAMID = "batch=1..2,height=96..320:32,width=96..320:32"
ANY = "batch=1..3,height=64..256,width=64..256"
AUDIO = "batch=1..3,samples=2000..16000:10"
FRAMES = "batch=1..3,frames=40..400"


@dataclass
class Row:
    """An architecture.

    Attributes:
        make: Makes the module, or the function of tensors.
        inputs: Makes its arguments of one number for each size.
        sizes: What these may be.
        task: What optimum calls it.
    """

    make: Callable
    inputs: Callable
    sizes: str
    task: str = ""


MODELS: dict[str, Row] = {}


def _own(inputs, sizes, task=""):
    """Registers a maker."""
    def keep(make):
        MODELS[make.__name__] = Row(make, inputs, sizes, task)
        return make
    return keep


def _lifted(name, inputs, sizes, task="feature-extraction"):
    """Registers one of those that lifting is measured on."""
    MODELS[name] = Row(LIFTED[name].make, inputs, sizes, task)


def _made(name, config, inputs, sizes, task="feature-extraction", model="", **options):
    """Registers a class of transformers by its config."""
    def make():
        import transformers
        return getattr(transformers, model or f"{config}Model")(getattr(transformers, f"{config}Config")(**options))
    MODELS[name] = Row(make, inputs, sizes, task)


def ids(batch, seq, vocabulary=99):
    """Tokens."""
    return torch.randint(3, vocabulary, (batch, seq))


def padded(batch, seq):
    """A mask of rows that end at different lengths; every place is near one that is kept, so that attention in windows has something to see."""
    lengths = torch.randint(max(1, seq - 4), seq + 1, (batch,))
    return (torch.arange(seq)[None] < lengths[:, None]).long()


def text(**given):
    """Tokens with their mask."""
    return lambda batch, seq: dict(input_ids=ids(batch, seq), attention_mask=padded(batch, seq), **given)


def image(name="pixel_values", **given):
    """An image."""
    return lambda batch, height, width: {name: torch.randn(batch, 3, height, width), **given}


def audio(batch, samples):
    """A recording."""
    return dict(input_values=torch.randn(batch, samples))


SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
WORDS = dict(SMALL, vocab_size=99)
HEADS = dict(WORDS, num_key_value_heads=2, head_dim=8)
INTERPOLATED = dict(interpolate_pos_encoding=True)
NO_CACHE = dict(use_cache=False)

# Text.
_made("bert", "Bert", text(), TEXT, **WORDS)
_made("modernbert", "ModernBert", text(), TEXT, **WORDS, pad_token_id=0, local_attention=16)
_lifted("deberta_v2", text(), TEXT)
_made("roberta_classifier", "Roberta", text(), TEXT, "text-classification", "RobertaForSequenceClassification", **WORDS)
_made("t5_encoder", "T5", text(), TEXT, "feature-extraction", "T5EncoderModel", d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99)
_lifted("bart", lambda batch, seq, target: dict(input_ids=ids(batch, seq), attention_mask=padded(batch, seq), decoder_input_ids=ids(batch, target),
                                                use_cache=False), PAIR)
_lifted("gpt2", text(**NO_CACHE), TEXT)
_made("llama", "Llama", text(**NO_CACHE), TEXT, "text-generation", "LlamaForCausalLM", **WORDS, num_key_value_heads=2)
_lifted("gemma3", text(**NO_CACHE), TEXT)
_lifted("falcon_mamba", lambda batch, seq: dict(input_ids=ids(batch, seq), use_cache=False), "batch=1..3,seq=4..48")
_made("qwen3_5_text", "Qwen3_5Text", text(**NO_CACHE), "batch=1..2,seq=4..200", **HEADS, linear_key_head_dim=8, linear_value_head_dim=8,
      linear_num_key_heads=2, linear_num_value_heads=4, layer_types=["linear_attention", "full_attention"])


def _cache(batch, past):
    from transformers import DynamicCache
    return DynamicCache([(torch.randn(batch, 2, past, 8), torch.randn(batch, 2, past, 8)) for _ in range(2)])


_made("qwen2_with_cache", "Qwen2", lambda batch, past, seq, total: dict(
    input_ids=ids(batch, seq), attention_mask=torch.ones(batch, total, dtype=torch.long),
    position_ids=torch.arange(past, total)[None].repeat(batch, 1), past_key_values=_cache(batch, past), use_cache=True),
    f"{PAST},total=past+seq", "text-generation-with-past", "Qwen2ForCausalLM", **WORDS, num_key_value_heads=2)
_made("qwen2_with_cache_and_no_mask", "Qwen2", lambda batch, past, seq: dict(input_ids=ids(batch, seq), past_key_values=_cache(batch, past), use_cache=True),
      PAST, "text-generation-with-past", "Qwen2ForCausalLM", **WORDS, num_key_value_heads=2)

# Encoders of images.
_made("vit", "ViT", image(**INTERPOLATED), IMAGE, **SMALL, image_size=96, patch_size=16)
_made("dinov2", "Dinov2", image(), IMAGE, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=96, patch_size=16)
_lifted("dinov3_vit", image(), PATCHES)
_made("siglip_vision", "SiglipVision", image(**INTERPOLATED), IMAGE, **SMALL, image_size=96, patch_size=16)
_made("siglip2_vision", "Siglip2Vision", lambda rows, columns: dict(
    pixel_values=torch.randn(1, rows * columns, 192), pixel_attention_mask=torch.ones(1, rows * columns, dtype=torch.long),
    spatial_shapes=torch.tensor([[rows, columns]])), "rows=5..20,columns=5..20", **SMALL, patch_size=8, num_patches=64)
_made("clip_vision", "CLIPVision", image(**INTERPOLATED), IMAGE, **SMALL, image_size=96, patch_size=16)
_made("clip", "CLIP", lambda batch, texts, seq, height, width: dict(
    pixel_values=torch.randn(batch, 3, height, width), input_ids=ids(texts, seq), attention_mask=padded(texts, seq), **INTERPOLATED),
    "batch=1..3,texts=1..4,seq=4..32,height=64..160:16,width=64..160:16", "zero-shot-image-classification", projection_dim=16,
    text_config=dict(WORDS, bos_token_id=1, eos_token_id=2), vision_config=dict(SMALL, image_size=96, patch_size=16))
_lifted("beit", image(**INTERPOLATED), PATCHES)
_made("swin", "Swin", image(), FOURS, image_size=64, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
_lifted("swinv2", image(), FOURS)
_made("convnext", "ConvNext", image(), "batch=1..4,height=64..320,width=64..320", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])
_lifted("hiera", image(**INTERPOLATED), STRIDES)
_made("mobilevit", "MobileViT", image(), STRIDES, image_size=96, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64],
      num_attention_heads=2)
_lifted("sam2_vision", lambda height, width: dict(pixel_values=torch.randn(1, 3, height, width)), "height=64..192:32,width=64..192:32")  # the module fails at 224 and 320

# Segmentation and depth.
_made("segformer", "Segformer", image(), STRIDES, "semantic-segmentation", "SegformerForSemanticSegmentation", hidden_sizes=[8, 16, 24, 32],
      depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=16, num_labels=5)
_lifted("upernet", image(), ANY, "semantic-segmentation")
_lifted("mask2former", image(), PYRAMID)


@_own(image(), "batch=1..2,height=112..280:14,width=112..280:14", "depth-estimation")
def depth_anything():
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config
    backbone = Dinov2Config(hidden_size=32, num_hidden_layers=4, num_attention_heads=4, image_size=140, patch_size=14,
                            out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False, apply_layernorm=True)
    return DepthAnythingForDepthEstimation(DepthAnythingConfig(
        backbone_config=backbone, reassemble_hidden_size=32, patch_size=14, neck_hidden_sizes=[8, 16, 16, 16], fusion_hidden_size=16,
        head_hidden_size=8))


_lifted("dpt_dinov2", image(), PATCHES, "depth-estimation")
_lifted("zoedepth", image(), PATCHES, "depth-estimation")

def _scaled(name, **point):
    """Scales the layers of an architecture until what each gives has a deviation of 1, at one size (LSUV, Mishkin and Matas 2015).

    With initial weights the signal vanishes: all places score the same, and which are the best follows from rounding.
    """
    row = MODELS[name]
    make = row.make

    def made():
        model, scaled = make().eval(), set()

        def scale(layer, _, output):
            if layer in scaled or not output.std() > 0:
                return output
            scaled.add(layer)
            deviation = output.std()
            for each in layer.parameters(recurse=False):
                each /= deviation
            return output / deviation
        hooks = [layer.register_forward_hook(scale) for layer in model.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))]
        with torch.no_grad():
            model(**row.inputs(**point))
        for hook in hooks:
            hook.remove()
        return model
    row.make = made


# Detection.
_made("yolos", "Yolos", image(), IMAGE, "object-detection", "YolosForObjectDetection", **SMALL, image_size=[96, 128], patch_size=16,
      num_detection_tokens=10)
RESNET = dict(model_type="resnet", embedding_size=16, hidden_sizes=[16, 24, 32, 40], depths=[1, 1, 1, 1], layer_type="basic")
DETECTOR = DETR | dict(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None)  # as older releases ask for
_made("detr", "Detr", image(), ANY, **DETECTOR, backbone_config=RESNET | dict(out_features=["stage4"]))
_made("deformable_detr", "DeformableDetr", image(), PYRAMID, **DETECTOR, num_feature_levels=3, encoder_n_points=2, decoder_n_points=2,
      backbone_config=RESNET | dict(out_features=["stage2", "stage3", "stage4"]))


@_own(image(), PYRAMID, "object-detection")
def rt_detr():
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig
    backbone = RTDetrResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                                  out_features=["stage2", "stage3", "stage4"])
    return RTDetrForObjectDetection(RTDetrConfig(
        backbone_config=backbone, encoder_hidden_dim=32, encoder_in_channels=[16, 24, 32], encoder_ffn_dim=32, d_model=32,
        num_queries=6, decoder_in_channels=[32, 32, 32], decoder_ffn_dim=32, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, num_denoising=0, anchor_image_size=None))


_lifted("rf_detr", image(), PYRAMID)
_lifted("d_fine", image(), PYRAMID, "object-detection")
_lifted("grounding_dino", lambda height, width: dict(pixel_values=torch.randn(1, 3, height, width), input_ids=torch.tensor([[101, 7, 8, 1012, 9, 102]])),
        "height=96..320:32,width=96..320:32")
_lifted("owlvit_detection", lambda batch, height, width: dict(pixel_values=torch.randn(batch, 3, height, width),
                                                              input_ids=torch.tensor([[1, 5, 2]]).repeat(batch, 1), **INTERPOLATED),
        PATCHES, "zero-shot-object-detection")
for _name in ("deformable_detr", "rt_detr", "rf_detr", "d_fine"):
    _scaled(_name, batch=2, height=160, width=224)
_scaled("grounding_dino", height=160, width=224)

# Speech.
_made("wav2vec2", "Wav2Vec2", audio, AUDIO, **SMALL, conv_dim=(16,) * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, mask_time_prob=0.0,
      apply_spec_augment=False)
_made("wav2vec2_bert", "Wav2Vec2Bert", lambda batch, frames: dict(input_features=torch.randn(batch, frames, 16)), FRAMES, **SMALL,
      feature_projection_input_dim=16, apply_spec_augment=False, left_max_position_embeddings=8, right_max_position_embeddings=4)
_lifted("wavlm", audio, AUDIO)
_made("parakeet_ctc", "ParakeetCTC", lambda batch, frames: dict(input_features=torch.randn(batch, frames, 24)), FRAMES, "automatic-speech-recognition",
      "ParakeetForCTC", vocab_size=40, pad_token_id=39, encoder_config=dict(
          hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, num_mel_bins=24, subsampling_factor=8,
          subsampling_conv_channels=8, max_position_embeddings=200))
_lifted("encodec", lambda batch, samples: dict(hidden_states=torch.randn(batch, 1, samples)), AUDIO)


# timm and torchvision.
def _timm(name, model, sizes, **options):
    def make():
        import timm
        return timm.create_model(model, pretrained=False, num_classes=5, **options)
    MODELS[f"timm_{name}"] = Row(make, image("x"), sizes, "image-classification")


_timm("vit", "test_vit", IMAGE, dynamic_img_size=True)
_timm("mobilenetv3", "mobilenetv3_small_050", ANY)
_timm("efficientvit", "efficientvit_b0", PYRAMID)
_timm("fastvit", "fastvit_t8", ANY, layers=(1, 1, 2, 1))
_lifted("torchvision_efficientnet_b0", image("x"), ANY)
_lifted("torchvision_deeplabv3", image("x"), ANY)
_lifted("torchvision_swin", image("x"), FOURS)
_lifted("torchvision_retinanet", lambda height, width: dict(x=torch.randn(1, 3, height, width)), "height=128..320:32,width=128..320:32")


# Own.
class UNet(nn.Module):
    """Two levels, whose larger side is restored by interpolation: odd sides work."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.d, self.e = nn.Conv2d(32, 8, 3, padding=1), nn.Conv2d(16, 2, 1)

    def forward(self, image):
        one = torch.relu(self.a(image))
        two = torch.relu(self.b(nn.functional.max_pool2d(one, 2)))
        three = torch.relu(self.c(nn.functional.max_pool2d(two, 2)))
        up = nn.functional.interpolate(three, size=two.shape[-2:], mode="bilinear", align_corners=False)
        up = self.d(torch.cat([up, two], 1))
        up = nn.functional.interpolate(up, size=one.shape[-2:], mode="nearest")
        return self.e(torch.cat([up, one], 1))


class Pooled(nn.Module):
    """Bags of tokens with positions that the code makes."""

    def __init__(self):
        super().__init__()
        self.tokens, self.out = nn.Embedding(50, 16), nn.Linear(16, 4)

    def forward(self, batch):
        tokens = self.tokens(batch["ids"])
        positions = torch.arange(tokens.shape[1], dtype=torch.float32)[:, None] / torch.arange(1, 17)
        kept = (tokens + positions.sin()) * batch["mask"][..., None]
        return {"mean": self.out(kept.sum(1) / batch["mask"].sum(1, keepdim=True)), "all": [kept, tokens.mean(-1)]}


def distances(a, b):
    """A function of two tensors."""
    return torch.cdist(a, b).softmax(-1) @ b / (a.shape[0] + 2 * b.shape[0])


MODELS["unet_of_odd_sizes"] = Row(UNet, lambda batch, height, width: (torch.randn(batch, 3, height, width),), "batch=1..4,height=17..160,width=17..160")
MODELS["function_of_two_tensors"] = Row(lambda: distances, lambda n, m: (torch.randn(n, 6), torch.randn(m, 6)), "n=1..40,m=1..40")
MODELS["dict_of_ids_and_mask"] = Row(Pooled, lambda batch, seq: dict(batch=dict(ids=torch.randint(0, 50, (batch, seq)), mask=torch.ones(batch, seq))),
                                     "batch=1..6,seq=2..80")
