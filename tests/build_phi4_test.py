"""thaw build writes Phi-4-multimodal's vision tower, which agrees with transformers for any crops, images and borders."""
import json

import numpy as np
import onnx
import pytest

from build_towers_test import session
from conftest import SOURCE
from models import phi4_cases
from models.checkpoints import read_weights, write_weights

CHECKPOINT = SOURCE / "tests" / "fixtures" / "phi4_mm" / "tower"
PREFIX = "model.embed_tokens_extend.image_embed."
TOLERANCE = 2e-5


def built(thaw, folder, *args, source=CHECKPOINT):
    thaw("build", source, "-o", folder, "--part", "vision", *args, code=0)
    return folder / "vision.onnx"


@pytest.fixture(scope="module")
def reference():
    return np.load(CHECKPOINT / "reference.npz")


def difference(run, reference, case):
    """Largest difference from transformers."""
    features = run.run(None, phi4_cases.feeds(case))[0]
    assert features.shape == reference[case].shape
    assert len(features) == phi4_cases.num_tokens(phi4_cases.CASES[case])
    return float(np.abs(features.astype(np.float32) - reference[case]).max())


@pytest.mark.parametrize("target, dtype, tolerance", [
    ("portable", "f32", TOLERANCE), ("directml", "f32", TOLERANCE), ("ort", "f32", TOLERANCE),
    ("portable", "f16", 1e-2), ("directml", "f16", 1e-2), ("ort", "f16", 1e-2)])
def test_agrees_with_transformers(thaw, tmp_path, reference, target, dtype, tolerance):
    run = session(built(thaw, tmp_path, "--target", target, "--dtype", dtype))
    assert max(difference(run, reference, case) for case in phi4_cases.CASES) <= tolerance


@pytest.mark.parametrize("opset", [18, 19])
def test_agrees_at_older_opsets(thaw, tmp_path, reference, opset):
    model = built(thaw, tmp_path, "--opset", opset)
    assert onnx.load(model, load_external_data=False).opset_import[0].version == opset
    assert difference(session(model), reference, "three images") <= TOLERANCE


def test_bfloat16_is_written(thaw, tmp_path):
    """ONNX Runtime has no bfloat16 kernels for the processor to run it with."""
    model = onnx.load(built(thaw, tmp_path, "--dtype", "bf16"))
    onnx.checker.check_model(model, full_check=True)
    weights = [i for i in model.graph.initializer if i.name.startswith(PREFIX) and i.name.endswith(".weight")]
    assert weights and all(i.data_type == onnx.TensorProto.BFLOAT16 for i in weights)


def test_a_bucket_that_is_one_off_is_seen(thaw, tmp_path, reference):
    """21/28 of the image is where bucket 24 of 32 begins. Computed as ONNX Runtime's float Range adds it up, it falls into bucket
    23; a tower with that bucket must not pass for right."""
    model = onnx.load(built(thaw, tmp_path))
    table = next(i for i in model.graph.initializer if i.dims == [33 * 32])
    buckets = onnx.numpy_helper.to_array(table).reshape(33, 32).copy()
    assert buckets[28, 21] == 24
    step, added = np.float32(1) / np.float32(28), np.float32(0)
    for _ in range(21):
        added += step
    assert int(added * 32) == 23
    buckets[28, 21] = 23
    table.CopyFrom(onnx.numpy_helper.from_array(buckets.reshape(-1), table.name))
    onnx.save(model, tmp_path / "off.onnx")
    assert difference(session(tmp_path / "off.onnx"), reference, "one crop, 28 x 26 patches") > 100 * TOLERANCE


def test_padding_crops_are_not_even_looked_at(thaw, tmp_path, reference):
    feeds = phi4_cases.feeds("three images")
    for image, (down, across, _, _) in enumerate(phi4_cases.CASES["three images"]):
        feeds["pixel_values"][image, 1 + down * across:] = np.nan
        feeds["image_attention_mask"][image, 1 + down * across:] = False
    features = session(built(thaw, tmp_path)).run(None, feeds)[0]
    assert np.abs(features - reference["three images"]).max() <= TOLERANCE


