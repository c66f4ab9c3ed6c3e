"""`thaw mcp` uses the folders that it is given and no other, whatever names a path, and writes nothing unless it was started so."""
import hashlib
import re
import shutil
import subprocess
import sys

import onnx
import pytest

from conftest import SOURCE
from mcp_client import Server
from mcp_tools_test import OF_SERVER, example_of, help_of

OUTSIDE = "is outside of the folders that this call may use"
# What names a path, as --help shows it.
PATH_TYPES = {"FILE", "FOLDER", "PATH", "NAME=FILE"}


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    subprocess.run([sys.executable, SOURCE / "tools" / "example.py", folder], check=True, timeout=120)
    return folder


@pytest.fixture
def place(tmp_path, example):
    """root/, which may be used, and outside/, which may not, with links from the one to the other."""
    shutil.copytree(example, tmp_path / "root")
    shutil.copytree(example, tmp_path / "outside")
    root = tmp_path / "root"
    (root / "link.onnx").symlink_to("../outside/tower.onnx")
    (root / "folder").symlink_to("../outside")
    (root / "nowhere").symlink_to("../outside/new")
    (root / "within.onnx").symlink_to("tower.onnx")
    return tmp_path


def state(folder):
    """All that is in a folder, and of which bytes."""
    return {str(path.relative_to(folder)): path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))}


def test_a_path_outside_is_refused_wherever_it_stands(thaw, place):
    """Each argument of each tool that names a path, in every spelling."""
    before = state(place)
    paths = ["../outside/tower.onnx", str(place / "outside" / "tower.onnx"), "folder/tower.onnx", "link.onnx", "folder", "..", "/", "nowhere",
             "checkpoint/../../outside", "/proc/self/environ", "folder/new.onnx"]
    tried, seen = set(), set()
    with Server(thaw, "--root", place / "root", "--write") as server:
        for tool in server.ask("tools/list")["tools"]:
            options, positions = help_of(thaw, tool["name"])
            schema = tool["inputSchema"]
            kinds = {**dict.fromkeys(positions, "FILE"), **options} if tool["name"] != "rule" else options
            required = {name: example_of(schema["properties"][name]) for name in schema["required"]}
            for name, kind in kinds.items():
                if kind not in PATH_TYPES or name in OF_SERVER:
                    continue
                several = schema["properties"][name].get("items", {})
                # All spellings of the first of each kind, the plainest of the others.
                for path in paths if kind not in seen else paths[:1]:
                    value = "x=" + path if kind == "NAME=FILE" else path
                    value = [[value]] if several.get("type") == "array" else [value] if several else value
                    said = server.error(tool["name"], **{**required, name: value})
                    assert said.startswith(f"thaw: {path}: {OUTSIDE}; expected a path in {place / 'root'}"), (tool["name"], name, said)
                seen.add(kind)
                tried.add((tool["name"], name))
    assert len(tried) > 60 and seen == PATH_TYPES
    assert state(place) == before


def test_every_option_that_takes_a_path_says_so(thaw):
    """The kinds of values that the tools know as paths are all there are."""
    with Server(thaw, "--write") as server:
        for tool in server.ask("tools/list")["tools"]:
            for name, kind in help_of(thaw, tool["name"])[0].items():
                assert kind in PATH_TYPES or not re.search("file|folder|path", kind, re.I), (tool["name"], name)


def test_links_within_are_followed(thaw, place):
    with Server(thaw, "--root", place / "root") as server:
        assert server.report("check", model=["within.onnx"])["accepted"]
        assert server.report("check", model=["checkpoint/../tower.onnx", str(place / "root" / "tower.onnx")])["models"][1]["accepted"]


def test_paths_begin_in_the_first_folder_and_may_be_in_any(thaw, place):
    with Server(thaw, "--root", place / "root" / "samples", "--root", place / "root", cwd=place / "outside") as server:
        assert server.report("check", model=["../tower.onnx"])["accepted"]
        assert OUTSIDE in server.error("check", model=["../../outside/tower.onnx"])
        assert "cannot be opened" in server.error("check", model=["tower.onnx"])


def test_the_working_folder_is_used_where_none_is_named(thaw, place):
    with Server(thaw, cwd=place / "root") as server:
        assert server.report("check", model=["tower.onnx"])["accepted"]
        assert OUTSIDE in server.error("check", model=["../outside/tower.onnx"])


