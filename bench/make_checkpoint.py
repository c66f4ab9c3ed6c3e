"""Writes a checkpoint of random bfloat16 weights at a real model's sizes.

    python bench/make_checkpoint.py text|text-3b|text-7b|tower|audio FOLDER

text: Qwen2.5-0.5B (24 layers of width 896, vocabulary 151936, tied; about 494 M weights).
text-3b: Qwen2.5-3B (36 layers of width 2048, tied; about 3.1 G weights, 6.2 GB in two files).
text-7b: Qwen2.5-7B (28 layers of width 3584, vocabulary 152064; about 7.6 G weights, 15.2 GB in four files).
tower: Qwen2.5-VL-3B's vision tower cut to 4 blocks (width 1280), one of full attention, with a decoder of one small layer.
audio: Qwen3-ASR-0.6B's audio encoder (18 layers of width 896).
"""
import json
import math
import struct
import sys
from pathlib import Path

import numpy as np

SHARD_BYTES = 4_000_000_000   # as the 7 B checkpoints on the model hub are cut
CHUNK = 1 << 24               # numbers that are drawn at once


def shards_of(shapes):
    """The tensors of each file: as many as fit, in their order."""
    shards, used = [{}], 0
    for name, shape in shapes.items():
        size = 2 * math.prod(shape)
        if shards[-1] and used + size > SHARD_BYTES:
            shards.append({})
            used = 0
        shards[-1][name] = shape
        used += size
    return shards


def write(folder, config, shapes):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    random = np.random.default_rng(1)
    shards = shards_of(shapes)
    files = ["model.safetensors"] if len(shards) == 1 else [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
    for file, shard in zip(files, shards):
        write_file(folder / file, shard, random)
    if len(files) > 1:
        index = {"metadata": {"total_size": sum(2 * math.prod(shape) for shape in shapes.values())},
                 "weight_map": {name: file for file, shard in zip(files, shards) for name in shard}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1))


def write_file(path, shapes, random):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        size = 2 * math.prod(shape)
        header[name] = dict(dtype="BF16", shape=shape, data_offsets=[offset, offset + size])
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in shapes.items():
            count, vector = math.prod(shape), len(shape) == 1
            scale = 0.02 if vector else 1 / math.sqrt(math.prod(shape[1:]))
            for start in range(0, count, CHUNK):
                values = random.standard_normal(min(CHUNK, count - start), dtype=np.float32) * np.float32(scale)
                if vector and name.endswith("weight"):
                    values += 1
                file.write((values.view(np.uint32) >> 16).astype(np.uint16).tobytes())


def decoder_shapes(prefix, layers, width, inner, heads, kv_heads, head, vocab):
    shapes = {f"{prefix}embed_tokens.weight": [vocab, width], f"{prefix}norm.weight": [width]}
    for i in range(layers):
        at = f"{prefix}layers.{i}."
        for name, rows in (("q", heads * head), ("k", kv_heads * head), ("v", kv_heads * head)):
            shapes[f"{at}self_attn.{name}_proj.weight"] = [rows, width]
            shapes[f"{at}self_attn.{name}_proj.bias"] = [rows]
        shapes[f"{at}self_attn.o_proj.weight"] = [width, heads * head]
        for name, shape in (("gate", [inner, width]), ("up", [inner, width]), ("down", [width, inner])):
            shapes[f"{at}mlp.{name}_proj.weight"] = shape
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"{at}{name}.weight"] = [width]
    return shapes


def qwen2(folder, layers, width, inner, heads, kv_heads, head, vocab, tied):
    config = dict(architectures=["Qwen2ForCausalLM"], model_type="qwen2", hidden_size=width, intermediate_size=inner,
                  num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads, vocab_size=vocab, rms_norm_eps=1e-6,
                  rope_theta=1e6, max_position_embeddings=32768, tie_word_embeddings=tied, hidden_act="silu", torch_dtype="bfloat16",
                  bos_token_id=151643, eos_token_id=151645, use_sliding_window=False, sliding_window=32768, max_window_layers=layers,
                  attention_dropout=0.0, initializer_range=0.02, use_cache=True)
    shapes = decoder_shapes("model.", layers, width, inner, heads, kv_heads, head, vocab)
    if not tied:
        shapes["lm_head.weight"] = [vocab, width]
    write(folder, config, shapes)


def text(folder):
    qwen2(folder, 24, 896, 4864, 14, 2, 64, 151936, tied=True)


def text_3b(folder):
    qwen2(folder, 36, 2048, 11008, 16, 2, 128, 151936, tied=True)


def text_7b(folder):
    qwen2(folder, 28, 3584, 18944, 28, 4, 128, 152064, tied=False)