@pytest.mark.parametrize("target", ["portable", "ort"])
def test_a_crop_without_a_patch_of_the_image_gives_numbers(thaw, tmp_path, target):
    feeds = phi4_cases.feeds("two by three")
    feeds["image_attention_mask"][0, 5] = False
    features = session(built(thaw, tmp_path, "--target", target)).run(None, feeds)[0]
    assert np.isfinite(features).all()


def test_images_do_not_see_each_other(thaw, tmp_path):
    run = session(built(thaw, tmp_path))
    together = phi4_cases.feeds("three images")
    features, first = run.run(None, together)[0], 0
    for image, size in enumerate(phi4_cases.CASES["three images"]):
        alone = run.run(None, {name: value[image : image + 1] for name, value in together.items()})[0]
        assert len(alone) == phi4_cases.num_tokens([size])
        assert np.abs(features[first : first + len(alone)] - alone).max() <= TOLERANCE
        first += len(alone)
    assert first == len(features)


def test_more_crops_than_there_are_is_an_error(thaw, tmp_path):
    """Never the next image's crops in their place."""
    feeds = phi4_cases.feeds("three images")
    feeds["image_sizes"][0] = [3 * phi4_cases.CROP, 2 * phi4_cases.CROP]
    with pytest.raises(Exception, match="GatherND"):
        session(built(thaw, tmp_path)).run(None, feeds)


@pytest.mark.parametrize("target", ["portable", "directml", "ort"])
def test_check_proves_eight_images_of_36_crops(thaw, tmp_path, target):
    ranges = "num_images=1..8,max_num_crops=2..37,image_sizes[:,0]=448..2688:448,image_sizes[:,1]=448..2688:448"
    report = thaw.json("check", built(thaw, tmp_path, "--target", target), "--sizes", ranges)
    # Every size is. Indices and divisors that are made of sums of numbers are left open.
    assert report["proof"]["refuted"] == 0
    about = ("an index and the axis it", "a divisor that is not 0")
    assert all(f["code"] in ("THAW041", "THAW043") and any(a in f["message"] for a in about) for f in report["findings"])


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_directml_takes_it(thaw, tmp_path, dtype):
    model = built(thaw, tmp_path, "--target", "directml", "--dtype", dtype)
    assert thaw.json("check", model, "--target", "directml")["findings"] == []


def test_declared_sizes_have_names_of_their_own(thaw, tmp_path):
    model = built(thaw, tmp_path)
    report = thaw.json("inspect", model)
    dims = {value["name"]: value["dims"] for value in report["inputs"]}
    assert dims == {"pixel_values": ["num_images", "max_num_crops", 3, 448, 448],
                    "image_attention_mask": ["num_images", "max_num_crops", 32, 32], "image_sizes": ["num_images", 2]}
    output = onnx.load(model, load_external_data=False).graph.output[0]
    assert [d.dim_param or d.dim_value for d in output.type.tensor_type.shape.dim] == ["num_tokens", 8]


def test_only_the_layers_that_count_are_built(thaw, tmp_path):
    """Features of layer -2 are what goes into the last layer."""
    names = {i.name for i in onnx.load(built(thaw, tmp_path), load_external_data=False).graph.initializer}
    assert any("encoder.layers.1." in name for name in names)
    assert not any("encoder.layers.2." in name or ".head." in name or "post_layernorm" in name for name in names)


# Checkpoints of other styles, made from the fixture.

HUB_NAMES = {"img_projection_up.": "img_projection.0.", "img_projection_down.": "img_projection.2.",
             "global_img_feature_extensor": "glb_GN", "sub_img_feature_extensor": "sub_GN"}


def hub_name(name):
    for ours, hub in HUB_NAMES.items():
        name = name.replace(PREFIX + ours, PREFIX + hub)
    return name.replace("_proj.weight", "_proj.base_layer.weight") if name.startswith("model.layers.") else name


