"""docs/cases: each command of each page runs, in the page's order, and says what stands under it.

Numbers with a point may differ from machine to machine, and "…" stands for any lines. THAW_WRITE_CASES=1 writes what the commands
say now into the pages instead.
"""
import os
import re
import shlex
import shutil

import numpy as np
import onnx
import pytest

from conftest import SOURCE
from models import pictures, scrfd, vision_tower
from models.checkpoints import CHAT, with_patches, with_tokenizer

CASES = sorted((SOURCE / "docs" / "cases").glob("0*.md"))
FIXTURES = SOURCE / "tests" / "fixtures"
TOKENIZER = FIXTURES / "inputs" / "tokenizer"
BLOCK = re.compile(r"```console\n(.*?)```", re.S)
MOST_LINES = 12


@pytest.fixture
def folder(tmp_path):
    """Small models of the kinds that the pages speak of, under the names of the real ones."""
    onnx.save(vision_tower.static(8, 12), tmp_path / "vision_8x12.onnx")
    with_tokenizer(FIXTURES / "qwen3_vl" / "decoder", TOKENIZER, tmp_path / "Qwen3-VL-2B-Instruct", CHAT)
    small = with_tokenizer(FIXTURES / "qwen2_5_vl" / "decoder", TOKENIZER, tmp_path / "small", CHAT)
    with_patches(small, tmp_path / "Qwen2.5-VL-3B-Instruct", 14)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(small / name, tmp_path / "Qwen2.5-VL-3B-Instruct" / name)
    shutil.copytree(FIXTURES / "phi4_mm" / "tower", tmp_path / "Phi-4-multimodal-instruct")
    shutil.copytree(FIXTURES / "qwen3_asr" / "decoder", tmp_path / "Qwen3-ASR-0.6B")
    shutil.copy(FIXTURES / "inputs" / "stereo.flac", tmp_path / "talk.flac")
    onnx.save(scrfd.model(), tmp_path / "det_10g.onnx")
    pictures.save(tmp_path / "photo.jpg", 320, 240)
    pictures.save(tmp_path / "page.png", 200, 280)
    for name, count in (("photos", 4), ("held_out", 2)):
        (tmp_path / name).mkdir()
        for i in range(count):
            pictures.save(tmp_path / name / f"{i}.jpg", 300 + 20 * i, 200 + 30 * i, seed=i + 10 * (name == "held_out"))
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    for i, length in enumerate((5, 11, 17, 23)):
        ids = np.random.default_rng(i).integers(3, 400, (1, length))
        np.savez(prompts / f"{i}.npz", input_ids=ids, attention_mask=np.ones_like(ids))
    return tmp_path


def said(thaw, command, folder):
    made = thaw(*shlex.split(command)[1:], cwd=folder)
    return (made.stdout + made.stderr).rstrip("\n").split("\n")


def shape(line):
    """A line without what differs from machine to machine: numbers with a point or an exponent, and how wide columns are."""
    line = re.sub(r"\b\d+ (?=int8-blocks|int4|int8|unchanged)", "# ", line)  # how many nodes a plan gives what
    line = re.sub(r"(\d runs), .*", r"\1", line)  # which is the worst
    line = re.sub(r"-?\d[\d,]*\.\d+(e[+-]?\d+)?|-?\d+e[+-]?\d+", "#", line)
    return re.sub(r"\s+", " ", line).strip()


def assert_says(lines, wanted, command):
    """Runs of lines between "…" stand in what was said one after the other, the first at its beginning, the last at its end."""
    runs = [[]]
    for line in wanted:
        if line.strip() == "…":
            runs.append([])
        else:
            runs[-1].append(shape(line))
    shapes, at = [shape(line) for line in lines], 0
    for i, run in enumerate(runs):
        first = at if i == 0 else len(shapes) - len(run) if i == len(runs) - 1 else None
        places = range(at, len(shapes) - len(run) + 1) if first is None else [max(first, at)]
        found = next((place for place in places if shapes[place:place + len(run)] == run), None)
        assert found is not None, f"$ {command}\nsays\n" + "\n".join(lines) + "\nand not\n" + "\n".join(run)
        at = found + len(run)
    assert len(runs) > 1 or at == len(shapes), f"$ {command}\nsays more:\n" + "\n".join(lines[at:])


def shortened(command, lines):
    if command.startswith("thaw sensitivity"):
        return [*lines[:2], "…", *lines[-2:]]
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[:MOST_LINES // 2], "…", *lines[-4:]]


def commands_of(block):
    """[(command, lines under it)]"""
    found = []
    for line in block.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", CASES, ids=lambda page: page.stem)
def test_the_commands_say_what_stands_there(thaw, folder, page):
    text = page.read_text()
    blocks = BLOCK.findall(text)
    assert sum(len(commands_of(block)) for block in blocks) >= 4
    for block in blocks:
        written = ""
        for command, wanted in commands_of(block):
            lines = said(thaw, command, folder)
            if os.environ.get("THAW_WRITE_CASES"):
                written += "\n".join([f"$ {command}", *shortened(command, lines)]) + "\n"
            else:
                assert_says(lines, wanted, command)
        if written:
            text = text.replace(f"```console\n{block}```", f"```console\n{written}```")
    if os.environ.get("THAW_WRITE_CASES"):
        page.write_text(text)


def test_there_is_a_page_for_each_report():
    assert len(CASES) == 5
