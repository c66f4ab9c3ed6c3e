"""--help lists every verb, and every verb explains itself with an example that starts as its usage does."""

import json
import re
import subprocess

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import SOURCE
from terminal_test import on_terminal  # noqa: F401  (a fixture)


def verbs(thaw):
    text = thaw("--help", code=0).stdout
    body = text.split("\nOptions\n")[0].split("Usage:")[1]
    return re.findall(r"^  ([a-z]+) ", body, re.M)


def test_the_help_lists_the_verbs(thaw):
    assert "completion" in verbs(thaw)


def test_every_verb_has_help_with_an_example(thaw):
    for verb in verbs(thaw):
        text = thaw(verb, "--help", code=0).stdout
        assert text.startswith(f"thaw {verb}: ")
        assert f"Usage: thaw {verb}" in text and re.search(r"^  -h +\S", text, re.M) and re.search(r"^  --help +\S", text, re.M)
        examples = text.split("\nExamples\n")[1].split("\n\n")[0].splitlines()
        assert len(examples) == 3 and any(f"thaw {verb}" in line for line in examples)


def test_help_verb_is_the_same(thaw):
    for verb in verbs(thaw):
        assert thaw("help", verb).stdout == thaw(verb, "--help").stdout


@pytest.mark.parametrize("columns", [80, 120])
def test_help_fits_the_terminal(thaw, on_terminal, columns):
    widest = 0
    for verb in [["--help"], *([v, "--help"] for v in verbs(thaw)), *([v, "-h"] for v in verbs(thaw))]:
        lines = on_terminal(columns, *verb)[0].splitlines()
        # A word is not broken: a path, a list of choices.
        assert [line for line in lines if len(line) > columns and " " in line.strip()] == [], verb
        widest = max(widest, *map(len, lines))
    assert columns - 10 < widest


def test_the_short_help_is_a_screen(thaw, on_terminal):
    for verb in verbs(thaw):
        text = on_terminal(80, verb, "-h")[0]
        assert len(text.splitlines()) <= 40, verb
        assert f"All options: thaw {verb} --help" in text
        if verb in ("rule", "mcp", "completion"):
            continue
        shown, whole = (set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", thaw(verb, name).stdout, re.M)) for name in ("-h", "--help"))
        assert 4 < len(shown) < len(whole) and shown < whole, verb


def test_options_stand_under_headings(thaw):
    """Each option once, and what a verb is about before what all have."""
    for verb in verbs(thaw):
        body = thaw(verb, "--help").stdout.split("\nExamples\n")[1].split("\n\n")[1:]
        names = [name for block in body for name in re.findall(r"^  (?:-\w, )?(--[a-z-]+)", block, re.M)]
        assert len(names) == len(set(names)), verb
        headings = [block.splitlines()[0] for block in body]
        last = [name for name in ("Output", "Check", "ONNX Runtime", "Report", "Limits", "General") if name in headings]
        assert headings[-len(last):] == last and len(headings) == len(set(headings)), (verb, headings)


def test_the_calls_of_examples_parse(thaw, tmp_path):
    """An example names options that there are: what fails is a file that is not there."""
    for verb in verbs(thaw):
        examples = thaw(verb, "-h").stdout.split("\nExamples\n")[1].split("\n\n")[0].splitlines()
        for line in examples:
            if verb == "completion":
                continue
            run = subprocess.run(["sh", "-c", line.replace("thaw", str(thaw.path), 1)], capture_output=True, text=True, cwd=tmp_path, timeout=60)
            assert "see `thaw" not in run.stderr and "warning" not in run.stderr, line
            assert run.returncode == (0 if verb == "rule" or line == "  thaw mcp" else 2), (line, run.stderr)


def test_every_option_is_described(thaw):
    page = (SOURCE / "docs/cli.md").read_text()
    common = {"--help", "--format", "--max-memory", "--max-visits", "--timeout", "--no-sandbox", "--provider", "--onnxruntime", "--quiet", "--verbose", "--color"}
    start = page.split("\n## ")[0]
    assert all(option in start for option in common)
    for verb in verbs(thaw):
        if verb == "completion":
            assert "thaw completion bash" in page
            continue
        section = re.search(rf"^## thaw {verb} .*?(?=^## |\Z)", page, re.M | re.S)
        assert section, verb
        options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", thaw(verb, "--help").stdout, re.M))
        missing = {option for option in options - common if not re.search(rf"{option}\b", section[0])}
        assert not missing, f"docs/cli.md, thaw {verb}: {missing}"


def test_the_help_is_in_the_order_of_the_tasks(thaw):
    text = thaw("--help", code=0).stdout
    tasks = ["Inspect", "Make dynamic", "Optimize and quantize", "Deploy", "Run and compare"]
    assert [line for line in text.splitlines() if line in tasks] == tasks


def test_a_verb_by_a_peers_name(thaw):
    for name, verb in (("quantize", "convert"), ("simplify", "optimize"), ("extract", "split"), ("surgeon", "fix"), ("export", "lift")):
        line = thaw.error(name, "model.onnx")
        assert f"there is no verb '{name}'" in line and f"`thaw {verb}`" in line


@pytest.mark.parametrize("given, word", [("FP16", "f16"), ("float16", "f16"), ("half", "f16"), ("BFloat16", "bf16"), ("INT4", "int4"), ("INT8_BLOCKS", "int8-blocks")])
def test_types_as_people_write_them(thaw, save, tmp_path, given, word):
    weight = numpy_helper.from_array(np.random.default_rng(0).standard_normal((64, 64), dtype=np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="n")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 64])], [weight])
    model = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    for name, text in (("given", given), ("word", word)):
        thaw("convert", model, "--to", text, "-o", tmp_path / f"{name}.onnx", "--no-check", code=0)
        (tmp_path / f"{name}.json").write_text(json.dumps({"default": {"to": text}}))
        thaw("convert", model, "--plan", tmp_path / f"{name}.json", "-o", tmp_path / f"{name}_plan.onnx", "--no-check", code=0)
    for end in ("", "_plan"):
        assert (tmp_path / f"given{end}.onnx").read_bytes() == (tmp_path / f"word{end}.onnx").read_bytes()
