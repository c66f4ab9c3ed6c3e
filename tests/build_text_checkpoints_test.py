"""thaw build reads decoders in every style of checkpoint, and names what is wrong with one."""
import json

import numpy as np
import onnx
import pytest

from build_text_test import FAMILIES, TOLERANCE, checkpoint, references, worst_logits
from conftest import session
from models.checkpoints import copy_checkpoint, read_weights, same, shard
from models.decoding import Cached, positions_of


@pytest.fixture
def copy(tmp_path):
    """copy(family, rename, config, change) -> a folder."""
    return lambda family, *args, **kw: copy_checkpoint(checkpoint(family), tmp_path / "checkpoint", *args, **kw)


def text_of(thaw, folder, *options):
    out = folder.parent / "out"
    thaw("build", folder, "-o", out, "--part", "text", *options, code=0)
    return out / "text.onnx"


def worst(model, family):
    text = session(model)
    return worst_logits(lambda ids, mask: text.run(None, {"input_ids": ids, "attention_mask": mask})[0],
                        references(family))


def old_rope(text):
    """rope_theta and rope_scaling, as before transformers 5."""
    rope = dict(text.pop("rope_parameters"))
    text["rope_theta"] = rope.pop("rope_theta")
    if "partial_rotary_factor" in rope:
        text["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
    kind = rope.pop("rope_type")
    if kind == "longrope":
        rope.pop("original_max_position_embeddings", None)  # stands in the config itself
        kind = "su"
    if "mrope_section" in rope:
        kind = "mrope"
    text["rope_scaling"] = {"type": kind, **rope} if rope else None
    return text


def flat(config):
    return old_rope({**config.pop("text_config"), **config})


def nested(config):
    config["text_config"] = old_rope(config["text_config"])
    return config


def thinker(config):
    model_type = config.pop("model_type")
    config.pop("tie_word_embeddings")
    config["text_config"]["tie_word_embeddings"] = True
    return dict(model_type=model_type, thinker_config=nested(config))


def phi4mm(config):
    config.pop("vision_config")
    config.pop("audio_config")
    return old_rope({**config, "model_type": "phi4mm", "vision_lora": {"r": 4, "lora_alpha": 8},
                     "speech_lora": {"r": 4, "lora_alpha": 8}})


def base_layer(name):
    is_adapted = any(part in name for part in ("qkv_proj", "o_proj", "gate_up_proj", "down_proj"))
    return name.replace(".weight", ".base_layer.weight") if is_adapted else name


STYLES = {
    "qwen2": (same, old_rope),
    "qwen3": (same, old_rope),
    "llama": (same, old_rope),
    "mistral": (same, old_rope),
    "phi3": (same, old_rope),
    "qwen2_vl": (lambda name: name.replace("model.layers.", "model.language_model.layers."), flat),
    "qwen2_5_vl": (same, flat),
    "qwen3_vl": (lambda name: name.replace("model.language_model.", "model."), nested),
    "qwen3_asr": (lambda name: "thinker." + name.replace("model.language_model.", "model."), thinker),
    "phi4_mm": (base_layer, phi4mm),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_other_style_of_names_and_config(thaw, tmp_path, copy, family):
    """The same files come out of it."""
    rename, config = STYLES[family]
    other = text_of(thaw, copy(family, rename, config))
    assert worst(other, family) <= TOLERANCE["portable"]
    thaw("build", checkpoint(family), "-o", tmp_path / "plain", "--part", "text", code=0)
    for name in ("text.onnx", "text.onnx.data"):
        assert (tmp_path / "plain" / name).read_bytes() == (other.parent / name).read_bytes()


@pytest.mark.parametrize("i", range(4))
@pytest.mark.parametrize("style", ["rope_parameters", "rope_scaling"])
def test_other_rotary_positions(thaw, copy, i, style):
    refs = references("llama", "rope")

    def other(config):
        config["rope_parameters"] = json.loads(str(refs[f"rope_{i}"]))
        return old_rope(config) if style == "rope_scaling" else config

    text = session(text_of(thaw, copy("llama", config=other)))
    logits = text.run(None, {"input_ids": refs["ids"], "attention_mask": np.ones_like(refs["ids"])})[0]
    assert np.abs(logits[:, -5:] - refs[f"logits_{i}"]).max() <= TOLERANCE["portable"]


def test_rope_scaling_counts_before_rope_parameters(thaw, copy):
    refs = references("llama", "rope")

    def both(config):
        rope = json.loads(str(refs["rope_1"]))
        return {**config, "rope_theta": rope.pop("rope_theta"), "rope_scaling": rope}

    text = session(text_of(thaw, copy("llama", config=both)))
    logits = text.run(None, {"input_ids": refs["ids"], "attention_mask": np.ones_like(refs["ids"])})[0]
    assert np.abs(logits[:, -5:] - refs["logits_1"]).max() <= TOLERANCE["portable"]


def test_the_trained_length_of_phi3_stands_outside_of_rope_parameters(thaw, tmp_path):
    """One inside is not read; 4096 where the config is silent."""
    def inside(config):
        config.pop("original_max_position_embeddings")
        config["rope_parameters"]["original_max_position_embeddings"] = 8
        return config

    def outside(config):
        return {**config, "original_max_position_embeddings": 4096}
    first, second = (text_of(thaw, copy_checkpoint(checkpoint("phi3"), tmp_path / config.__name__ / "checkpoint", config=config))
                     for config in (inside, outside))
    assert first.read_bytes() == second.read_bytes()


def test_several_files_with_an_index(thaw, copy):
    assert worst(text_of(thaw, shard(copy("qwen3"))), "qwen3") <= TOLERANCE["portable"]


@pytest.mark.parametrize("options", [[], ["--kv-cache"]])
@pytest.mark.parametrize("family", ["llama", "phi3"])
def test_heads_that_no_kernel_takes(thaw, copy, family, options):
    """ONNX Runtime's attention needs heads of 8, 16, … elements. The same weights are here read as more heads of 4."""
    def smaller_heads(config):
        config.pop("head_dim", None)
        if family == "phi3":
            config["rope_parameters"] = dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5)
        return {**config, "num_attention_heads": 8, "num_key_value_heads": 4}

    folder, refs = copy(family, config=smaller_heads), references(family)
    ids, mask = refs["ids_1"], refs["mask_1"]

    def logits(target):
        text = session(text_of(thaw, folder, "--target", target, *options))
        if options:
            return Cached(text, len(ids))(mask, positions_of(mask), input_ids=ids)
        return text.run(None, {"input_ids": ids, "attention_mask": mask})[0]

    assert np.abs(logits("ort") - logits("portable"))[mask == 1].max() <= TOLERANCE["ort"]


def weights_of(model):
    return {w.name: w.dims for w in onnx.load(model, load_external_data=False).graph.initializer if len(w.dims) == 2}


@pytest.mark.parametrize("target", TOLERANCE)
def test_a_tied_head_and_the_embedding_are_one_tensor(thaw, copy, target):
    folder = copy("qwen2")
    assert "lm_head.weight" not in read_weights(folder / "model.safetensors")
    weights = weights_of(text_of(thaw, folder, "--target", target))
    assert [dims for dims in weights.values() if 97 in dims] == [[97, 32]]


def test_a_config_that_is_silent_on_tying_goes_by_the_weights(thaw, copy):
    def silent(config):
        config.pop("tie_word_embeddings")
        return config
    assert worst(text_of(thaw, copy("qwen2", config=silent)), "qwen2") <= TOLERANCE["portable"]


def test_an_untied_head_is_a_tensor_of_its_own(thaw, copy):
    weights = weights_of(text_of(thaw, copy("qwen3")))
    assert sum(97 in dims for dims in weights.values()) == 2


@pytest.mark.parametrize("family", ["llama", "qwen3_vl"])
def test_a_head_with_weights_of_its_own_is_not_tied(thaw, copy, family):
    """As transformers has it: the config is wrong then."""
    folder = copy(family, config=lambda config: {**config, "tie_word_embeddings": True})
    assert worst(text_of(thaw, folder), family) <= TOLERANCE["portable"]


def test_a_head_that_repeats_the_embedding_is_tied(thaw, copy):
    def repeated(weights):
        return {**weights, "lm_head.weight": weights["model.embed_tokens.weight"]}
    model = text_of(thaw, copy("qwen2", change=repeated))
    assert worst(model, "qwen2") <= TOLERANCE["portable"]
    assert sum(97 in dims for dims in weights_of(model).values()) == 1


def without(name):
    return lambda weights: {k: v for k, v in weights.items() if k != name}


def named_as_layer(last):
    """One layer's norm under another layer's name, as if there were all of those between."""
    name = "model.layers.{}.input_layernorm.weight"
    return lambda weights: {**weights, name.format(last): weights[name.format(1)]}


def misshapen(weights):
    dtype, shape, data = weights["model.layers.1.mlp.up_proj.weight"]
    return {**weights, "model.layers.1.mlp.up_proj.weight": (dtype, shape[::-1], data)}


def rope(**changes):
    return lambda config: {**config, "rope_parameters": {**config["rope_parameters"], **changes}}


def sections(*numbers):
    def change(config):
        config["text_config"]["rope_parameters"]["mrope_section"] = numbers
        return config
    return change


@pytest.mark.parametrize("family, changes, words", [
    ("qwen2", dict(change=without("model.layers.1.self_attn.k_proj.bias")),
     ["'model.layers.1.self_attn.k_proj.bias' is missing", "[16]"]),
    ("qwen3", dict(change=without("lm_head.weight")), ["'lm_head.weight' is missing", "[97, 32]"]),
    ("qwen3", dict(change=without("model.layers.0.self_attn.q_norm.weight")), ["q_norm.weight", "[16]"]),
    ("llama", dict(change=misshapen), ["'model.layers.1.mlp.up_proj.weight' has the shape [32, 48]", "[48, 32]"]),
    ("llama", dict(config=lambda c: {**c, "num_hidden_layers": 2000000000}), ["layers.2.", "is missing"]),
    ("llama", dict(config=lambda c: {**c, "num_hidden_layers": 2**31 - 1}, change=named_as_layer(2**31 - 2)),
     ["'model.layers.2.input_layernorm.weight' is missing"]),
    ("llama", dict(config=lambda c: {**c, "model_type": "llama9"}), ["'llama9'", "qwen2_5_vl"]),
    ("llama", dict(config=lambda c: {**c, "quantization_config": {"quant_method": "gptq"}}), ["quantized", "gptq"]),
    ("llama", dict(config=lambda c: {**c, "hidden_act": "swiglu9"}), ["'swiglu9'", "silu"]),
    ("llama", dict(config=lambda c: {**c, "num_key_value_heads": 3}), ["'num_key_value_heads' is 3", "4"]),
    ("llama", dict(config=rope(rope_type="dynamic")), ["'dynamic'", "llama3"]),
    ("phi3", dict(config=rope(long_factor=[1.0, 2.0])), ["'long_factor' has 2 numbers", "3"]),
    ("phi3", dict(config=rope(partial_rotary_factor=0.9)), ["7 of 8"]),
    ("phi3", dict(config=rope(partial_rotary_factor=1e300)), ["'partial_rotary_factor' is 1e+300"]),
    ("phi3", dict(config=rope(short_factor=[1.0, 0.0, 1.0])), ["no frequencies"]),
    ("llama", dict(config=rope(rope_theta=-1)), ["'rope_theta' (-1)"]),
    ("llama", dict(config=rope(rope_type="linear", factor=0)), ["no frequencies"]),
    ("qwen2_vl", dict(config=sections(2**62, 2**62, 4)), ["'mrope_section'", str(2**62)]),
    ("qwen2_vl", dict(config=sections(1, 1, 1)), ["adds up to 3", "4"]),
    ("qwen3_vl", dict(config=sections(1, 1)), ["has 2 numbers"]),
    ("qwen2", dict(config=lambda c: {**c, "layer_types": ["full_attention"]}), ["'layer_types' names 1", "2"]),
    ("qwen2", dict(config=lambda c: {**c, "layer_types": ["full_attention", "chunked"]}), ["'chunked'"]),
])
def test_what_is_wrong_with_a_checkpoint_is_named(thaw, tmp_path, copy, family, changes, words):
    message = thaw.error("build", copy(family, **changes), "-o", tmp_path / "out", "--part", "text")
    assert all(word in message for word in words), message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("family", ["qwen2", "phi3"])
def test_f32_weights_are_read_as_bf16_ones(thaw, copy, family):
    """bfloat16 is the upper half of float32."""
    def widened(weights):
        def widen(data):
            return b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
        return {name: ("F32", shape, widen(data)) for name, (_, shape, data) in weights.items()}
    assert worst(text_of(thaw, copy(family, change=widened)), family) <= TOLERANCE["portable"]


@pytest.mark.parametrize("path, words", [
    ("file", "Not a directory"), ("file/below", "Not a directory"), ("n" * 300, "File name too long"),
    ("loop", "Too many levels"), ("/proc/here", "No such file")])
def test_a_folder_that_cannot_be_made_is_named(thaw, tmp_path, path, words):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "loop").symlink_to("loop")
    message = thaw.error("build", checkpoint("qwen2"), "-o", tmp_path / path)
    assert path in message and words in message and "internal" not in message
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("path, words", [("n" * 300, "File name too long"), ("loop", "Too many levels")])
def test_a_checkpoint_that_cannot_be_looked_at_is_named(thaw, tmp_path, path, words):
    (tmp_path / "loop").symlink_to("loop")
    message = thaw.error("build", tmp_path / path, "-o", tmp_path / "out")
    assert path in message and words in message and "internal" not in message


