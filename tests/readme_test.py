"""The README's commands do what it says, on a model of the kind that it speaks of."""
import re
import shlex
import shutil

import numpy as np
import onnx
import pytest

import sensitivity_nets
from conftest import SOURCE
from models import scrfd, text_decoder
from models.checkpoints import CHAT, with_patches, with_tokenizer
from terminal_test import as_shown, on_terminal, width_of  # noqa: F401 (a fixture)

README = (SOURCE / "README.md").read_text()
COMMANDS = [line.strip() for line in README.splitlines() if line.startswith("    thaw ")]
# A command, and the lines below it, which are what a terminal shows.
SCREENS = re.findall(r"^    (thaw .*)\n((?:    .*\n)*)", README, re.M)
PIECE = re.compile(r"-?\d[\d.,]*(?:e[+-]?\d+)?")


def plain(text):
    """Without what differs from machine to machine: numbers, and where lines are broken for their sake."""
    return re.sub(r"\s+", " ", PIECE.sub("#", text)).strip()


@pytest.fixture(scope="module")
def readme_folder(tmp_path_factory):
    """What the README's commands are called on."""
    folder = tmp_path_factory.mktemp("readme")
    onnx.save(scrfd.model(), folder / "model.onnx")
    for size in ((1, 7), (2, 11), (3, 13)):
        onnx.save(text_decoder.static(*size), folder / "trace_{}x{}.onnx".format(*size))
    shutil.copytree(SOURCE / "tests" / "fixtures" / "qwen2_5_vl" / "decoder", folder / "checkpoint")
    (folder / "samples").mkdir()
    for i, size in enumerate(((64, 96), (96, 64))):
        np.savez(folder / "samples" / f"{i}.npz", **{"input.1": np.random.default_rng(i).random((1, 3, *size), np.float32)})
    shutil.copy(SOURCE / "tests" / "fixtures" / "inputs" / "tall.jpg", folder / "photo.jpg")
    return folder


def test_the_screens_are_what_a_terminal_shows(on_terminal, readme_folder, thaw):
    verbs = set(re.findall(r"^  ([a-z]+) ", thaw("--help").stdout.split("\nOptions\n")[0], re.M)) - {"completion"}
    assert {shlex.split(command)[1] for command in COMMANDS} == verbs
    assert len(SCREENS) == len(COMMANDS)
    codes = {"thaw check model.onnx": 1, "thaw diff model.onnx fixed.onnx": 1}
    for command, lines in SCREENS:
        # The README is read at any width, its screens at 96 columns.
        text, code = on_terminal(96, *shlex.split(command)[1:], cwd=readme_folder)
        assert code == codes.get(command, 0), (command, text)
        shown = plain(as_shown(text))
        for piece in re.split(r"^    …$", lines, flags=re.M):
            for line in piece.splitlines():
                assert plain(line) in shown, (command, line, text)
        assert max(map(width_of, as_shown(text).splitlines())) <= 96
    assert (readme_folder / "fixed.onnx").exists() and (readme_folder / "onnx" / "vision.onnx").exists()


def test_the_commands_on_building_run(thaw, tmp_path):
    page = (SOURCE / "docs" / "building.md").read_text()
    fixtures = SOURCE / "tests" / "fixtures"
    with_tokenizer(fixtures / "qwen2_5_vl" / "decoder", fixtures / "inputs" / "tokenizer", tmp_path / "checkpoint", CHAT)
    for name in ("front.jpg", "back.jpg"):
        shutil.copy(fixtures / "inputs" / "tall.jpg", tmp_path / name)
    prompt = "<|im_start|>user\n<|image_pad|> and <|image_pad|>?<|im_end|>\n"
    with_patches(tmp_path / "checkpoint", tmp_path / "Qwen2.5-VL-3B-Instruct", 14)
    shutil.copytree(fixtures / "qwen3" / "decoder", tmp_path / "Qwen3-Embedding-0.6B")
    shutil.copy(SOURCE / "tests" / "fixtures" / "inputs" / "tall.jpg", tmp_path / "photo.jpg")
    commands = [line.strip() for line in page.splitlines() if line.startswith("    thaw ")]
    assert len(commands) >= 3
    for command in commands:
        words = [prompt if word == "$(cat prompt.txt)" else word for word in shlex.split(command)[1:]]
        thaw(*words, code=0, cwd=tmp_path)


def test_the_commands_on_sensitivity_run(thaw, tmp_path):
    page = (SOURCE / "docs" / "sensitivity.md").read_text()
    onnx.save(sensitivity_nets.tower(3), tmp_path / "model.onnx")
    for seed, folder in enumerate(("samples", "held_out")):
        sensitivity_nets.write_samples(tmp_path / folder, 4, seed=seed)
    commands = [line.strip() for line in page.splitlines() if line.startswith("    thaw ")]
    assert len(commands) == 3
    for command in commands:
        thaw(*shlex.split(command)[1:], code=0, cwd=tmp_path)
    assert (tmp_path / "mixed.onnx").exists()


@pytest.mark.parametrize("link", re.findall(r"\]\((docs/[^)]+)\)", README))
def test_the_pages_it_names_are_there(link):
    assert (SOURCE / link).exists()


@pytest.mark.parametrize("target", re.findall(r"^\| `make (\w+)`", README, re.M))
def test_the_targets_it_names_are_there(target):
    assert f"\n{target}:" in (SOURCE / "Makefile").read_text()


def links():
    for page in [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)#:]*(?:#[^)]*)?)\)", text):
            yield page, target


def anchors(page):
    heads = re.findall(r"^#+ (.*)", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize(("page", "target"), list(links()), ids=lambda value: getattr(value, "name", value))
def test_links_between_pages_lead_somewhere(page, target):
    path, _, anchor = target.partition("#")
    there = page.parent / path if path else page
    assert there.exists()
    assert not anchor or anchor in anchors(there)


def test_the_code_on_adding_a_model_is_the_code():
    """Each line of its C++ stands in the sources."""
    page = (SOURCE / "docs" / "adding-a-model.md").read_text()
    sources = "\n".join(path.read_text() for path in (SOURCE / "src" / "thaw" / "model").rglob("*.[ch]*"))
    code = [line for block in re.findall(r"```cpp\n(.*?)```", page, re.S) for line in block.splitlines() if line.strip()]
    assert len(code) > 15
    assert [line for line in code if line not in sources] == []


def test_the_command_on_batching_runs(thaw, save, tmp_path):
    save(scrfd.model(), "model")
    page = (SOURCE / "docs" / "batching.md").read_text()
    commands = [line.strip() for line in page.splitlines() if line.startswith("    thaw ")]
    assert commands
    for command in commands:
        thaw(*shlex.split(command)[1:], code=0, cwd=tmp_path)
