"""thaw run FOLDER: tower, embedding and decoder of a checkpoint together give, greedily, the tokens that transformers gives."""
import json
import re
import shutil

import numpy as np
import pytest

from build_genai_test import positions_of
from conftest import SOURCE, need_shared, session
from models.checkpoints import CHAT, with_tokenizer

FIXTURES = SOURCE / "tests" / "fixtures"
INPUTS = FIXTURES / "inputs"
CASES = json.loads((INPUTS / "generated.json").read_text())  # tests/models/make_generated_golden.py
CLIPS = json.loads((INPUTS / "generated_clips.json").read_text())
CLIPS.pop("timed")
CLIPS_FIRST = CLIPS.pop("clip_first")


def ids(tokens):
    return ",".join(map(str, tokens))


@pytest.fixture(scope="module")
def built(thaw, tmp_path_factory):
    """The folder of a family's models, built once."""
    folders = {}

    def build(family, *options):
        key = (family, options)
        if key not in folders:
            folders[key] = tmp_path_factory.mktemp(family)
            thaw("build", FIXTURES / family / "decoder", "-o", folders[key], "--kv-cache", *options, code=0)
        return folders[key]
    return build


def files_of(family):
    option = "--audio" if family == "qwen3_asr" else "--image"
    return [word for name in CASES[family]["files"] for word in (option, INPUTS / name)]


@pytest.mark.parametrize("target", ["portable", "ort"])
@pytest.mark.parametrize("family", CASES)
def test_greedy_tokens_are_transformers(thaw, built, family, target):
    case = CASES[family]
    made = thaw.json("run", built(family, "--target", target), "--tokens", ids(case["prompt"]), *files_of(family),
                     "--max-new-tokens", 32, code=0)
    assert made["prompt_tokens"] == case["prompt_tokens"]
    assert made["tokens"] == case["tokens"]
    assert (made["finish_reason"] == "stop") == (len(case["tokens"]) < 32)
    assert made["seconds"] >= made["seconds_to_first_token"] > 0 and made["tokens_per_second"] > 0
    assert ("real_time_factor" in made) == (family == "qwen3_asr")


def test_deepstack_layers_past_the_text_models_are_left_unread(thaw, tmp_path):
    """The tower names two, and the text model has one: transformers adds the first alone."""
    case = json.loads((INPUTS / "generated_deepstack.json").read_text())
    checkpoint = shutil.copytree(FIXTURES / "qwen3_vl" / "decoder", tmp_path / "checkpoint")
    config = json.loads((checkpoint / "config.json").read_text())
    config["text_config"]["num_hidden_layers"] = case["layers"]
    (checkpoint / "config.json").write_text(json.dumps(config))
    thaw("build", checkpoint, "-o", tmp_path / "onnx", "--kv-cache", code=0)
    images = [INPUTS / name for name in case["files"]]
    made = thaw.json("run", tmp_path / "onnx", "--tokens", ids(case["prompt"]), *(word for image in images for word in ("--image", image)),
                     "--max-new-tokens", 32, code=0)
    assert made["prompt_tokens"] == case["prompt_tokens"] and made["tokens"] == case["tokens"]

    # By numbers, at a token that DeepStack adds to.
    thaw("inputs", images[0], "--for", checkpoint, "-o", tmp_path / "in.npz", code=0)
    fed = dict(np.load(tmp_path / "in.npz"))
    image = config["image_token_id"]
    parts = {name: session(tmp_path / "onnx" / f"{name}.onnx") for name in ("vision", "embedding", "text")}
    features = dict(zip((output.name for output in parts["vision"].get_outputs()), parts["vision"].run(None, fed), strict=True))
    assert features.keys() == {"vision_features", "deepstack_features_0", "deepstack_features_1"}
    features.pop("deepstack_features_1")
    tokens = np.array([[5, 17, *[image] * len(features["vision_features"]), 30]])
    embedded = dict(zip((output.name for output in parts["embedding"].get_outputs()),
                        parts["embedding"].run(None, {"input_ids": tokens, **features}), strict=True))
    assert embedded.keys() == {"inputs_embeds", "deepstack_embeds_0"}
    past = {name: np.zeros((1, 2, 0, 16), np.float32) for name in ("past_key_values.0.key", "past_key_values.0.value")}
    logits, *_ = parts["text"].run(None, {**embedded, **past, "attention_mask": np.ones_like(tokens),
                                          "position_ids": positions_of(tokens[0], fed["grid_thw"])[0]})
    assert np.abs(logits[0, -2] - case["logits"]).max() < 1e-4

    # As onnxruntime-genai takes them the features are one tensor, and so is what the decoder reads.
    thaw("build", checkpoint, "-o", tmp_path / "genai", "--genai", code=0)
    joined = {name: session(tmp_path / "genai" / f"{name}.onnx") for name in ("vision", "embedding", "text")}
    (image_features,) = joined["vision"].run(None, {"pixel_values": fed["pixel_values"], "image_grid_thw": fed["grid_thw"]})
    (embeds,) = joined["embedding"].run(None, {"input_ids": tokens, "image_features": image_features})
    assert np.abs(embeds - np.concatenate(list(embedded.values()), -1)).max() < 1e-5
    assert joined["text"].get_inputs()[0].shape[-1] == embeds.shape[-1]