def linked(source, folder):
    """As the hub's cache has a checkpoint: links in a snapshot to files named by their hash."""
    blobs, snapshot = folder / "blobs", folder / "snapshots" / "é f"
    blobs.mkdir(parents=True), snapshot.mkdir(parents=True)
    for i, name in enumerate(["config.json", "model.safetensors"]):
        (blobs / f"0{i}").write_bytes((source / name).read_bytes())
        (snapshot / name).symlink_to(f"../../blobs/0{i}")
    return snapshot


def test_links_as_in_the_cache_of_the_hub(thaw, tmp_path):
    folder = linked(checkpoint("qwen2"), tmp_path / "hub")
    assert worst(text_of(thaw, folder), "qwen2") <= TOLERANCE["portable"]
    (tmp_path / "hub" / "blobs" / "01").unlink()
    message = thaw.error("build", folder, "-o", tmp_path / "nothing")
    assert "model.safetensors: cannot be opened" in message
    assert not (tmp_path / "nothing").exists()


ADAPTED = ("qkv_proj", "o_proj", "gate_up_proj", "down_proj")


def floats(entry):
    _, shape, data = entry
    return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)


def entry(values):
    return "F32", list(values.shape), values.astype(np.float32).tobytes()


@pytest.mark.parametrize("lora", ["vision", "speech", "none"])
def test_an_adapter_is_merged_into_the_decoder(thaw, tmp_path, lora):
    """W + lora_alpha / r * B A for each layer's weights, gate_up_proj split on the way."""
    rng = np.random.default_rng(5)
    source = read_weights(checkpoint("phi4_mm") / "model.safetensors")
    stems = [name.removesuffix(".weight") for name in source if any(part in name for part in ADAPTED)]
    pairs = {(stem, name): (rng.standard_normal((4, source[stem + ".weight"][1][1])) / 8,
                            rng.standard_normal((source[stem + ".weight"][1][0], 4)) / 8)
             for stem in stems for name in ("vision", "speech")}

    def with_adapters(weights):
        adapters = {}
        for (stem, name), (a, b) in pairs.items():
            adapters |= {f"{stem}.lora_A.{name}.weight": entry(a), f"{stem}.lora_B.{name}.weight": entry(b)}
        return weights | adapters

    def merged(weights):
        for stem in stems if lora != "none" else ():
            a, b = pairs[stem, lora]
            weights[stem + ".weight"] = entry(floats(weights[stem + ".weight"]) + 2 * b @ a)
        return weights

    def logits(name, options=(), **changes):
        folder = copy_checkpoint(checkpoint("phi4_mm"), tmp_path / name / "checkpoint", **changes)
        refs = references("phi4_mm")
        return session(text_of(thaw, folder, *options)).run(
            None, {"input_ids": refs["ids_1"], "attention_mask": refs["mask_1"]})[0]

    found = logits("adapters", ["--lora", lora], rename=base_layer, config=phi4mm, change=with_adapters)
    assert np.abs(found - logits("merged", change=merged)).max() <= 1e-4
    if lora != "none":
        assert np.abs(found - logits("plain")).max() > 0.1
