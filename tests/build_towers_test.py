"""thaw build writes vision towers and audio encoders that agree with transformers at every size."""
import json
import os
import struct
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest

from conftest import SOURCE
from models import tower_cases
from models.checkpoints import copy_checkpoint, read_weights, shard

FIXTURES = SOURCE / "tests" / "fixtures"
FAMILIES = sorted(tower_cases.CASES)
VISION = [family for family in FAMILIES if family != "qwen3_asr"]
TOLERANCE = 2e-5


def checkpoint(family):
    return FIXTURES / family / "tower"


def part_of(family):
    return "audio" if family == "qwen3_asr" else "vision"


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def built(thaw, family, folder, *args, source=None):
    part = part_of(family)
    thaw("build", source or checkpoint(family), "-o", folder, "--part", part, *args, code=0)
    return folder / f"{part}.onnx"


def worst(model, family):
    """Largest difference from the reference over all cases, outputs and elements."""
    run, reference = session(model), np.load(checkpoint(family) / "reference.npz")
    outputs = sorted(o.name for o in run.get_outputs())
    assert outputs == sorted({key.split("/")[0] for key in reference.files})
    difference = 0.0
    for i, case in enumerate(tower_cases.CASES[family]):
        for name, got in zip(outputs, run.run(outputs, tower_cases.inputs(family, case, i))):
            wanted = reference[f"{name}/{i}"]
            assert got.shape == wanted.shape, (name, case)
            difference = max(difference, float(np.abs(got.astype(np.float32) - wanted).max()))
    return difference


@pytest.mark.parametrize("target", ["portable", "directml", "ort"])
@pytest.mark.parametrize("family", FAMILIES)
def test_agrees_with_transformers(thaw, tmp_path, family, target):
    assert worst(built(thaw, family, tmp_path, "--target", target), family) <= TOLERANCE


@pytest.mark.parametrize("opset", [18, 19])
@pytest.mark.parametrize("family", FAMILIES)
def test_agrees_at_older_opsets(thaw, tmp_path, family, opset):
    assert worst(built(thaw, family, tmp_path, "--opset", opset), family) <= TOLERANCE


@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision_is_close(thaw, tmp_path, family):
    assert worst(built(thaw, family, tmp_path, "--dtype", "f16"), family) <= 2e-2


@pytest.mark.parametrize("family", VISION)
def test_a_turned_grid_gives_other_features(thaw, tmp_path, family):
    """30x22 runs on what was made for 22x30 wherever only the number of patches is looked at."""
    run = session(built(thaw, family, tmp_path))
    feed = tower_cases.inputs(family, [(1, 22, 30)], 0)
    turned = dict(feed, grid_thw=np.array([[1, 30, 22]]))
    first, second = run.run(None, feed)[0], run.run(None, turned)[0]
    assert np.abs(first - second).max() > 0.1


@pytest.mark.parametrize("target", ["portable", "directml", "ort"])
@pytest.mark.parametrize("family", FAMILIES)
def test_no_image_and_no_sound_give_no_tokens(thaw, tmp_path, family, target):
    run = session(built(thaw, family, tmp_path, "--target", target))
    if family == "qwen3_asr":
        sizes = [(0, 200), (2, 0), (3, 137)]
        feeds = [dict(input_features=np.ones((batch, 24, frames), np.float32),
                      input_features_mask=np.zeros((batch, frames), np.int64)) for batch, frames in sizes]
    else:
        feeds = [dict(pixel_values=np.zeros((0, 96), np.float32), grid_thw=np.zeros((0, 3), np.int64))]
    for feed in feeds:
        assert all(features.shape == (0, 24) for features in run.run(None, feed))


def test_images_do_not_see_each_other(thaw, tmp_path):
    run = session(built(thaw, "qwen2_5_vl", tmp_path))
    feed = tower_cases.inputs("qwen2_5_vl", [(1, 6, 26), (3, 4, 10)], 3)
    alone = run.run(None, dict(pixel_values=feed["pixel_values"][:156], grid_thw=feed["grid_thw"][:1]))[0]
    together = run.run(None, feed)[0]
    assert np.abs(together[:39] - alone).max() <= TOLERANCE


