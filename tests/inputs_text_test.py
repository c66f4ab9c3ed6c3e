"""thaw inputs --text makes the token ids that the tokenizers package makes, with placeholders as long as their files."""
import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from inputs_images_test import FIXTURES, FRAMES, PICTURES, make  # noqa: F401  (a fixture)

TOKENIZER = FIXTURES / "tokenizer"
TEXTS = json.loads((TOKENIZER / "texts.json").read_text())
IDS = json.loads((TOKENIZER / "config.json").read_text())


@pytest.mark.parametrize(("text", "ids"), [case for case in TEXTS if "_pad|>" not in case[0]])
def test_ids_are_those_of_the_tokenizers_package(make, text, ids):
    made = make("--for", TOKENIZER, "--text", text)
    assert made["input_ids"].tolist() == [ids]
    assert made["attention_mask"].tolist() == [[1] * len(ids)]
    assert made["input_ids"].dtype == made["attention_mask"].dtype == np.int64


@pytest.mark.parametrize("kind", ["llama3", "phi4", "sentencepiece"])
def test_other_kinds_of_tokenizers_too(make, kind):
    for text, ids in json.loads((TOKENIZER / kind / "texts.json").read_text()):
        assert make("--for", TOKENIZER / kind, "--text", text)["input_ids"].tolist() == [ids], text


def test_placeholders_are_as_long_as_their_images_and_clips(make):
    """As transformers' processors repeat their text before it is tokenized."""
    text = "A <|image_pad|> and <|video_pad|>, <|image_pad|>."
    made = make(*PICTURES, "--for", TOKENIZER, "--image-size", 56, "--frames", *FRAMES, "--text", text)
    ids = made["input_ids"][0].tolist()
    assert ids.count(IDS["image_token_id"]) == 8 and ids.count(IDS["video_token_id"]) == 8
    assert len(made["pixel_values"]) == 4 * 16
    short = [i for k, i in enumerate(ids) if i not in (IDS["image_token_id"], IDS["video_token_id"]) or ids[k - 1] != i]
    expected = next(ids for other, ids in TEXTS if "image_pad" in other)
    assert short.count(IDS["image_token_id"]) == 2 and expected.count(IDS["image_token_id"]) == 1


def test_images_and_clips_stand_as_the_prompt_names_them(make):
    """As transformers puts each kind's features where its tokens are; the towers' features are one list."""
    clip = ["--frames", *FRAMES]
    of = {name: make(*files, "--for", TOKENIZER, "--image-size", size)["pixel_values"]
          for name, files, size in (("image", PICTURES[:1], 56), ("other", PICTURES[1:2], 56), ("clip", clip, 56))}
    for text, names in (("<|image_pad|><|image_pad|> <|video_pad|>", ["image", "other", "clip"]),
                        ("<|video_pad|><|image_pad|> <|image_pad|>", ["clip", "image", "other"]),
                        ("<|image_pad|><|video_pad|> <|image_pad|>", ["image", "clip", "other"])):
        made = make(*PICTURES[:2], *clip, "--for", TOKENIZER, "--image-size", 56, "--text", text)
        assert np.array_equal(made["pixel_values"], np.concatenate([of[name] for name in names])), text


def test_frames_of_qwen3_vl_stand_behind_their_times(make, thaw, tmp_path):
    """As transformers' processor writes them: tests/models/make_generated_golden.py."""
    golden = json.loads((FIXTURES / "generated_clips.json").read_text())["timed"]
    (tmp_path / "checkpoint").mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(TOKENIZER / name, tmp_path / "checkpoint")
    (tmp_path / "checkpoint" / "config.json").write_text(json.dumps(IDS | {"model_type": "qwen3_vl"}))
    clips = [word for count in golden["frames"] for word in ("--frames", *[FRAMES[0]] * count)]
    call = ["--for", tmp_path / "checkpoint", "--image-size", golden["size"], *clips, "--text", golden["text"]]
    assert make(*call, "--fps", golden["fps"])["input_ids"].tolist() == [golden["ids"]]
    assert "--fps" in thaw.error("inputs", *call, "-o", tmp_path / "out.npz")
    assert "2 placeholders" in thaw.error("inputs", *call, "--frames", *FRAMES, "--fps", 2, "-o", tmp_path / "out.npz")


def test_a_prompt_with_its_image_is_whole(make):
    text, ids = next(case for case in TEXTS if "image_pad" in case[0])
    made = make(PICTURES[0], "--for", TOKENIZER, "--image-size", "56x84", "--text", text)
    at = ids.index(IDS["image_token_id"])
    assert made["input_ids"][0].tolist() == ids[:at] + [IDS["image_token_id"]] * 6 + ids[at + 1:]


