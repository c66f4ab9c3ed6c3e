"""thaw build --genai: onnxruntime-genai's own API loads what it writes and decodes the same tokens."""
import json

import numpy as np
import pytest
from PIL import Image

from build_text_test import FAMILIES, VISION_FAMILIES, build, checkpoint, references  # noqa: F401 (build: a fixture)
from conftest import need_package, session
from models.checkpoints import copy_checkpoint
from models.decoding import greedy

IMAGE = 90
NEW_TOKENS = 32


@pytest.fixture(scope="module")
def genai():
    need_package("onnxruntime_genai")
    import onnxruntime_genai
    return onnxruntime_genai


def never_end(folder, tokens):
    """Makes a token end the text that is not among these: min_length keeps the end tokens out of what is decoded."""
    config = json.loads((folder / "genai_config.json").read_text())
    config["model"]["eos_token_id"] = [next(t for t in range(3, 97) if t not in tokens)]
    (folder / "genai_config.json").write_text(json.dumps(config))


def decode(genai, model, start, length):
    params = genai.GeneratorParams(model)
    params.set_search_options(max_length=length + NEW_TOKENS, min_length=length + NEW_TOKENS, do_sample=False)
    generator = genai.Generator(model, params)
    start(generator)
    while not generator.is_done():
        generator.generate_next_token()
    return np.array(generator.get_sequence(0))[length:]


@pytest.mark.parametrize("target", ["portable", "ort"])
@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_tokens_equal_those_of_transformers(genai, build, family, target):
    refs = references(family)
    folder = build(family, "--part", "text", "--genai", "--target", target)
    never_end(folder, refs["tokens"])
    model = genai.Model(str(folder))
    for row in range(3):
        prompt = refs["prompt"][row][refs["prompt_mask"][row] == 1].astype(np.int32)
        if family.startswith("phi") and len(prompt) < 9:
            continue  # alone, this row starts with LongRoPE's short factors; in the reference's batch with the long ones
        tokens = decode(genai, model, lambda generator: generator.append_tokens(prompt), len(prompt))
        assert (tokens == refs["tokens"][row]).all()


TOKENS = {90: "<|image_pad|>", 91: "<|video_pad|>", 92: "<|vision_start|>", 93: "<|vision_end|>"}


def write_tokenizer(folder):
    """A byte-level BPE of letters, without merges, and the vision tokens."""
    letters = "\u0120abcdefghijklmnopqrstuvwxyz"  # the first stands for a space
    vocabulary = {"<pad>": 0, "<bos>": 1, "<eos>": 2, **{letter: 3 + i for i, letter in enumerate(letters)}}
    flags = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=False, use_regex=True)
    (folder / "tokenizer.json").write_text(json.dumps(dict(
        version="1.0", truncation=None, padding=None, normalizer=None, post_processor=None, pre_tokenizer=level,
        decoder=level, added_tokens=[dict(id=i, content=text, **flags) for i, text in TOKENS.items()],
        model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix="", end_of_word_suffix="",
                   fuse_unk=False, byte_fallback=False, vocab=vocabulary, merges=[]))))
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(
        tokenizer_class="Qwen2Tokenizer", eos_token="<eos>", pad_token="<pad>", model_max_length=512,
        added_tokens_decoder={str(i): dict(content=text, **flags) for i, text in TOKENS.items()})))


@pytest.fixture
def with_images(thaw, tmp_path):
    """with_images(family, *options) -> (folder of the checkpoint, folder of the models)"""
    def make(family, *options):
        source = copy_checkpoint(checkpoint(family), tmp_path / "checkpoint")
        write_tokenizer(source)
        (source / "preprocessor_config.json").write_text(json.dumps(dict(
            min_pixels=256, max_pixels=4096, image_mean=[0.5, 0.4, 0.3], image_std=[0.5, 0.6, 0.7])))
        thaw("build", source, "-o", tmp_path / "out", "--genai", *options, code=0)
        return source, tmp_path / "out"
    return make


def prompt_of(images):
    place = "<|vision_start|><|image_pad|><|vision_end|>"
    return "ab " + " cd ".join([place] * images) + " xyz"