RANGES = dict(
    vision="num_images=1..16,grid_thw[:,0]=1..8,grid_thw[:,1]=2..128:2,grid_thw[:,2]=2..128:2,num_patches=4..:4",
    audio="batch=1..16,frames=1..4096")


@pytest.mark.parametrize("family", FAMILIES)
def test_check_proves_every_size(thaw, tmp_path, family):
    model = built(thaw, family, tmp_path)
    report = thaw.json("check", model, "--sizes", RANGES[part_of(family)])
    # What is left is asked of the numbers that inputs hold: no size decides it.
    assert {f["code"] for f in report["findings"]} <= {"THAW043"}
    assert report["proof"]["refuted"] == 0
    if part_of(family) == "vision":  # what the model states of its grid is enough
        stated = thaw.json("check", model, "--sizes", "num_patches=1..")
        assert {f["code"] for f in stated["findings"]} <= {"THAW043"}
        assert any(e.startswith("num_patches=sum(") for e in stated["proof"]["assumptions"])


@pytest.mark.parametrize("family", FAMILIES)
def test_declared_sizes_have_names_of_their_own(thaw, tmp_path, family):
    report = thaw.json("inspect", built(thaw, family, tmp_path))
    assert [i["dims"] for i in report["inputs"]] == (
        [["batch", 24, "frames"], ["batch", "frames"]] if family == "qwen3_asr" else [["num_patches", 96], ["num_images", 3]])


# Checkpoints of other styles, made from the fixture.

@pytest.fixture
def copy(tmp_path):
    """copy(family, rename, config) -> a folder with the fixture's weights renamed and its config changed."""
    def make(family, rename=lambda name: name, config=lambda config: config, change=lambda weights: weights):
        return copy_checkpoint(checkpoint(family), tmp_path / "checkpoint", rename, config, change)
    return make


def flat(config):
    """As the first Qwen-VL checkpoints are: the decoder's fields at the top, other names in the tower's."""
    text = config.pop("text_config")
    vision = config["vision_config"]
    vision["in_chans"] = vision.pop("in_channels")
    vision["spatial_patch_size"] = vision["patch_size"]
    return {**text, **config}


def thinker(config):
    return dict(model_type="qwen3_asr", thinker_config={k: v for k, v in config.items() if k != "model_type"})


def thinker_name(name):
    name = name.replace("model.multi_modal_projector.linear_", "thinker.audio_tower.proj")
    return name.replace("model.audio_tower.", "thinker.audio_tower.")


