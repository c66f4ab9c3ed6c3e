#!/usr/bin/env python3
"""Export of small, randomly initialised models at every size: onnx_thaw.torch.export beside PyTorch's own dynamic export.

    bench/torch_export.py [NAME …] [--json FILE]

Prints a table. Each model that comes out is judged the same way: it runs at 12 drawn sizes that were not exported and at the ends of
the ranges, and is compared with the module there. "right" agrees at all of them, "wrong" gave other numbers or shapes at one, "stops" an error at one, "none" no model.
The environment needs onnx_thaw, torch, onnx, onnxscript, onnxruntime and transformers.
"""
import argparse
import contextlib
import json
import tempfile
import time
import traceback
from pathlib import Path

import torch
from torch import nn

import onnx_thaw as thaw
from onnx_thaw.torch._choose import choose, ends, unseen
from onnx_thaw.torch._compare import Comparison, compare
from onnx_thaw.torch._exporters import quiet, reason_of
from onnx_thaw.torch._module import Subject, left_as_it_was, wrapper
from onnx_thaw.torch._sizes import Ranges, text_of

SEED = 1234  # not that of the export: other sizes and other numbers
MODELS = {}


def model(sizes):
    """Registers a maker of (module, make_inputs)."""
    def keep(make):
        MODELS[make.__name__] = (make, sizes)
        return make
    return keep


def ids(batch, seq, vocabulary=99):
    return torch.randint(3, vocabulary, (batch, seq))


SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
IMAGE = "batch=1..4,height=64..256:16,width=64..256:16"
TEXT = "batch=1..4,seq=4..96"


@model(IMAGE)
def vit():
    from transformers import ViTConfig, ViTModel
    return ViTModel(ViTConfig(**SMALL, image_size=96, patch_size=16)), lambda batch, height, width: dict(
        pixel_values=torch.randn(batch, 3, height, width), interpolate_pos_encoding=True)


@model(IMAGE)
def dinov2():
    from transformers import Dinov2Config, Dinov2Model
    return Dinov2Model(Dinov2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=96, patch_size=16)), \
        lambda batch, height, width: dict(pixel_values=torch.randn(batch, 3, height, width))


@model(IMAGE)
def siglip_vision():
    from transformers import SiglipVisionConfig, SiglipVisionModel
    return SiglipVisionModel(SiglipVisionConfig(**SMALL, image_size=96, patch_size=16)), lambda batch, height, width: dict(
        pixel_values=torch.randn(batch, 3, height, width), interpolate_pos_encoding=True)


@model(IMAGE)
def clip_vision():
    from transformers import CLIPVisionConfig, CLIPVisionModel
    return CLIPVisionModel(CLIPVisionConfig(**SMALL, image_size=96, patch_size=16)), lambda batch, height, width: dict(
        pixel_values=torch.randn(batch, 3, height, width), interpolate_pos_encoding=True)


@model("batch=1..3,height=64..256:4,width=64..256:4")
def swin():
    from transformers import SwinConfig, SwinModel
    return SwinModel(SwinConfig(image_size=64, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)), \
        lambda batch, height, width: dict(pixel_values=torch.randn(batch, 3, height, width))


@model("batch=1..4,height=64..320,width=64..320")
def convnext():
    from transformers import ConvNextConfig, ConvNextModel
    return ConvNextModel(ConvNextConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])), lambda batch, height, width: dict(
        pixel_values=torch.randn(batch, 3, height, width))


@model("batch=1..3,height=64..256:32,width=64..256:32")
def segformer():
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    return SegformerForSemanticSegmentation(SegformerConfig(
        hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=16, num_labels=5)), \
        lambda batch, height, width: dict(pixel_values=torch.randn(batch, 3, height, width))


@model("batch=1..3,height=64..256:32,width=64..256:32")
def mobilevit():
    from transformers import MobileViTConfig, MobileViTModel
    return MobileViTModel(MobileViTConfig(image_size=96, hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 64],
                                          num_attention_heads=2)), \
        lambda batch, height, width: dict(pixel_values=torch.randn(batch, 3, height, width))


@model("batch=1..2,height=112..280:14,width=112..280:14")
def depth_anything():
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config
    backbone = Dinov2Config(hidden_size=32, num_hidden_layers=4, num_attention_heads=4, image_size=140, patch_size=14,
                            out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False, apply_layernorm=True)
    return DepthAnythingForDepthEstimation(DepthAnythingConfig(
        backbone_config=backbone, reassemble_hidden_size=32, patch_size=14, neck_hidden_sizes=[8, 16, 16, 16], fusion_hidden_size=16,
        head_hidden_size=8)), lambda batch, height, width: dict(pixel_values=torch.randn(batch, 3, height, width))


@model(IMAGE)
def yolos():
    from transformers import YolosConfig, YolosForObjectDetection
    return YolosForObjectDetection(YolosConfig(**SMALL, image_size=[96, 128], patch_size=16, num_detection_tokens=10)), \
        lambda batch, height, width: dict(pixel_values=torch.randn(batch, 3, height, width))