def tower(folder):
    width, inner, out = 1280, 3420, 2048
    vision = dict(model_type="qwen2_5_vl", depth=4, hidden_size=width, intermediate_size=inner, num_heads=16, patch_size=14,
                  temporal_patch_size=2, spatial_merge_size=2, window_size=112, fullatt_block_indexes=[3], out_hidden_size=out,
                  in_channels=3, hidden_act="silu", tokens_per_second=2)
    config = dict(architectures=["Qwen2_5_VLForConditionalGeneration"], model_type="qwen2_5_vl", vision_config=vision,
                  hidden_size=out, intermediate_size=256, num_hidden_layers=1, num_attention_heads=16, num_key_value_heads=2,
                  vocab_size=1024, rms_norm_eps=1e-6, rope_theta=1e6, max_position_embeddings=4096, tie_word_embeddings=True,
                  rope_scaling=dict(type="mrope", mrope_section=[16, 24, 24]), hidden_act="silu", torch_dtype="bfloat16",
                  image_token_id=1000, video_token_id=1001, vision_start_token_id=1002, vision_end_token_id=1003,
                  bos_token_id=1, eos_token_id=2)
    shapes = decoder_shapes("model.", 1, out, 256, 16, 2, 128, 1024)
    shapes["visual.patch_embed.proj.weight"] = [width, 3, 2, 14, 14]
    for i in range(4):
        at = f"visual.blocks.{i}."
        shapes.update({f"{at}attn.qkv.weight": [3 * width, width], f"{at}attn.qkv.bias": [3 * width],
                       f"{at}attn.proj.weight": [width, width], f"{at}attn.proj.bias": [width],
                       f"{at}norm1.weight": [width], f"{at}norm2.weight": [width]})
        for name, shape in (("gate", [inner, width]), ("up", [inner, width]), ("down", [width, inner])):
            shapes.update({f"{at}mlp.{name}_proj.weight": shape, f"{at}mlp.{name}_proj.bias": shape[:1]})
    shapes.update({"visual.merger.ln_q.weight": [width], "visual.merger.mlp.0.weight": [4 * width, 4 * width],
                   "visual.merger.mlp.0.bias": [4 * width], "visual.merger.mlp.2.weight": [out, 4 * width],
                   "visual.merger.mlp.2.bias": [out]})
    write(folder, config, shapes)


def audio(folder):
    width, inner, down, bins, out = 896, 3584, 480, 128, 1024
    encoder = dict(model_type="qwen3_asr_encoder", d_model=width, encoder_attention_heads=14, encoder_ffn_dim=inner, encoder_layers=18,
                   downsample_hidden_size=down, num_mel_bins=bins, output_dim=out, n_window=50, n_window_infer=800,
                   max_position_embeddings=13, activation_function="gelu", scale_embedding=False)
    text_config = dict(model_type="qwen3", hidden_size=out, intermediate_size=256, num_hidden_layers=1, num_attention_heads=8,
                       num_key_value_heads=2, head_dim=128, vocab_size=1024, rms_norm_eps=1e-6, max_position_embeddings=4096,
                       rope_parameters=dict(rope_theta=1e6, rope_type="default"), tie_word_embeddings=True, hidden_act="silu")
    config = dict(architectures=["Qwen3ASRForConditionalGeneration"], model_type="qwen3_asr", audio_config=encoder,
                  text_config=text_config, audio_token_id=1000)
    shapes = {}

    def linear(name, rows, columns, bias=True):
        shapes[f"{name}.weight"] = [rows, columns]
        if bias:
            shapes[f"{name}.bias"] = [rows]

    at = "model.audio_tower."
    for i in (1, 2, 3):
        shapes.update({f"{at}conv2d{i}.weight": [down, 1 if i == 1 else down, 3, 3], f"{at}conv2d{i}.bias": [down]})
    linear(f"{at}conv_out", width, down * bins // 8, bias=False)
    for i in range(18):
        layer = f"{at}layers.{i}."
        for name in ("q", "k", "v", "out"):
            linear(f"{layer}self_attn.{name}_proj", width, width)
        linear(f"{layer}fc1", inner, width)
        linear(f"{layer}fc2", width, inner)
        for name in ("self_attn_layer_norm", "final_layer_norm"):
            shapes.update({f"{layer}{name}.weight": [width], f"{layer}{name}.bias": [width]})
    shapes.update({f"{at}ln_post.weight": [width], f"{at}ln_post.bias": [width]})
    linear("model.multi_modal_projector.linear_1", width, width)
    linear("model.multi_modal_projector.linear_2", out, width)
    write(folder, config, shapes)


if __name__ == "__main__":
    {"text": text, "text-3b": text_3b, "text-7b": text_7b, "tower": tower, "audio": audio}[sys.argv[1]](sys.argv[2])
