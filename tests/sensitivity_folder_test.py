"""thaw sensitivity FOLDER: a node of any part, converted alone, costs what all parts run by hand say; one plan for all of them."""
import json

import numpy as np
import pytest

from build_genai_test import positions_of
from conftest import SOURCE, session
from models.checkpoints import CHAT, with_tokenizer

FIXTURES = SOURCE / "tests" / "fixtures"
INPUTS = FIXTURES / "inputs"
FAMILY = FIXTURES / "qwen2_5_vl" / "decoder"
IMAGE = 90
PROMPTS = {"wide.png": [5, 17, 92, IMAGE, 93, 31, 40, 41], "tall.jpg": [5, 17, 92, IMAGE, 93, 30, 12]}
PARTS = ("vision", "embedding", "text")
ANSWER = 5


def ids(tokens):
    return ",".join(map(str, tokens))


SAMPLES = [word for name, prompt in PROMPTS.items() for word in ("--tokens", ids(prompt), "--image", INPUTS / name)] + ["--max-new-tokens", ANSWER]


def log_softmax(logits):
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def divergence(x, y):
    p, q = log_softmax(x.astype(np.float64)), log_softmax(y.astype(np.float64))
    return (np.exp(p) * (p - q)).sum(-1).mean()


class ByHand:
    """The parts in ONNX Runtime, each by itself, on the prompts and the answers that `thaw run` gives."""

    def __init__(self, thaw, folder, tmp_path):
        self.folder = folder
        self.samples = []
        for i, (name, prompt) in enumerate(PROMPTS.items()):
            fed = tmp_path / f"{i}.npz"
            thaw("inputs", INPUTS / name, "--for", folder, "-o", fed, code=0)
            answer = thaw.json("run", folder, "--tokens", ids(prompt), "--image", INPUTS / name, "--max-new-tokens", ANSWER, code=0)["tokens"]
            with np.load(fed) as arrays:
                self.samples.append((dict(arrays), prompt, answer))

    def logits(self, paths):
        """Of each sample, at the tokens of the answer. `paths`: of parts that are others than the folder's."""
        parts = {part: session(paths.get(part, self.folder / f"{part}.onnx")) for part in PARTS}
        all_logits = []
        for fed, prompt, answer in self.samples:
            features, = parts["vision"].run(None, fed)
            at = prompt.index(IMAGE)
            tokens = [*prompt[:at], *[IMAGE] * len(features), *prompt[at + 1:]]
            first, whole = len(tokens) - 1, [*tokens, *answer[:-1]]
            embeds, = parts["embedding"].run(None, {"input_ids": np.array([whole]), "vision_features": features})
            past = {each.name: np.zeros((1, each.shape[1], 0, each.shape[3]), np.float32)
                    for each in parts["text"].get_inputs() if each.name.startswith("past")}
            positions = positions_of(whole, fed["grid_thw"])[0].astype(np.int64)
            logits = parts["text"].run(["logits"], {"inputs_embeds": embeds, "attention_mask": np.ones((1, len(whole)), np.int64),
                                                   "position_ids": positions, **past})[0]
            all_logits.append(logits[0, first:first + len(answer)])
        return all_logits


