"""thaw build's vision.onnx, embedding.onnx and text.onnx together: decoding with images equals transformers', and features
land where their tokens stand."""
import numpy as np
import pytest

from build_text_test import TOLERANCE, VISION_FAMILIES, build, checkpoint, references  # noqa: F401 (build: a fixture)
from conftest import session
from models.checkpoints import read_weights
from models.decoding import Cached, greedy

IMAGE, VIDEO, AUDIO = 90, 91, 94


class Pipeline:
    """The three models, and what they make of image.npz."""

    def __init__(self, folder, refs):
        self.refs = refs
        self.vision, self.embedding, self.text = (session(folder / f"{part}.onnx") for part in
                                                  ("vision", "embedding", "text"))
        names = [o.name for o in self.vision.get_outputs()]
        features = self.vision.run(None, {"pixel_values": refs["pixel_values"], "grid_thw": refs["grid_thw"]})
        self.features = dict(zip(names, features, strict=True))

    def embed(self, ids, features=None):
        features = features or self.features
        if ids.shape[1] == 1:  # no longer the prompt: an image token now is one that the decoder produced
            features = {name: value[:0] for name, value in features.items()}
        outputs = [o.name for o in self.embedding.get_outputs()]
        return dict(zip(outputs, self.embedding.run(None, {"input_ids": ids, **features}), strict=True))

    def logits(self, features=None):
        refs = self.refs
        model = Cached(self.text, len(refs["prompt"]))
        return model(refs["prompt_mask"], refs["position_ids"], **self.embed(refs["prompt"], features))


@pytest.fixture
def pipeline(build):
    """pipeline(family, *options) -> Pipeline"""
    return lambda family, *options: Pipeline(build(family, "--kv-cache", *options), references(family, "image"))


@pytest.mark.parametrize("target", TOLERANCE)
@pytest.mark.parametrize("family", VISION_FAMILIES)
def test_logits_and_greedy_tokens_with_images(pipeline, family, target):
    models = pipeline(family, "--target", target)
    refs = models.refs
    real = refs["prompt_mask"] == 1
    assert np.abs(models.logits() - refs["logits"])[real].max() <= 3 * TOLERANCE[target]  # three models' rounding
    tokens = greedy(models.text, refs["prompt"], refs["prompt_mask"], refs["tokens"].shape[1], embed=models.embed,
                    positions=refs["position_ids"], deltas=refs["deltas"])
    assert (tokens == refs["tokens"]).all()


@pytest.mark.parametrize("target", TOLERANCE)
def test_greedy_tokens_with_audio(build, target):
    refs = references("qwen3_asr", "audio")
    folder = build("qwen3_asr", "--kv-cache", "--target", target)
    audio, embedding, text = (session(folder / f"{part}.onnx") for part in ("audio", "embedding", "text"))
    clips = {"input_features": refs["input_features"].astype(np.float32), "input_features_mask": refs["input_features_mask"]}
    features = audio.run(["audio_features"], clips)[0]

    def embed(ids):
        given = features if ids.shape[1] > 1 else features[:0]
        return {"inputs_embeds": embedding.run(None, {"input_ids": ids, "audio_features": given})[0]}

    tokens = greedy(text, refs["prompt"], refs["prompt_mask"], refs["tokens"].shape[1], embed=embed)
    assert (tokens == refs["tokens"]).all()


def test_deepstack_reaches_the_decoder(pipeline):
    """Without one of its features, or with two changed places, the logits are others."""
    models = pipeline("qwen3_vl")
    whole, first, second = models.logits(), "deepstack_features_0", "deepstack_features_1"
    for changed in ({first: models.features[first] * 0}, {second: models.features[second] * 0},
                    {first: models.features[second], second: models.features[first]}):
        assert np.abs(models.logits({**models.features, **changed}) - whole).max() > 0.05


def test_positions_of_three_coordinates_count(pipeline):
    models = pipeline("qwen2_5_vl")
    whole = models.logits()
    for axis in range(3):
        models.refs["position_ids"][axis] += models.refs["prompt"] == IMAGE
        assert np.abs(models.logits() - whole).max() > 1e-4
        models.refs["position_ids"][axis] -= models.refs["prompt"] == IMAGE


def table_of(family, name):
    _, shape, data = read_weights(checkpoint(family) / "model.safetensors")[name]
    return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)


# Of each family: its embedding table, and the inputs with the tokens that take their rows.
CASES = {
    "qwen2_vl": ("model.embed_tokens.weight", {"vision_features": [IMAGE, VIDEO]}),
    "qwen2_5_vl": ("model.embed_tokens.weight", {"vision_features": [IMAGE, VIDEO]}),
    "qwen3_vl": ("model.language_model.embed_tokens.weight", {"vision_features": [IMAGE, VIDEO]}),
    "qwen3_asr": ("model.language_model.embed_tokens.weight", {"audio_features": [AUDIO]}),
    "phi4_mm": ("model.embed_tokens.weight", {"image_features": [IMAGE], "audio_features": [AUDIO]}),
}