def test_a_folder_must_be_one(thaw, place):
    assert "is no folder" in thaw.error("mcp", "--root", place / "none")
    assert "is no folder" in thaw.error("mcp", "--root", place / "root" / "tower.onnx")


def test_what_a_folder_holds_is_judged_too(thaw, place):
    """Models in a folder, samples, settings: none of them is named by the call."""
    many = place / "root" / "many"
    many.mkdir()
    shutil.copy(place / "root" / "tower.onnx", many / "a.onnx")
    (many / "b.onnx").symlink_to(place / "outside" / "tower.onnx")
    (place / "root" / "samples" / "9.npz").symlink_to(next((place / "outside" / "samples").glob("*.npz")))
    with Server(thaw, "--root", place / "root") as server:
        models = {one["model"]: one for one in server.call("check", model=["many"])["structuredContent"]["models"]}
        assert models["many/a.onnx"]["accepted"] and OUTSIDE in models["many/b.onnx"]["error"]["what"]
        assert OUTSIDE in server.error("sensitivity", model="tower.onnx", data="samples", to=["int8-blocks"])
        (place / "outside" / "thaw.toml").write_text("[check]\n")
        (place / "root" / "thaw.toml").symlink_to("../outside/thaw.toml")
        assert OUTSIDE in server.error("check", model=["tower.onnx"])


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_a_checkpoint_of_links_is_judged_too(thaw, place, name):
    """Also where it is the process of ONNX Runtime that reads the file."""
    prompt = {"file": ["photo.jpg"], "for": "checkpoint", "text": "<|vision_start|><|image_pad|><|vision_end|>hi"}
    with Server(thaw, "--root", place / "root") as server:
        assert {"input_ids", "pixel_values"} <= {one["name"] for one in server.report("inputs", **prompt)["arrays"]}
        (place / "root" / "checkpoint" / name).unlink()
        (place / "root" / "checkpoint" / name).symlink_to(place / "outside" / "checkpoint" / name)
        assert f"checkpoint/{name}: {OUTSIDE}" in server.error("inputs", **prompt)


def test_what_a_report_names_is_judged_too(thaw, place):
    thaw("sensitivity", place / "outside" / "tower.onnx", "--data", place / "root" / "samples", "--to", "int8-blocks", "-o", place / "root" / "report", code=0)
    before = state(place)
    with Server(thaw, "--root", place / "root") as server:
        assert OUTSIDE in server.error("plan", report="report", max_bytes=10_000_000)
        plan = server.report("plan", report="report", max_bytes=10_000_000, model="tower.onnx")
        assert plan["output"] is None
    assert state(place) == before


def test_weights_outside_are_refused(thaw, place):
    model = onnx.load(place / "outside" / "tower.onnx")
    onnx.save(model, place / "root" / "external.onnx", save_as_external_data=True, location="external.data", size_threshold=0)
    shutil.move(place / "root" / "external.data", place / "outside" / "external.data")
    with Server(thaw, "--root", place / "root") as server:
        (place / "root" / "external.data").symlink_to("../outside/external.data")
        assert "external.data" in server.error("convert", model="external.onnx", to="f16")
        for tensor in (model := onnx.load(place / "root" / "external.onnx", load_external_data=False)).graph.initializer:
            for entry in tensor.external_data:
                entry.value = "../outside/external.data" if entry.key == "location" else entry.value
        onnx.save(model, place / "root" / "external.onnx")
        assert "external.data" in server.error("convert", model="external.onnx", to="f16")


DRY = [("inspect", {"model": "detector.onnx"}), ("check", {"model": ["detector.onnx"]}), ("diff", {"a": "trace_1x7.onnx", "b": "trace_2x11.onnx"}), ("rule", {}),
       ("fix", {"model": "detector.onnx"}), ("lift", {"trace": ["trace_1x7.onnx", "trace_2x11.onnx", "trace_3x13.onnx"]}), ("batch", {"model": "detector.onnx"}),
       ("optimize", {"model": "detector.onnx"}), ("convert", {"model": "tower.onnx", "to": "f16"}),
       ("sensitivity", {"model": "tower.onnx", "data": "samples", "to": ["int8-blocks"]}), ("pin", {"model": "detector.onnx", "sizes": ["input.1_dim2=64,input.1_dim3=64"]}),
       ("split", {"model": "tower.onnx", "parts": 2}), ("run", {"model": "tower.onnx", "random": True}),
       ("verify", {"model": "tower.onnx", "against": "within.onnx", "points": 1}), ("inputs", {"file": ["photo.jpg"], "for": "qwen2_5_vl"})]