def test_a_decoders_checkpoint_needs_its_tokenizer_only(make, thaw, tmp_path):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(TOKENIZER / name, tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen2"}))
    text, ids = TEXTS[0]
    assert make("--for", tmp_path, "--text", text)["input_ids"].tolist() == [ids]
    error = thaw.error("inputs", PICTURES[0], "--for", tmp_path, "--text", text, "-o", tmp_path / "out.npz")
    assert "'qwen2'" in error


def test_what_is_wrong_is_told(thaw, tmp_path):
    def error(*arguments, **options):
        return thaw.error("inputs", *arguments, "-o", tmp_path / "out.npz", **options)
    assert "1 placeholder (" in error("--for", TOKENIZER, "--text", "<|image_pad|>")
    assert "0 placeholders" in error(PICTURES[0], "--for", TOKENIZER, "--text", "no image")
    assert "the checkpoint's folder" in error("--for", "qwen2_5_vl", "--text", "words")
    assert "no tokenizer.json" in error("--for", FIXTURES / "qwen2_5_vl", "--text", "words")
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json"):
        shutil.copy(TOKENIZER / name, tmp_path)
    settings = json.loads((TOKENIZER / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps(settings | {"normalizer": {"type": "Lowercase"}}))
    assert "normalizer is 'Lowercase'" in error("--for", tmp_path, "--text", "words")
    assert "byte 4 of the text is not UTF-8" in error("--for", TOKENIZER, "--text", "four\udcff")
    unknown = json.loads((TOKENIZER / "sentencepiece" / "tokenizer.json").read_text()) | {"decoder": None}
    (tmp_path / "tokenizer.json").write_text(json.dumps(unknown))
    assert "a piece of it has no token" in error("--for", tmp_path, "--text", "Hello 12")
    for content in ("", "{", "[]", '{"model": {"type": "BPE", "vocab": 7}}', (TOKENIZER / "tokenizer.json").read_text()[:5000],
                    '{"normalizer": ' * 99 + "7" + "}" * 99):
        (tmp_path / "tokenizer.json").write_text(content)
        assert "tokenize" in error("--for", tmp_path, "--text", "words")
    missing = os.environ | {"THAW_ONNXRUNTIME_GENAI": str(tmp_path / "nothing.so")}
    assert "THAW_ONNXRUNTIME_GENAI" in error("--for", TOKENIZER, "--text", "words", env=missing)
    assert not (tmp_path / "out.npz").exists()


LIBRARY = """
#include <stdint.h>
void *OgaCreateTokenizerFromPath(const char *f, void **t) { *t = 0; return 0; }
void *OgaCreateSequences(void **s) { *s = 0; return 0; }
void *OgaTokenizerEncode(void *t, const char *x, void *s) { BREAKS; return 0; }
void *OgaTokenizerDecode(void *t, const int32_t *i, unsigned long n, const char **x) { *x = 0; return 0; }
void *OgaTokenizerApplyChatTemplate(void *t, const char *a, const char *b, const char *c, _Bool d, const char **x) { *x = 0; return 0; }
void OgaDestroyString(const char *x) {}
const char *OgaResultGetError(void *r) { return "no"; }
unsigned long OgaSequencesGetSequenceCount(void *s, unsigned long i) { return 1; }
const int32_t *OgaSequencesGetSequenceData(void *s, unsigned long i) { static int32_t id = 5; return &id; }
void OgaDestroyResult(void *r) {}
void OgaDestroyTokenizer(void *t) {}
void OgaDestroySequences(void *s) {}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler to make a library that breaks")
@pytest.mark.parametrize(("how", "told"), [("for (;;)", "was stopped after 2 s"), ("*(volatile int *)8 = 1", "library breaks"), ("", "")])
def test_a_library_that_hangs_or_crashes_is_an_error(thaw, tmp_path, how, told):
    (tmp_path / "fake.c").write_text(LIBRARY.replace("BREAKS", how))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "fake.so", tmp_path / "fake.c"], check=True)
    call = ["inputs", "--for", TOKENIZER, "--text", "words", "-o", tmp_path / "in.npz", "--timeout", "2"]
    environment = os.environ | {"THAW_ONNXRUNTIME_GENAI": str(tmp_path / "fake.so"), "TMPDIR": str(tmp_path)}
    if told:
        assert told in thaw.error(*call, env=environment) and not (tmp_path / "in.npz").exists()
    else:
        thaw(*call, env=environment, code=0)
        assert np.load(tmp_path / "in.npz")["input_ids"].tolist() == [[5]]
    assert not list(tmp_path.glob(".thaw-*"))


def test_nothing_is_left_behind(thaw, tmp_path):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    (tmp_path / "made").mkdir()
    killed = tmp_path / ".thaw-0123456789abcdef.tmp"  # what a killed call has left
    killed.mkdir()
    (killed / "tokenizer.json").symlink_to(TOKENIZER / "tokenizer.json")
    command = [thaw.path, "inputs", "--for", TOKENIZER, "--text", "words", "-o", tmp_path / "made" / "in.npz"]
    subprocess.run([str(part) for part in command], env=environment, check=True, capture_output=True)
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