def with_clip(case, frames=None):
    return ["--tokens", ids(case["prompt"]), *(word for name in case["files"] for word in ("--image", INPUTS / name)),
            "--max-new-tokens", 32, "--frames", *(INPUTS / name for name in frames or case["frames"])]


@pytest.mark.parametrize("family", CLIPS)
def test_clips_too(thaw, built, family):
    """Five frames are three groups; the last frame is there twice. Qwen2.5-VL's positions and Qwen3-VL's words tell their times."""
    case = CLIPS[family]
    made = thaw.json("run", built(family), *with_clip(case), "--fps", case["fps"], code=0)
    assert made["prompt_tokens"] == case["prompt_tokens"]
    assert made["tokens"] == case["tokens"]
    other = thaw.json("run", built(family), *with_clip(case, case["frames"][::-1]), "--fps", case["fps"], code=0)
    assert other["tokens"] != case["tokens"] or family == "qwen3_vl"
    if family == "qwen2_5_vl":
        slower = thaw.json("run", built(family), *with_clip(case), "--fps", 0.5, code=0)
        assert slower["tokens"] != case["tokens"]
        assert "--fps" in thaw.error("run", built(family), *with_clip(case))


@pytest.mark.parametrize("family", CLIPS_FIRST)
def test_images_behind_a_clip(thaw, built, family):
    """Each file's features stand where the prompt has it, whatever the order of the options."""
    case = CLIPS_FIRST[family]
    made = thaw.json("run", built(family), *with_clip(case), "--fps", case["fps"], code=0)
    assert (made["prompt_tokens"], made["tokens"]) == (case["prompt_tokens"], case["tokens"])
    if family == "qwen3_vl":
        image, clip = (json.loads((FIXTURES / family / "decoder" / "config.json").read_text())[key] for key in ("image_token_id", "video_token_id"))
        case["prompt"].remove(image)
        case["prompt"].insert(case["prompt"].index(clip) + 1, image)
        assert "between the frames of a clip" in thaw.error("run", built(family), *with_clip(case), "--fps", case["fps"])


def test_a_clip_in_a_prompt_of_words(thaw, tmp_path):
    """Behind what the chat template writes for it; Qwen3-VL's with the times of its frames."""
    checkpoint = with_tokenizer(FIXTURES / "qwen3_vl" / "decoder", INPUTS / "tokenizer", tmp_path / "checkpoint",
                                CHAT.replace("{% else %}{{ part['text']", "{% elif part['type'] == 'video' %}<|vision_start|><|video_pad|><|vision_end|>{% else %}{{ part['text']"))
    thaw("build", checkpoint, "-o", tmp_path / "onnx", "--kv-cache", code=0)
    clip = ["--frames", INPUTS / "frame3.png", INPUTS / "frame4.png", "--max-new-tokens", 8]
    whole = "<|im_start|>user\n<|vision_start|><|video_pad|><|vision_end|>What is this?<|im_end|>\n<|im_start|>assistant\n"
    made = [thaw.json("run", tmp_path / "onnx", *words, *clip, "--fps", fps, code=0)
            for words, fps in ((("--prompt", "What is this?"), 2), (("--text", whole), 2), (("--text", whole), 0.01))]
    assert made[0]["tokens"] == made[1]["tokens"] and made[0]["prompt_tokens"] == made[1]["prompt_tokens"]
    assert made[2]["prompt_tokens"] == made[1]["prompt_tokens"] + 1  # "<50.0 seconds>"
    assert "not known" in thaw.error("run", tmp_path / "onnx", "--prompt", "What is this?", *clip)
    assert "0 placeholders" in thaw.error("run", tmp_path / "onnx", "--text", "What is this?", *clip, "--fps", 2)


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen3_vl", "qwen3_asr"])
def test_the_files_count(thaw, built, family):
    """Without what the tower sees other tokens come."""
    case = CASES[family]
    other = ["--audio", INPUTS / "tone.wav"] if family == "qwen3_asr" else ["--image", INPUTS / "frame3.png", "--image", INPUTS / "frame4.png"]
    made = thaw.json("run", built(family), "--tokens", ids(case["prompt"]), *other, "--max-new-tokens", 32, code=0)
    assert made["tokens"] != case["tokens"]


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3", "mistral", "phi3"])
def test_decoders_alone(thaw, built, family):
    with np.load(FIXTURES / family / "decoder" / "text.npz") as text:
        prompt, mask, wanted = text["prompt"], text["prompt_mask"], text["tokens"]
    row = next(i for i in range(len(prompt)) if mask[i].all())
    made = thaw.json("run", built(family), "--tokens", ids(prompt[row]), "--max-new-tokens", 32, code=0)
    expected = wanted[row].tolist()
    assert made["tokens"] == (expected[:expected.index(2)] if 2 in expected else expected)