def test_nothing_is_written(thaw, place):
    before = state(place)
    with Server(thaw, "--root", place / "root") as server:
        assert {name for name, _ in DRY} | {"plan"} == {tool["name"] for tool in server.ask("tools/list")["tools"]}
        for name, arguments in DRY:
            report = server.report(name, **arguments)
            assert report.get("output") is None and not report.get("files"), name
            for output in ("output", "report", "in-place", "annotate", "dry-run"):
                if output not in help_of(thaw, name)[0]:
                    continue
                value = "out.onnx" if output in ("output", "report") else output != "dry-run"
                assert "is not for callers of this server" in server.error(name, **{**arguments, output: value})
        assert server.refused("tools/call", name="build", arguments={"checkpoint": "checkpoint"})["code"] == -32602
    assert state(place) == before


def test_a_verb_that_wrote_all_the_same_would_be_stopped(thaw, place):
    """The process of a call writes nothing, whatever the options of the verb say."""
    before = state(place)
    root = place / "root"
    for words in (["fix", "detector.onnx", "-o", "fixed.onnx"], ["fix", "detector.onnx"], ["inspect", "detector.onnx", "--report", "page.html"],
                  ["build", "checkpoint"], ["sensitivity", "tower.onnx", "--data", "samples", "-o", "report"], ["optimize", "detector.onnx", "--in-place"],
                  ["inputs", "photo.jpg", "--for", "qwen2_5_vl"], ["run", "tower.onnx", "--random", "-o", "out.npz"]):
        said = thaw.error("--confined-to=read", "1", root, *words, cwd=root)
        assert "this call writes nothing" in said, said
    assert state(place) == before


def test_with_write_results_are_written_and_only_inside(thaw, place):
    outside = state(place / "outside")
    with Server(thaw, "--root", place / "root", "--write") as server:
        assert server.report("fix", model="detector.onnx")["output"] == "detector.fixed.onnx"
        assert server.report("fix", model="detector.onnx", output="new.onnx", report="fix.html")["files"] == ["new.onnx"]
        assert "is there already" in server.error("fix", model="detector.onnx")
        assert server.report("optimize", model="detector.onnx", dry_run=True)["output"] is None
        assert server.report("optimize", model="new.onnx", in_place=True)["accepted"]
        assert server.report("sensitivity", model="tower.onnx", data="samples", to=["int8-blocks"], output="report")["measured"]
        assert server.report("plan", report="report", max_bytes=10_000_000)["output"] == "report.plan.json"
        assert server.report("build", checkpoint="checkpoint", part="vision")["accepted"]
        made = state(place / "root")
        assert {"detector.fixed.onnx", "new.onnx", "fix.html", "report/report.json", "report.plan.json", "checkpoint.built/vision.onnx"} <= set(made)
        for output in ("../outside/new.onnx", "folder/new.onnx", str(place / "outside" / "new.onnx"), "link.onnx", "nowhere", "nowhere/new.onnx"):
            assert OUTSIDE in server.error("fix", model="detector.onnx", output=output), output
            assert OUTSIDE in server.error("build", checkpoint="checkpoint", output=output), output
        assert state(place / "root") == made
    assert state(place / "outside") == outside


def test_words_of_the_confinement_are_checked(thaw, place):
    for words in (["--confined-to=read"], ["--confined-to=read", "2", "."], ["--confined-to=read", "0", "check"], ["--confined-to=read", "x", ".", "check"],
                  ["--confined-to=read", "-1", ".", "check"], ["--confined-to=all", "1", ".", "check"], ["--confined-to=write", "1", "none", "check"]):
        thaw.error(*words, cwd=place / "root")
    # The first counts.
    assert "--confined-to=write" in thaw.error("--confined-to=read", "1", ".", "--confined-to=write", "1", "/", "check", "/etc/passwd", cwd=place / "root")


def test_a_confined_call_computes_what_any_computes(thaw, place):
    with Server(thaw, "--root", place / "root") as server:
        confined = server.report("verify", model="tower.onnx", against="within.onnx", points=2)
    free = thaw.json("verify", "tower.onnx", "--against", "within.onnx", "--points", 2, cwd=place / "root")
    assert confined["accepted"] and confined["points"]
    assert [point["sizes"] for point in confined["points"]] == [point["sizes"] for point in free["points"]]