@pytest.mark.parametrize("counts", [(5, 3, 2), (0, 0, 0), (0, 4, 0), (11, 0, 13)])
@pytest.mark.parametrize("family", CASES)
def test_features_land_where_their_tokens_stand(build, family, counts):
    table, inputs = CASES[family]
    rng = np.random.default_rng(7)
    ids = rng.integers(3, 90, 3 * 13)
    places = rng.permutation(ids.size)
    for token, count in zip((IMAGE, VIDEO, AUDIO), counts):
        ids[places[:count]] = token
        places = places[count:]
    expected = table_of(family, table)[ids]
    feeds = {"input_ids": ids.reshape(3, 13)}
    for name, tokens in inputs.items():
        at = np.isin(ids, tokens)
        feeds[name] = rng.standard_normal((at.sum(), 32), dtype=np.float32)
        expected[at] = feeds[name]
    deepstack = {}
    if family == "qwen3_vl":
        for k in range(2):
            feeds[f"deepstack_features_{k}"] = rng.standard_normal((at.sum(), 32), dtype=np.float32)
            deepstack[f"deepstack_embeds_{k}"] = np.zeros_like(expected)
            deepstack[f"deepstack_embeds_{k}"][at] = feeds[f"deepstack_features_{k}"]
    embedding = session(build(family, "--part", "embedding") / "embedding.onnx")
    names = [o.name for o in embedding.get_outputs()]
    out = dict(zip(names, embedding.run(None, feeds), strict=True))
    assert out.keys() == {"inputs_embeds"} | deepstack.keys()
    assert (out["inputs_embeds"] == expected.reshape(3, 13, 32)).all()
    for name, value in deepstack.items():
        assert (out[name] == value.reshape(3, 13, 32)).all()


def test_more_tokens_than_features_are_an_error(build):
    embedding = session(build("qwen3_asr", "--part", "embedding") / "embedding.onnx")
    ids = np.array([[5, AUDIO, AUDIO, AUDIO, 6]])
    with pytest.raises(Exception, match="indices element out of data bounds"):
        embedding.run(None, {"input_ids": ids, "audio_features": np.ones((2, 32), np.float32)})


@pytest.mark.parametrize("family", CASES)
def test_without_features_tokens_are_embedded_as_others_are(build, family):
    table, inputs = CASES[family]
    embedding = session(build(family, "--part", "embedding") / "embedding.onnx")
    ids = np.array([[5, IMAGE, 7], [AUDIO, VIDEO, 8]])
    feeds = {i.name: np.zeros((0, 32), np.float32) for i in embedding.get_inputs()}
    assert (embedding.run(["inputs_embeds"], {**feeds, "input_ids": ids})[0] == table_of(family, table)[ids]).all()


@pytest.mark.parametrize("family", CASES)
def test_sizes_of_the_embedding_are_proven(thaw, build, family):
    model = build(family, "--part", "embedding") / "embedding.onnx"
    counts = ",num_image_tokens=0..9999" if family == "phi4_mm" else ",num_tokens=0..9999"
    report = thaw.json("check", model, "--sizes", "batch=1..16,seq=1..32768" + counts, code=0)
    # What is left is asked of the numbers that inputs hold: no size decides it.
    assert {f["code"] for f in report["findings"]} <= {"THAW043"} and report["proof"]["refuted"] == 0


@pytest.mark.parametrize("dtype, target", [("f32", "portable"), ("f16", "directml"), ("bf16", "ort")])
@pytest.mark.parametrize("family", VISION_FAMILIES)
def test_what_one_part_gives_the_next_one_takes(thaw, build, family, target, dtype):
    folder = build(family, "--kv-cache", "--dtype", dtype, "--target", target)
    reports = {part: thaw.json("inspect", folder / f"{part}.onnx") for part in ("vision", "embedding", "text")}
    types = {part: {side: {v["name"]: v["dtype"] for v in report[side]} for side in ("inputs", "outputs")}
             for part, report in reports.items()}
    given, taken = types["vision"]["outputs"], types["embedding"]["inputs"]
    assert taken == {"input_ids": "int64", **given}
    given, taken = types["embedding"]["outputs"], types["text"]["inputs"]
    assert given == {name: taken[name] for name in given}
    assert "input_ids" not in taken and sum(name.startswith("deepstack") for name in taken) == len(given) - 1