@pytest.fixture(scope="module")
def talking(thaw, tmp_path_factory):
    """Models with a tokenizer and a chat template beside them."""
    folder = tmp_path_factory.mktemp("talking")
    checkpoint = with_tokenizer(FIXTURES / "qwen2_vl" / "decoder", INPUTS / "tokenizer", folder / "checkpoint", CHAT)
    thaw("build", checkpoint, "-o", folder / "onnx", "--kv-cache", code=0)
    return folder / "onnx"


def test_a_prompt_is_what_the_chat_template_says(thaw, talking):
    image = ["--image", INPUTS / "wide.png"]
    by_words = thaw.json("run", talking, "--prompt", "What is this?", *image, "--max-new-tokens", 12, code=0)
    whole = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>What is this?<|im_end|>\n<|im_start|>assistant\n"
    by_text = thaw.json("run", talking, "--text", whole, *image, "--max-new-tokens", 12, code=0)
    assert by_words["tokens"] == by_text["tokens"] and by_words["prompt_tokens"] == by_text["prompt_tokens"] > 50
    alone = thaw.json("run", talking, "--prompt", "What is this?", "--max-new-tokens", 12, code=0)
    assert alone["tokens"] != by_words["tokens"]


def test_words_come_as_they_are_made(thaw, talking, tmp_path):
    thaw("inputs", "--for", talking, "--text", "Two words, größer.", "-o", tmp_path / "in.npz", code=0)
    with np.load(tmp_path / "in.npz") as arrays:
        tokens = arrays["input_ids"][0].tolist()
    by_text = thaw.json("run", talking, "--text", "Two words, größer.", "--max-new-tokens", 12, code=0)
    by_ids = thaw.json("run", talking, "--tokens", ids(tokens), "--max-new-tokens", 12, code=0)
    assert by_text["tokens"] == by_ids["tokens"] and by_text["text"] == by_ids["text"] != ""
    # Random tokens break characters, and the library shows nothing of a token that begins with a broken one.
    pieces = [re.escape(piece) for piece in by_text["text"].split("\ufffd")]
    assert re.fullmatch("(?:.*\ufffd)?".join(pieces), text_of(by_text["tokens"]), re.S), (by_text["text"], text_of(by_text["tokens"]))
    told = thaw("run", talking, "--text", "Two words, größer.", "--max-new-tokens", 12, code=0).stdout
    assert f"after {len(tokens)} of the prompt" in told and "a second" in told
    assert told.replace("\\x", "").count("\n") >= 2


def text_of(tokens):
    """Byte-level BPE, by hand: each character of a token stands for a byte."""
    vocabulary = {i: token for token, i in json.loads((INPUTS / "tokenizer" / "tokenizer.json").read_text())["model"]["vocab"].items()}
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(b for b in range(256) if b not in plain)}
    return bytes(letters[c] for token in tokens for c in vocabulary.get(token, "")).decode("utf-8", "replace")


def test_calls_that_are_wrong(thaw, built, tmp_path):
    folder = built("qwen2_vl")
    image = ["--image", INPUTS / "wide.png"]
    assert "one of --prompt, --text and --tokens" in thaw.error("run", folder)
    assert "placeholders" in thaw.error("run", folder, "--tokens", "5,17", *image)
    assert "no token" in thaw.error("run", folder, "--tokens", "5,x")
    assert "no tokenizer" in thaw.error("run", folder, "--prompt", "hello")
    assert "no tower" in thaw.error("run", built("llama"), "--tokens", "5", *image)
    assert "text.onnx" in thaw.error("run", tmp_path, "--tokens", "5")
    assert "no cache" in thaw.error("run", without_cache(thaw, tmp_path), "--tokens", "5", "--for", FIXTURES / "llama" / "decoder")
    assert "built checkpoint" in thaw.error("run", folder / "text.onnx", "--prompt", "hello")
    assert "gone: there is no such folder" in thaw.error("run", tmp_path / "gone", "--prompt", "hello")
    assert "the prompt: it has 0 placeholders" in thaw.error("run", folder, "--tokens", "5,17", *image)
    assert "--tokens: the model has no token 97; expected 0 to 96" in thaw.error("run", folder, "--tokens", "5,97")
    assert "--fps: there is no clip" in thaw.error("run", folder, "--tokens", "5", "--fps", 2)


def without_cache(thaw, tmp_path):
    thaw("build", FIXTURES / "llama" / "decoder", "-o", tmp_path / "no_cache", code=0)
    return tmp_path / "no_cache"


def test_phi4_with_an_image(thaw, tmp_path):
    """Where there is a whole small checkpoint: an image's crops go in, all of its tokens stand in the prompt, and they count."""
    checkpoint = need_shared("fixtures", "phi4_mm", "ckpt")
    thaw("build", checkpoint, "-o", tmp_path, "--kv-cache", code=0)
    token = json.loads((checkpoint / "config.json").read_text())["vision_config"]["image_token_id"]
    made = [thaw.json("run", tmp_path, "--tokens", ids([5, 17, token, 30, 31, 40]), "--image", INPUTS / name, "--max-new-tokens", 24, code=0)
            for name in ("tall.jpg", "wide.png")]
    assert all(one["prompt_tokens"] > 300 for one in made) and made[0]["tokens"] != made[1]["tokens"]
