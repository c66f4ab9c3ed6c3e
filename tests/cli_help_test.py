"""--help lists every verb, and every verb explains itself with an example that starts as its usage does."""

import json
import re

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import SOURCE


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
        assert f"Usage: thaw {verb}" in text and "-h, --help" in text
        assert f"thaw {verb} " in re.split(r"\nExamples?\n", text)[1]


def test_help_verb_is_the_same(thaw):
    for verb in verbs(thaw):
        assert thaw("help", verb).stdout == thaw(verb, "-h").stdout


def test_help_fits_a_page(thaw):
    for verb in [[], *([v] for v in verbs(thaw))]:
        assert max(map(len, thaw(*verb, "--help").stdout.splitlines())) <= 120


def test_every_option_is_described(thaw):
    page = (SOURCE / "docs/cli.md").read_text()
    common = {"--help", "--format", "--max-memory", "--max-visits", "--timeout", "--no-sandbox", "--quiet", "--verbose", "--color"}
    start = page.split("\n## ")[0]
    assert all(option in start for option in common)
    for verb in verbs(thaw):
        if verb == "completion":
            assert "thaw completion bash" in page
            continue
        section = re.search(rf"^## thaw {verb} .*?(?=^## |\Z)", page, re.M | re.S)
        assert section, verb
        options = set(re.findall(r"(--[a-z-]+)", thaw(verb, "--help").stdout.split("\nOptions\n")[1].split("\nExample")[0]))
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