@pytest.fixture(scope="module")
def built(thaw, tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    thaw("build", FAMILY, "-o", folder, "--kv-cache", code=0)
    return folder


@pytest.fixture(scope="module")
def measured(thaw, built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured") / "report"
    report = thaw.json("sensitivity", built, *SAMPLES, "--to", "int4,int8-blocks", "-o", folder, code=0)
    return folder, report


@pytest.fixture(scope="module")
def by_hand(thaw, built, tmp_path_factory):
    return ByHand(thaw, built, tmp_path_factory.mktemp("by_hand"))


def test_a_node_alone_costs_what_the_parts_run_by_hand_say(thaw, built, measured, by_hand, tmp_path):
    """The worst of each part and one from its middle; so the whole order is that of runs by hand."""
    _, report = measured
    assert report["metric"] == "kl" and report["parts"] == list(PARTS) and report["outputs"] == ["logits"]
    assert report["failed"] == 0 and len(report["samples"]) == 2
    original = by_hand.logits({})
    checked = []
    for part in PARTS:
        units = sorted((unit for unit in report["units"] if unit["name"].startswith(f"{part}/")),
                       key=lambda unit: -unit["errors"][0]["one_at_a_time"]["kl"])
        assert units, part
        for unit in {id(each): each for each in (units[0], units[len(units) // 2])}.values():
            plan, output = tmp_path / "plan.json", tmp_path / f"{part}{len(checked)}.onnx"
            plan.write_text(json.dumps({"parts": {part: {"projections": "apart", "nodes": [
                {"name": node.removeprefix(f"{part}/"), "to": "int4"} for node in unit["nodes"]]}}}))
            thaw("convert", built / f"{part}.onnx", "--plan", plan, *SAMPLES, "-o", output, "--no-check", code=0)
            got = by_hand.logits({part: output})
            own = [divergence(x, y) for x, y in zip(original, got, strict=True)]
            assert unit["errors"][0]["one_at_a_time"]["samples"]["kl"] == pytest.approx(own, rel=1e-3), unit["name"]
            checked.append((np.mean(own), unit["errors"][0]["one_at_a_time"]["kl"]))
    assert len(checked) >= 5 and max(kl for kl, _ in checked) > 1e-3
    assert np.argsort([kl for kl, _ in checked]).tolist() == np.argsort([kl for _, kl in checked]).tolist()


def test_one_plan_for_all_parts_within_one_budget(thaw, built, measured, by_hand, tmp_path):
    folder, report = measured
    budget = report["weight_bytes"] // 4
    made = thaw.json("plan", folder, "--max-bytes", budget, "-o", tmp_path / "plan.json", code=0)
    assert {unit["to"] for unit in made["units"]} == {"int4", "int8-blocks"}
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert list(plan) == ["parts"] and set(plan["parts"]) == set(PARTS)
    paths, weights = {}, 0
    for part in PARTS:
        paths[part] = tmp_path / f"mixed_{part}.onnx"
        converted = thaw.json("convert", built / f"{part}.onnx", "--plan", tmp_path / "plan.json", *SAMPLES, "-o", paths[part], "--no-check", code=0)
        weights += converted["weight_bytes_after"]
    assert weights <= budget and weights == pytest.approx(made["measured"]["weight_bytes"], rel=0.01)
    own = np.mean([divergence(x, y) for x, y in zip(by_hand.logits({}), by_hand.logits(paths), strict=True)])
    assert made["measured"]["kl"] == pytest.approx(own, rel=1e-3)
    held_out = thaw.json("plan", folder, "--max-bytes", budget, "--dry-run", "--tokens", ids(PROMPTS["tall.jpg"]), "--image", INPUTS / "tall.jpg", code=0)
    assert held_out["units"] == made["units"] and held_out["measured"]["kl"] != made["measured"]["kl"]


def test_other_precisions_groups_and_modes(thaw, built, tmp_path):
    prompt = ["--tokens", ids(PROMPTS["wide.png"]), "--image", INPUTS / "wide.png", "--max-new-tokens", 2]
    layers = thaw.json("sensitivity", built, *prompt, "--to", "int8,f16", "--group", "layer", "--only-in", "--dry-run", code=0)
    names = [unit["layer"] for unit in layers["units"] if unit["kind"] == "layer"]
    assert {"vision.blocks.0", "text.layers.0"} <= set(names) and len(names) == len(set(names))
    fast = thaw.json("sensitivity", built, *prompt, "--to", "int4", "--mode", "fast", "--exact-below", 0, "--dry-run", code=0)
    assert fast["predicted"] > 0 and fast["failed"] == 0
    # Shards, and words alone: the tower has no part in these.
    words = ["--tokens", "5,17,31,40", "--tokens", "7,30,41", "--max-new-tokens", 3, "--to", "int4"]
    shards = []
    for shard in ("1/2", "2/2"):
        shards.append(tmp_path / shard[0])
        assert thaw.json("sensitivity", built, *words, "--shard", shard, "-o", shards[-1], code=0)["parts"] == ["embedding", "text"]
    merged = thaw.json("sensitivity", "merge", *shards, "--dry-run", code=0)
    whole = thaw.json("sensitivity", built, *words, "--dry-run", code=0)
    assert merged == whole


CLIP = json.loads((INPUTS / "generated_clips.json").read_text())["qwen2_vl"]
SEVERAL = {
    "two images of each prompt": ([5, IMAGE, 17, IMAGE, 93, 31], ["--image", INPUTS / "wide.png", "--image", INPUTS / "tall.jpg", "--image", INPUTS / "tall.jpg",
                                                                 "--image", INPUTS / "wide.png", "--files-per-prompt", 2], 2),
    "an image and a clip": (CLIP["prompt"], ["--image", INPUTS / "wide.png", "--frames", *(INPUTS / name for name in CLIP["frames"][1:3]), "--fps", 3], 1)}


def positions_by_hand(tokens, pictures, merge=2):
    """Qwen2-VL's: of each picture (placeholder, grid) time, rows and columns go their own way; what follows is behind all of them."""
    rows, at, here, left = [], 0, 0, list(pictures)
    while at < len(tokens):
        if not left or tokens[at] != left[0][0]:
            rows.append((here,) * 3)
            at, here = at + 1, here + 1
            continue
        frames, high, wide = left.pop(0)[1]
        high, wide = high // merge, wide // merge
        rows += [(here + t, here + h, here + w) for t in range(frames) for h in range(high) for w in range(wide)]
        at, here = at + frames * high * wide, here + max(frames, high, wide)
    return np.array(rows).T[:, None].astype(np.int64)


@pytest.mark.parametrize("tokens, media, count", SEVERAL.values(), ids=SEVERAL)
def test_several_images_and_clips_of_a_prompt(thaw, tmp_path, tokens, media, count):
    """The most sensitive nodes of the decoder and the tower cost what the parts run by hand say."""
    folder, clip = tmp_path / "onnx", json.loads((FIXTURES / "qwen2_vl" / "decoder" / "config.json").read_text())["video_token_id"]
    thaw("build", FIXTURES / "qwen2_vl" / "decoder", "-o", folder, "--kv-cache", code=0)
    samples = ["--tokens", ids(tokens), *media, "--max-new-tokens", 3]
    report = thaw.json("sensitivity", folder, *samples, "--to", "int4", "--only-in", "-o", tmp_path / "report", code=0)
    assert len(report["samples"]) == count and report["failed"] == 0
    pictures = [[word for word in media if str(word).endswith(("png", "jpg"))][:2]] if count == 2 else [media[1:2]]
    if count == 2:
        pictures.append(pictures[0][::-1])
    frames = [] if count == 2 else ["--frames", *media[3:5], "--fps", 3]
    fed = []
    for i, images in enumerate(pictures):
        thaw("inputs", *images, *frames, "--for", folder, "-o", tmp_path / f"{i}.npz", code=0)
        one = ["--tokens", ids(tokens), *(word for image in images for word in ("--image", image)), *frames]
        with np.load(tmp_path / f"{i}.npz") as arrays:
            fed.append((dict(arrays), thaw.json("run", folder, *one, "--max-new-tokens", 3, code=0)["tokens"]))

    def logits(paths):
        parts = {part: session(paths.get(part, folder / f"{part}.onnx")) for part in PARTS}
        found = []
        for arrays, answer in fed:
            features, = parts["vision"].run(None, arrays)
            grids = [tuple(map(int, grid)) for grid in arrays["grid_thw"]]
            whole, left = [], list(grids)
            pictures = list(zip([token for token in tokens if token in (IMAGE, clip)], grids, strict=True))
            for token in tokens:
                whole += [token] * (int(np.prod(left.pop(0))) // 4) if token in (IMAGE, clip) else [token]
            first = len(whole) - 1
            whole += answer[:-1]
            embeds, = parts["embedding"].run(None, {"input_ids": np.array([whole]), "vision_features": features})
            past = {each.name: np.zeros((1, each.shape[1], 0, each.shape[3]), np.float32)
                    for each in parts["text"].get_inputs() if each.name.startswith("past")}
            found.append(parts["text"].run(["logits"], {"inputs_embeds": embeds, "attention_mask": np.ones((1, len(whole)), np.int64),
                                                       "position_ids": positions_by_hand(whole, pictures), **past})[0][0, first:first + len(answer)])
        return found

    original = logits({})
    for part in ("vision", "text"):
        unit = max((each for each in report["units"] if each["name"].startswith(f"{part}/")), key=lambda each: each["errors"][0]["one_at_a_time"]["kl"])
        plan, output = tmp_path / "plan.json", tmp_path / f"{part}.onnx"
        plan.write_text(json.dumps({"parts": {part: {"projections": "apart", "nodes": [
            {"name": node.removeprefix(f"{part}/"), "to": "int4"} for node in unit["nodes"]]}}}))
        thaw("convert", folder / f"{part}.onnx", "--plan", plan, *samples, "-o", output, "--no-check", code=0)
        own = [divergence(x, y) for x, y in zip(original, logits({part: output}), strict=True)]
        assert unit["errors"][0]["one_at_a_time"]["samples"]["kl"] == pytest.approx(own, rel=1e-3)


def test_a_plan_of_all_parts_for_another_quantizer(thaw, built, measured, tmp_path):
    """A file for each model, whose names are those of that model; the same nodes as in Thaw's own plan."""
    folder, report = measured
    budget = ["--max-bytes", report["weight_bytes"] // 4, "--no-check"]
    made = thaw.json("plan", folder, *budget, "--file-format", "ort", "-o", tmp_path / "plans", code=0)
    thaw("plan", folder, *budget, "-o", tmp_path / "plan.json", code=0)
    own = json.loads((tmp_path / "plan.json").read_text())["parts"]
    assert made["units"] and sorted(path.stem for path in (tmp_path / "plans").iterdir()) == sorted(PARTS)
    for part in PARTS:
        steps = json.loads((tmp_path / "plans" / f"{part}.json").read_text())["steps"]
        thaw("optimize", built / f"{part}.onnx", "-o", tmp_path / f"{part}.onnx", "--skip", "conv-activations,standard", "--no-check", code={0, 1})
        named = {node["name"] for node in own[part]["nodes"] if node["to"] == "int4"}
        blocks = [step["arguments"] for step in steps if step["call"].endswith("MatMulNBitsQuantizer")]
        assert steps and all(isinstance(step["call"], str) for step in steps)
        for name in named:
            assert any(name not in step["nodes_to_exclude"] for step in blocks if step.get("bits", 4) == 4), (part, name)


def test_words_by_the_chat_template(thaw, tmp_path):
    checkpoint = with_tokenizer(FIXTURES / "qwen2_vl" / "decoder", INPUTS / "tokenizer", tmp_path / "checkpoint", CHAT)
    thaw("build", checkpoint, "-o", tmp_path / "onnx", "--kv-cache", code=0)
    photos = tmp_path / "photos"
    photos.mkdir()
    for name in ("wide.png", "tall.jpg"):
        (photos / name).write_bytes((INPUTS / name).read_bytes())
    report = thaw.json("sensitivity", tmp_path / "onnx", "--image", photos, "--prompt", "What is this, then?", "--max-new-tokens", 2,
                       "--to", "int4", "--only-in", "--dry-run", code=0)
    assert report["samples"] == ["prompt 1, tall.jpg", "prompt 2, wide.png"]
    assert report["prompts"]["prompts"] == ["What is this, then?"] and report["measured"] == len(report["units"])


def test_calls_that_are_wrong(thaw, built, measured, tmp_path):
    folder, _ = measured
    token = ["--tokens", "5,17"]
    error = thaw.error
    assert "no samples to measure on" in error("sensitivity", built, "--to", "int4", "--dry-run")
    assert "folder of models" in error("sensitivity", built, *token, "--data", tmp_path, "--dry-run")
    assert "built checkpoint" in error("sensitivity", built / "text.onnx", *token, "--dry-run")
    assert "3 prompts, 2 files and 0 clips" in error("sensitivity", built, *token * 3, "--image", INPUTS / "wide.png", "--image", INPUTS / "tall.jpg", "--dry-run")
    assert "as words and as token ids" in error("sensitivity", built, *token, "--prompt", "hello", "--dry-run")
    assert "no text.onnx" in error("sensitivity", tmp_path, *token, "--dry-run")
    assert "3 files are no groups of 2" in error("sensitivity", built, *token, *["--image", INPUTS / "wide.png"] * 3, "--files-per-prompt", 2, "--dry-run")
    assert "folder of models" in error("plan", folder, "--max-bytes", 60000, "--data", tmp_path, "-o", tmp_path / "p.json")
    thaw("plan", folder, "--max-bytes", 60000, "--no-check", "-o", tmp_path / "p.json", code=0)
    (tmp_path / "other.onnx").write_bytes((built / "text.onnx").read_bytes())
    (tmp_path / "text.onnx.data").write_bytes((built / "text.onnx.data").read_bytes())
    assert "do not run vision.onnx" in error("convert", built / "vision.onnx", "--plan", tmp_path / "p.json", *token, "-o", tmp_path / "o.onnx")
    assert "together" in error("convert", built / "text.onnx", "--plan", tmp_path / "p.json", *token, "--data", tmp_path, "-o", tmp_path / "o.onnx")
    assert "embedding.onnx, text.onnx, vision.onnx" in error("convert", tmp_path / "other.onnx", "--plan", tmp_path / "p.json", "-o", tmp_path / "o.onnx")