@model("batch=1..2,height=96..320:32,width=96..320:32")
def rt_detr():
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig
    backbone = RTDetrResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                                  out_features=["stage2", "stage3", "stage4"])
    return RTDetrForObjectDetection(RTDetrConfig(
        backbone_config=backbone, encoder_hidden_dim=32, encoder_in_channels=[16, 24, 32], encoder_ffn_dim=32, d_model=32,
        num_queries=6, decoder_in_channels=[32, 32, 32], decoder_ffn_dim=32, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, num_denoising=0, anchor_image_size=None)), \
        lambda batch, height, width: dict(pixel_values=torch.randn(batch, 3, height, width))


@model(TEXT)
def bert():
    from transformers import BertConfig, BertModel
    return BertModel(BertConfig(**SMALL, vocab_size=99)), lambda batch, seq: dict(
        input_ids=ids(batch, seq), attention_mask=torch.ones(batch, seq, dtype=torch.long))


@model(TEXT)
def modernbert():
    from transformers import ModernBertConfig, ModernBertModel
    return ModernBertModel(ModernBertConfig(**SMALL, vocab_size=99, pad_token_id=0, local_attention=16)), lambda batch, seq: dict(
        input_ids=ids(batch, seq), attention_mask=torch.ones(batch, seq, dtype=torch.long))


@model(TEXT)
def roberta_classifier():
    from transformers import RobertaConfig, RobertaForSequenceClassification
    return RobertaForSequenceClassification(RobertaConfig(**SMALL, vocab_size=99)), lambda batch, seq: dict(
        input_ids=ids(batch, seq), attention_mask=torch.ones(batch, seq, dtype=torch.long))


@model(TEXT)
def t5_encoder():
    from transformers import T5Config, T5EncoderModel
    return T5EncoderModel(T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99)), lambda batch, seq: dict(
        input_ids=ids(batch, seq), attention_mask=torch.ones(batch, seq, dtype=torch.long))


@model(TEXT)
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(**SMALL, num_key_value_heads=2, vocab_size=99)), lambda batch, seq: dict(
        input_ids=ids(batch, seq), attention_mask=torch.ones(batch, seq, dtype=torch.long), use_cache=False)


@model("batch=1..3,past=2..40,seq=1..8,total=past+seq")
def qwen2_with_cache():
    from transformers import DynamicCache, Qwen2Config, Qwen2ForCausalLM

    def inputs(batch, past, seq, total):
        cache = DynamicCache([(torch.randn(batch, 2, past, 8), torch.randn(batch, 2, past, 8)) for _ in range(2)])
        return dict(input_ids=ids(batch, seq), attention_mask=torch.ones(batch, total, dtype=torch.long),
                    position_ids=torch.arange(past, total)[None].repeat(batch, 1), past_key_values=cache, use_cache=True)
    return Qwen2ForCausalLM(Qwen2Config(**SMALL, num_key_value_heads=2, vocab_size=99)), inputs


@model("batch=1..3,past=2..40,seq=1..8")
def qwen2_with_cache_and_no_mask():
    from transformers import DynamicCache, Qwen2Config, Qwen2ForCausalLM

    def inputs(batch, past, seq):
        cache = DynamicCache([(torch.randn(batch, 2, past, 8), torch.randn(batch, 2, past, 8)) for _ in range(2)])
        return dict(input_ids=ids(batch, seq), past_key_values=cache, use_cache=True)
    return Qwen2ForCausalLM(Qwen2Config(**SMALL, num_key_value_heads=2, vocab_size=99)), inputs


@model("batch=1..3,samples=2000..16000:10")
def wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2Model
    return Wav2Vec2Model(Wav2Vec2Config(**SMALL, conv_dim=(16,) * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
                                        mask_time_prob=0.0, apply_spec_augment=False)), \
        lambda batch, samples: dict(input_values=torch.randn(batch, samples))


@model("batch=1..3,frames=40..400")
def wav2vec2_bert():
    from transformers import Wav2Vec2BertConfig, Wav2Vec2BertModel
    return Wav2Vec2BertModel(Wav2Vec2BertConfig(**SMALL, feature_projection_input_dim=16, apply_spec_augment=False,
                                                left_max_position_embeddings=8, right_max_position_embeddings=4)), \
        lambda batch, frames: dict(input_features=torch.randn(batch, frames, 16))


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


@model("batch=1..4,height=17..160,width=17..160")
def unet_of_odd_sizes():
    return UNet(), lambda batch, height, width: (torch.randn(batch, 3, height, width),)


@model("n=1..40,m=1..40")
def function_of_two_tensors():
    def distances(a, b):
        return torch.cdist(a, b).softmax(-1) @ b / (a.shape[0] + 2 * b.shape[0])
    return distances, lambda n, m: (torch.randn(n, 6), torch.randn(m, 6))


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