def hub_config(config, order="sub_glb"):
    """As on the model hub. There the tower's sizes are those of the code, which a small checkpoint must say itself."""
    sizes = {k: v for k, v in config["vision_config"].items() if k not in ("crop_size", "feature_layer", "model_type")}
    embedding = dict(crop_size=448, hd_transform_order=order, use_hd_transform=True, projection_cls="mlp", **sizes)
    rest = {k: v for k, v in config.items() if k not in ("vision_config", "audio_config")}
    return {**rest, "model_type": "phi4mm", "embd_layer": {"image_embd_layer": embedding},
            "vision_lora": {"r": 256, "lora_alpha": 512}, "speech_lora": {"r": 320, "lora_alpha": 640}}


@pytest.fixture
def copy(tmp_path):
    def make(rename=lambda name: name, config=lambda config: config, change=lambda weights: weights):
        folder = tmp_path / "checkpoint"
        folder.mkdir()
        weights = read_weights(CHECKPOINT / "model.safetensors")
        write_weights(folder / "model.safetensors", change({rename(k): v for k, v in weights.items()}))
        (folder / "config.json").write_text(json.dumps(config(json.loads((CHECKPOINT / "config.json").read_text()))))
        return folder
    return make


def test_the_hubs_names_and_config_give_the_same_model(thaw, tmp_path, copy):
    ours, hub = built(thaw, tmp_path / "ours"), built(thaw, tmp_path / "hub", source=copy(hub_name, hub_config))
    assert ours.read_bytes() == hub.read_bytes()
    assert ours.with_suffix(".onnx.data").read_bytes() == hub.with_suffix(".onnx.data").read_bytes()


def test_the_whole_view_may_come_first(thaw, tmp_path, copy, reference):
    source = copy(hub_name, lambda config: hub_config(config, "glb_sub"))
    case = "three images"
    features = session(built(thaw, tmp_path, source=source)).run(None, phi4_cases.feeds(case))[0]
    whole, first = 16 * 17, 0
    for image in phi4_cases.CASES[case]:
        wanted = reference[case][first : first + phi4_cases.num_tokens([image])]
        turned = np.concatenate([wanted[-whole:], wanted[-whole - 1 : -whole], wanted[: -whole - 1]])
        assert np.abs(features[first : first + len(turned)] - turned).max() <= TOLERANCE
        first += len(turned)


def with_odd_crops(config):
    crop = phi4_cases.ODD_SIDE * phi4_cases.PATCH
    return {**config, "vision_config": {**config["vision_config"], "image_size": crop, "crop_size": crop}}


def with_fewer_positions(weights):
    name, count = PREFIX + "img_processor.embeddings.position_embedding.weight", phi4_cases.ODD_SIDE**2
    dtype, (_, width), data = weights[name]
    return {**weights, name: (dtype, [count, width], data[: count * width * 2])}


@pytest.mark.parametrize("target", ["portable", "ort"])
def test_an_odd_number_of_patches_is_mirrored_at_the_edge(thaw, tmp_path, copy, reference, target):
    source = copy(config=with_odd_crops, change=with_fewer_positions)
    features = session(built(thaw, tmp_path, "--target", target, source=source)).run(None, phi4_cases.odd_feeds())[0]
    assert features.shape == reference["odd"].shape
    assert np.abs(features - reference["odd"]).max() <= TOLERANCE


@pytest.mark.parametrize("change, words", [
    (dict(hd_transform_order="random"), ["'hd_transform_order'", "sub_glb or glb_sub"]),
    (dict(use_hd_transform=False), ["'use_hd_transform'"]),
    (dict(feature_layer=-5), ["'feature_layer'", "-4 to 3"]),
    (dict(num_attention_heads=5), ["'num_attention_heads'", "24"]),
    (dict(hidden_size=30), ["patch_embedding.weight", "[30, 3, 14, 14]"]),
    (dict(patch_size=2**31 - 1, image_size=2**31 - 1), ["patch_embedding.weight", "2147483647, 2147483647]"]),
    (dict(image_size=14 * 2**27), ["'image_size' makes 134217728 patches a side", "at most 1024"]),
])
def test_a_config_that_does_not_fit_is_named(thaw, tmp_path, copy, change, words):
    folder = copy(config=lambda config: {**config, "vision_config": {**config["vision_config"], **change}})
    message = thaw.error("build", folder, "-o", tmp_path / "out", "--part", "vision")
    assert all(word in message for word in words), message
    assert not (tmp_path / "out").exists()