def positions_of(ids, grids):
    """[3, 1, seq] as Qwen-VL's position ids go, and what the next ones are ahead of the number of tokens."""
    rows, at, here, grids = [], 0, 0, iter(grids)
    while at < len(ids):
        if ids[at] == IMAGE:
            frames, high, wide = (int(n) for n in next(grids))
            high, wide = high // 2, wide // 2
            for i in range(frames * high * wide):
                rows.append((here, here + i // wide % high, here + i % wide))
            at += frames * high * wide
            here += max(high, wide)
        else:
            rows.append((here,) * 3)
            at, here = at + 1, here + 1
    return np.array(rows).T[:, None], here - len(ids)


@pytest.mark.parametrize("target", ["portable", "ort"])
@pytest.mark.parametrize("sizes", [[(56, 40)], [(32, 24), (56, 40)]], ids=["one image", "two images"])
@pytest.mark.parametrize("family", VISION_FAMILIES)
def test_decoding_with_images_equals_that_of_the_parts(thaw, genai, tmp_path, with_images, family, sizes, target):
    """From image files through onnxruntime-genai's processor; its pixels through vision.onnx, embedding.onnx and
    text.onnx as build_embedding_test proves them give the same tokens. DeepStack included."""
    source, folder = with_images(family, "--target", target)
    files = []
    for i, (width, height) in enumerate(sizes):
        pixels = np.random.default_rng(20 + i).integers(0, 255, (height, width, 3), dtype=np.uint8)
        files.append(str(tmp_path / f"{i}.png"))
        Image.fromarray(pixels).save(files[-1])

    thaw("build", source, "-o", tmp_path / "parts", "--kv-cache", code=0)
    vision, embedding, text = (session(tmp_path / "parts" / f"{part}.onnx") for part in ("vision", "embedding", "text"))

    model = genai.Model(str(folder))
    inputs = model.create_multimodal_processor()(prompt_of(len(files)), images=genai.Images.open(*files))
    ids = inputs["input_ids"].as_numpy().astype(np.int64)
    grids = inputs["image_grid_thw"].as_numpy().reshape(-1, 3)
    assert [tuple(grid) for grid in grids] == [(1, height // 4, width // 4) for width, height in sizes]
    # Images are padded to as many patches as the largest has.
    padded = np.split(inputs["pixel_values"].as_numpy(), len(grids))
    patches = np.concatenate([rows[:grid.prod()] for rows, grid in zip(padded, grids)])
    names = [o.name for o in vision.get_outputs()]
    features = dict(zip(names, vision.run(None, {"pixel_values": patches, "grid_thw": grids}), strict=True))

    def embed(tokens):
        given = features if tokens.shape[1] > 1 else {name: value[:0] for name, value in features.items()}
        return dict(zip([o.name for o in embedding.get_outputs()], embedding.run(None, {"input_ids": tokens, **given})))

    positions, delta = positions_of(ids[0], grids)
    expected = greedy(text, ids, np.ones_like(ids), NEW_TOKENS, embed=embed, positions=positions, deltas=delta)

    never_end(folder, expected)
    model = genai.Model(str(folder))
    inputs = model.create_multimodal_processor()(prompt_of(len(files)), images=genai.Images.open(*files))
    assert (decode(genai, model, lambda generator: generator.set_inputs(inputs), ids.shape[1]) == expected[0]).all()


def test_files_and_names(thaw, with_images):
    source, folder = with_images("qwen3_vl")
    written = {path.name for path in folder.iterdir()}
    parts = {"vision.onnx", "embedding.onnx", "text.onnx"}
    assert written == parts | {f"{name}.data" for name in parts} | {
        "genai_config.json", "processor_config.json", "tokenizer.json", "tokenizer_config.json"}
    assert (folder / "tokenizer.json").read_bytes() == (source / "tokenizer.json").read_bytes()
    config = json.loads((folder / "genai_config.json").read_text())["model"]
    for part, section in (("vision", "vision"), ("embedding", "embedding"), ("text", "decoder")):
        report = thaw.json("inspect", folder / f"{part}.onnx")
        names = {value["name"] for value in report["inputs"] + report["outputs"]}
        told = [*config[section]["inputs"].values(), *config[section]["outputs"].values()]
        assert {name.replace("%d", "0") for name in told} <= names
    resize = json.loads((folder / "processor_config.json").read_text())["processor"]["transforms"][2]["operation"]
    assert resize["attrs"]["patch_size"] == 4 and resize["attrs"]["max_pixels"] == 4096


def test_what_generation_config_says_counts(thaw, tmp_path):
    source = copy_checkpoint(checkpoint("qwen3"), tmp_path / "checkpoint")
    (source / "generation_config.json").write_text(json.dumps(dict(
        eos_token_id=[7, 2], do_sample=True, top_k=20, top_p=0.8, temperature=0.7, repetition_penalty=1.05)))
    thaw("build", source, "-o", tmp_path / "out", "--genai", code=0)
    config = json.loads((tmp_path / "out" / "genai_config.json").read_text())
    assert config["model"]["eos_token_id"] == [7, 2] and config["model"]["pad_token_id"] == 0
    assert config["search"] | dict(do_sample=True, top_k=20, top_p=0.8, temperature=0.7, repetition_penalty=1.05) == config["search"]


@pytest.mark.parametrize("family, options, words", [
    ("qwen3_asr", [], ["'qwen3_asr'", "--part text"]),
    ("phi4_mm", [], ["'phi4_multimodal'", "--part text"]),
    ("qwen3_vl", ["--part", "vision"], ["decoder", "--part text"]),
])
def test_what_onnxruntime_genai_does_not_run_is_refused(thaw, tmp_path, family, options, words):
    if family in ("qwen3_asr", "phi4_mm"):  # these checkpoints have no towers
        options = ["--part", "all"]
    message = thaw.error("build", checkpoint(family), "-o", tmp_path / "out", "--genai", *options)
    assert all(word in message for word in words), message
    assert not (tmp_path / "out").exists()


def linked_checkpoint(folder, target, name="tokenizer.json"):
    """A small checkpoint in that folder, with a link to the target."""
    copy_checkpoint(checkpoint("qwen3"), folder)
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    return folder


def test_a_link_of_the_checkpoint_is_followed_within_it_and_no_further(thaw, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("what is not the checkpoint's")
    out = tmp_path / "out"

    def build_it(folder, **kw):
        return thaw("build", folder, "-o", out, "--part", "text", "--genai", **kw)
    line = build_it(linked_checkpoint(tmp_path / "out_of_it", secret), code=2).stderr
    assert "tokenizer.json" in line and "link" in line and not out.exists(), line
    line = build_it(linked_checkpoint(tmp_path / "up", "../secret"), code=2).stderr
    assert "link" in line and not out.exists(), line
    # As a hub's cache has them: <model>/snapshots/<revision>/<file> -> ../../blobs/<hash>.
    model = tmp_path / "models--a--b"
    (model / "blobs").mkdir(parents=True)
    (model / "blobs" / "0123").write_text('{"of": "the cache"}')
    build_it(linked_checkpoint(model / "snapshots" / "main", "../../blobs/0123"), code=0)
    assert (out / "tokenizer.json").read_text() == '{"of": "the cache"}' and not (out / "tokenizer.json").is_symlink()
    within = linked_checkpoint(tmp_path / "within", "real.json")
    (within / "real.json").write_text('{"of": "the folder"}')
    build_it(within, code=0)
    assert (out / "tokenizer.json").read_text() == '{"of": "the folder"}'


def test_what_onnxruntime_genai_will_miss_is_said(thaw, tmp_path):
    folder = copy_checkpoint(checkpoint("qwen3"), tmp_path / "checkpoint")
    for file in folder.glob("tokenizer*"):
        file.unlink()
    report = thaw.json("build", folder, "-o", tmp_path / "bare", "--part", "text", "--genai", code=0)
    assert any("no tokenizer.json and no tokenizer_config.json" in warning for warning in report["warnings"])
    write_tokenizer(folder)
    text = thaw("build", folder, "-o", tmp_path / "with", "--part", "text", "--genai", code=0).stdout
    assert "tokenizer.json:" not in text.replace("no tokenizer.json", "")
    assert not any("tokenizer.json and" in line for line in text.splitlines() if line.startswith("warning"))


def test_bfloat16_on_a_processor_is_warned_of(thaw, tmp_path):
    text = thaw("build", checkpoint("qwen3"), "-o", tmp_path / "bf16", "--part", "text", "--dtype", "bf16", code=0).stdout
    assert "warning: not loaded in ONNX Runtime: ONNX Runtime's CPU provider has few bfloat16 kernels" in text
    assert "warning" not in thaw("build", checkpoint("qwen3"), "-o", tmp_path / "f32", "--part", "text", code=0).stdout