@model("batch=1..6,seq=2..80")
def dict_of_ids_and_mask():
    return Pooled(), lambda batch, seq: dict(batch=dict(ids=torch.randint(0, 50, (batch, seq)), mask=torch.ones(batch, seq)))


def judged(subject, onnx_model, points):
    """Of a model: "right", or what is not, and where."""
    session = thaw.Session(onnx_model)
    names = {port.name for port in session.inputs}
    for point in points:
        case = subject.case(point, draw=SEED)
        subject.run(case)
        try:
            outputs = session.run({name: tensor for name, tensor in zip(case.inputs.names, case.inputs.tensors) if name in names})
        except thaw.Error as error:
            return "stops", f"{text_of(point)}: {' '.join(str(error).split())[:120]}"
        found = compare(Comparison(point), case.outputs, outputs)
        if not found.agrees:
            return "wrong", f"{text_of(point)}: {found.reason}"
    return "right", ""


def peer(subject, ranges, folder):
    """PyTorch's dynamic export, of the first size that ours exports: every axis that varies is Dim.DYNAMIC, or Dim.AUTO where that fails."""
    first, second = choose(ranges, 2)
    case, other = subject.case(first), subject.case(second)
    subject.run(case)
    module = wrapper(subject, case)
    axes = [[i for i, (a, b) in enumerate(zip(one.shape, two.shape)) if a != b]
            for one, two in zip(case.inputs.tensors, other.inputs.tensors)]
    reason = ""
    for hint in (torch.export.Dim.DYNAMIC, torch.export.Dim.AUTO):
        path = Path(folder, "peer.onnx")
        try:
            with quiet(), torch.no_grad():
                torch.onnx.export(module, tuple(case.inputs.tensors), str(path), dynamo=True, input_names=case.inputs.names,
                                  output_names=case.outputs.names, external_data=False,
                                  dynamic_shapes=(tuple(dict.fromkeys(each, hint) for each in axes),))
            return path, ""
        except Exception as error:
            reason = reason or reason_of(error)
    return None, reason


def varied(module):
    """Parameters that are all one number get noise: scores that all tie have no order to compare."""
    if isinstance(module, nn.Module):
        with torch.no_grad():
            for each in module.parameters():
                if each.numel() > 1 and each.is_floating_point() and (each == each.flatten()[0]).all():
                    each += 0.1 * torch.randn_like(each)
    return module


def row(name):
    make, sizes = MODELS[name]
    torch.manual_seed(0)
    module, make_inputs = make()
    varied(module)
    started = time.monotonic()
    result = thaw.torch.export(module, make_inputs, sizes=sizes)
    ours = time.monotonic() - started
    ranges, subject = Ranges(sizes), Subject(module, make_inputs, SEED)
    found = {"name": name, "exporter": result.exporter, "exports": len(result.sizes), "seconds": round(ours, 1),
             "exporters": result.exporters, "largest": list(result.not_compared)}
    with left_as_it_was(module, SEED), tempfile.TemporaryDirectory() as folder:
        points = unseen(ranges, result.sizes, 12, lambda _: True, SEED) + ends(ranges)
        if result.accepted:
            result.save(Path(folder, "ours.onnx"))
            found["ours"], found["why"] = judged(subject, Path(folder, "ours.onnx"), points)
        else:
            found["ours"], found["why"] = "none", result.reason
        started = time.monotonic()
        path, reason = peer(subject, ranges, folder)
        found["peer_seconds"] = round(time.monotonic() - started, 1)
        found["peer"], found["peer_why"] = judged(subject, path, points) if path else ("none", reason)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}; all by default")
    parser.add_argument("--json", type=Path, help="a file for all that was found")
    options = parser.parse_args()
    rows = []
    print("| model | thaw.torch.export | exporter | exports | s | torch.onnx.export(dynamic_shapes=…) | s |\n|---|---|---|---|---|---|---|")
    for name in options.names or MODELS:
        try:
            rows.append(row(name))
        except Exception as error:
            traceback.print_exc()
            rows.append({"name": name, "failed": f"{type(error).__name__}: {error}"})
            print(f"| {name} | failed: {rows[-1]['failed'][:200]} |")
            continue
        each = rows[-1]
        ours = each["ours"] + (f": {each['why'][:200]}" if each["why"] else "")
        theirs = each["peer"] + (f": {each['peer_why'][:200]}" if each["peer_why"] else "")
        print(f"| {name} | {ours} | {each['exporter']} | {each['exports']} | {each['seconds']} | {theirs} | {each['peer_seconds']} |".replace("\n", " "),
              flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    for side in ("ours", "peer"):
        counts = {word: sum(each.get(side) == word for each in rows) for word in ("right", "wrong", "stops", "none")}
        print(f"{side}: " + ", ".join(f"{count} {word}" for word, count in counts.items()))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