STYLES = {
    "qwen2_vl": (lambda name: name, flat),
    "qwen2_5_vl": (lambda name: "model." + name, flat),
    "qwen3_vl": (lambda name: name.replace("model.visual.", "visual."), lambda config: config),
    "qwen3_asr": (thinker_name, thinker),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_other_style_of_names_and_config(thaw, tmp_path, copy, family):
    rename, config = STYLES[family]
    assert worst(built(thaw, family, tmp_path, source=copy(family, rename, config)), family) <= TOLERANCE


@pytest.mark.parametrize("family", VISION)
@pytest.mark.parametrize("rope, theta", [({}, 1e4), ({"rope_parameters": {"rope_type": "axial", "rope_theta": 700.0}}, 700.0),
                                         ({"rope_theta": 50.0}, 50.0)])
def test_frequencies_of_rows_and_columns(thaw, tmp_path, copy, family, rope, theta):
    def other(config):
        config["vision_config"].pop("rope_parameters")
        config["vision_config"].update(rope)
        return config

    model = onnx.load(built(thaw, family, tmp_path / "out", source=copy(family, config=other)))
    tables = [onnx.numpy_helper.to_array(w).ravel() for w in model.graph.initializer]
    frequencies = theta ** -(np.arange(4) / 4)  # heads of 16 elements: 4 pairs turn by the row, 4 by the column
    assert any(t.shape == (4,) and np.allclose(t, frequencies, rtol=1e-6) for t in tables)


def test_sharded_files_with_an_index(thaw, tmp_path, copy):
    folder = shard(copy("qwen3_vl"))
    assert worst(built(thaw, "qwen3_vl", tmp_path, source=folder), "qwen3_vl") <= TOLERANCE
    (folder / "model-00002-of-00003.safetensors").unlink()
    assert "model-00002-of-00003.safetensors" in thaw.error("build", folder, "-o", tmp_path / "again")


def without(part):
    return lambda weights: {k: v for k, v in weights.items() if part not in k}


def misshapen(weights):
    dtype, shape, data = weights["model.visual.merger.norm.weight"]
    return {**weights, "model.visual.merger.norm.weight": (dtype, [2, shape[0] // 2], data)}


def vision(**changes):
    return lambda config: {**config, "vision_config": {**config["vision_config"], **changes}}


@pytest.mark.parametrize("changes, words", [
    (dict(config=vision(hidden_size=2**31)), ["'model.visual.patch_embed.proj.weight' has the shape", "[2147483648, 3, 2, 4, 4]"]),
    (dict(config=vision(spatial_merge_size=2**31 - 1)), ["'spatial_merge_size' is 2147483647", "at most 1024"]),
    (dict(config=vision(rope_parameters={"rope_type": "yarn"})), ["'rope_type' is 'yarn'", "axial"]),
    (dict(config=vision(rope_parameters={"rope_theta": -3.5})), ["'rope_theta' is -3.5"]),
    (dict(config=vision(deepstack_visual_indexes=None)), ["'deepstack_visual_indexes' is [8, 16, 24]", "layers below 4"]),
    (dict(config=vision(deepstack_visual_indexes=[0, 4])), ["'deepstack_visual_indexes' is [0, 4]", "layers below 4"]),
    (dict(config=vision(deepstack_visual_indexes=[2, 2])), ["'deepstack_visual_indexes' is [2, 2]", "different"]),
    (dict(change=without("blocks.1.attn.qkv.weight")), ["'model.visual.blocks.1.attn.qkv.weight' is missing", "[96, 32]"]),
    (dict(change=without("deepstack_merger_list.1.")), ["deepstack_merger_list.1.norm.weight"]),
    (dict(change=misshapen), ["'model.visual.merger.norm.weight' has the shape [2, 16]", "[32]"]),
    (dict(config=lambda c: {**c, "model_type": "qwen9_vl"}), ["'qwen9_vl'", "qwen3_vl"]),
    (dict(config=lambda c: {**c, "quantization_config": {"quant_method": "awq"}}), ["quantized", "awq"]),
    (dict(config=lambda c: {**c, "vision_config": {**c["vision_config"], "depth": "four"}}), ["'depth'", "vision_config"]),
    (dict(config=lambda c: {k: v for k, v in c.items() if k != "vision_config"}), ["'vision_config' is missing"]),
])
def test_what_is_wrong_with_a_checkpoint_is_named(thaw, tmp_path, copy, changes, words):
    message = thaw.error("build", copy("qwen3_vl", **changes), "-o", tmp_path / "out", "--part", "vision")
    assert all(word in message for word in words), message
    assert not (tmp_path / "out").exists()


def test_windows_beyond_all_measure_are_refused(thaw, tmp_path, copy):
    message = thaw.error("build", copy("qwen2_5_vl", config=vision(window_size=2**31)), "-o", tmp_path / "out", "--part", "vision")
    assert "'window_size'" in message and "256" in message


def test_chunks_beyond_all_measure_are_refused(thaw, tmp_path, copy):
    """Nothing among the weights says how long a chunk is, and its positions are a table that is made."""
    def long_chunks(config):
        config["audio_config"] |= {"n_window": 2**29, "n_window_infer": 2**30}
        return config
    message = thaw.error("build", copy("qwen3_asr", config=long_chunks), "-o", tmp_path / "out", "--part", "audio")
    assert "'n_window' is 536870912" in message and "at most 32768" in message


def test_deepstack_features_stand_in_the_order_of_the_layers(thaw, tmp_path, copy):
    """The list of layers counts the mergers: turned, with the mergers changed places, it says the same."""
    def turned(name):
        for a, b in ((".0.", ".1."), (".1.", ".0.")):
            if "deepstack_merger_list" + a in name:
                return name.replace("deepstack_merger_list" + a, "deepstack_merger_list" + b)
        return name
    folder = copy("qwen3_vl", turned, vision(deepstack_visual_indexes=[2, 0]))
    assert worst(built(thaw, "qwen3_vl", tmp_path, source=folder), "qwen3_vl") <= TOLERANCE


def test_a_part_that_the_family_lacks_is_refused(thaw, tmp_path):
    assert "audio" in thaw.error("build", checkpoint("qwen3_vl"), "-o", tmp_path, "--part", "audio")


def test_nothing_is_left_of_a_build_that_fails(thaw, tmp_path, copy):
    """A float32 weight that float16 cannot hold is seen while the data file is written."""
    def too_large(weights):
        name = "model.visual.blocks.0.attn.proj.bias"
        values = np.full(32, 1e6, np.float32)
        return {**weights, name: ("F32", [32], values.tobytes())}
    folder = copy("qwen3_vl", change=too_large)
    message = thaw.error("build", folder, "-o", tmp_path / "out", "--part", "vision", "--dtype", "f16")
    assert "attn.proj.bias" in message and "float16" in message
    assert not list((tmp_path / "out").glob("*"))


def test_two_builds_are_the_same_bytes(thaw, tmp_path):
    first, second = (built(thaw, "qwen2_5_vl", tmp_path / name) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    assert first.with_name("vision.onnx.data").read_bytes() == second.with_name("vision.onnx.data").read_bytes()


def test_an_existing_file_is_replaced_whole(thaw, tmp_path):
    model = built(thaw, "qwen2_5_vl", tmp_path)
    content = model.read_bytes()
    # Over an older build: new data under a name of its own, and the older one's goes.
    for data in ("vision.onnx.1.data", "vision.onnx.data"):
        built(thaw, "qwen2_5_vl", tmp_path)
        assert sorted(os.listdir(tmp_path)) == sorted(["vision.onnx", data])
    assert model.read_bytes() == content
    # Over what is no model: nobody knows whose the data is.
    model.write_bytes(b"something else")
    built(thaw, "qwen2_5_vl", tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["vision.onnx", "vision.onnx.1.data", "vision.onnx.data"]
    assert worst(model, "qwen2_5_vl") < TOLERANCE


def peak_mb(thaw, *args):
    """Measured from a small process: a child's peak counts its parent's memory."""
    code = "import sys, measure; run = measure.run_once(sys.argv[1:]); assert run.ok, run.output; print(run.peak_mb)"
    run = subprocess.run([sys.executable, "-c", code, str(thaw.path), *map(str, args)], capture_output=True, text=True, check=True,
                         env={**os.environ, "PYTHONPATH": str(SOURCE / "bench")})
    return float(run.stdout)


def test_memory_does_not_grow_with_the_weights(thaw, tmp_path):
    """Real widths: 470 MB are written of a sparse file's zeros. What ONNX Runtime takes to load them is another matter."""
    config = json.loads((checkpoint("qwen2_5_vl") / "config.json").read_text())
    config["vision_config"].update(hidden_size=1280, intermediate_size=3420, num_heads=16, patch_size=14, window_size=112,
                                   out_hidden_size=2048, depth=4)
    shapes = {name: shape for name, (_, shape, _) in read_weights(checkpoint("qwen2_5_vl") / "model.safetensors").items()}
    shapes.update({name.replace("blocks.0.", "blocks.3."): shape for name, shape in shapes.items()})
    sizes = {32: 1280, 96: 3840, 44: 3420, 128: 5120, 24: 2048}
    header, offset = {}, 0
    for name, shape in shapes.items():
        large = [1280, 3, 2, 14, 14] if "patch_embed" in name else [sizes[n] for n in shape]
        size = 2 * int(np.prod(large))
        header[name] = dict(dtype="BF16", shape=large, data_offsets=[offset, offset + size])
        offset += size
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    text = json.dumps(header).encode()
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)
    peak = peak_mb(thaw, "build", folder, "--part", "vision", "-o", tmp_path / "out", "--no-check")
    assert (tmp_path / "out" / "vision.onnx.data").stat().st_size > 2 * offset - 10**7
    assert peak < 150
