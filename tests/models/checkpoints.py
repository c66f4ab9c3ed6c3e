"""Checkpoints in other styles, made from the committed ones: renamed weights, changed configs, several files."""
import json
import struct

import numpy as np

# As those of Qwen's VL checkpoints go, in short.
CHAT = """{% for message in messages %}<|im_start|>{{ message['role'] }}
{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

def read_weights(path):
    """{name: (dtype, shape, bytes)} of a safetensors file."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    start = 8 + size
    return {k: (v["dtype"], v["shape"], data[start + v["data_offsets"][0]:start + v["data_offsets"][1]])
            for k, v in header.items()}


def write_weights(path, weights):
    header, offset = {}, 0
    for name, (dtype, shape, data) in weights.items():
        header[name] = dict(dtype=dtype, shape=shape, data_offsets=[offset, offset + len(data)])
        offset += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in weights.values()))


def same(value):
    return value


def copy_checkpoint(source, folder, rename=same, config=same, change=same):
    """`source`'s weights under other names, with what `change` makes of {name: weight}, and `config` of its config."""
    folder.mkdir(parents=True)
    weights = read_weights(source / "model.safetensors")
    write_weights(folder / "model.safetensors", change({rename(k): v for k, v in weights.items()}))
    (folder / "config.json").write_text(json.dumps(config(json.loads((source / "config.json").read_text()))))
    return folder


def with_patches(source, folder, side):
    """`source` with a vision tower of Qwen's whose patches are `side` pixels square, as the real towers', and drawn weights there."""
    def change(weights):
        name = next(name for name in weights if name.endswith("patch_embed.proj.weight"))
        kind, shape, _ = weights[name]
        shape = [*shape[:3], side, side]
        kernel = np.random.default_rng(0).normal(0, 0.02, shape).astype(np.float32)
        bits = (kernel.view(np.uint32) >> 16).astype(np.uint16)
        return weights | {name: (kind, shape, (bits if kind == "BF16" else kernel).tobytes())}

    def config(of):
        of["vision_config"] |= {"patch_size": side, "window_size": 112}
        return of
    return copy_checkpoint(source, folder, config=config, change=change)


def with_tokenizer(source, tokenizer, folder, chat_template=None):
    """`source` with a vocabulary as large as that of `tokenizer`, a folder, and its files."""
    special = {token["content"]: token["id"] for token in json.loads((tokenizer / "tokenizer.json").read_text())["added_tokens"]}
    rows = max(special.values()) + 1

    def change(weights):
        rng = np.random.default_rng(1)
        for name, (kind, shape, data) in weights.items():
            if not name.endswith(("embed_tokens.weight", "lm_head.weight")):
                continue
            more = rng.normal(0, 0.5, (rows - shape[0], shape[1])).astype(np.float32)
            bits = (more.view(np.uint32) >> 16).astype(np.uint16)
            weights[name] = (kind, [rows, shape[1]], data + (bits if kind == "BF16" else more).tobytes())
        return weights

    def config(of):
        for part in (of, of.get("text_config", {})):
            if "vocab_size" in part:
                part["vocab_size"] = rows
        for key, token in (("image_token_id", "<|image_pad|>"), ("video_token_id", "<|video_pad|>"),
                           ("vision_start_token_id", "<|vision_start|>"), ("vision_end_token_id", "<|vision_end|>")):
            if key in of:
                of[key] = special[token]
        return of
    copy_checkpoint(source, folder, config=config, change=change)
    settings = json.loads((tokenizer / "tokenizer_config.json").read_text())
    if chat_template:
        settings["chat_template"] = chat_template
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "tokenizer.json").write_bytes((tokenizer / "tokenizer.json").read_bytes())
    return folder


def shard(folder, count=3):
    """The same checkpoint in several files with an index."""
    weights = read_weights(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    files = {f"model-{i + 1:05}-of-{count:05}.safetensors": sorted(weights)[i::count] for i in range(count)}
    for file, names in files.items():
        write_weights(folder / file, {name: weights[name] for name in names})
    index = dict(metadata={}, weight_map={name: file for file, names in files.items() for name in names})
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder
