"""Where a result goes that no -o names: beside the input, and never over a file that is there; --in-place; --dry-run."""

import json
import shutil

import numpy as np
import onnx
import onnx.parser
import pytest

from conftest import run

MODEL = """<ir_version: 9, opset_import: ["" : 21]>
net (float[1,4,height,width] x) => (float[1,4,height,width] y) {
  same = Identity(x)
  r = Conv(same, w)
  shape = Shape(r)
  y = Reshape(r, shape)
}"""
WEIGHT = onnx.numpy_helper.from_array(2 * np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1), "w")
FROZEN = """<ir_version: 9, opset_import: ["" : 21]>
net (float[1,height,8] x) => (float[rows,8] y) {
  shape = Constant<value_ints=[4,8]>()
  r = Relu(x)
  y = Reshape(r, shape)
}"""
TRACES = {"a_4x6": (4, 6), "b_6x4": (6, 4), "c_9x5": (9, 5)}

# verb, arguments after the model, and the name that the result gets beside model.onnx.
DEFAULTS = [
    ("inspect", ["--annotate"], "model.annotated.onnx"),
    ("batch", [], "model.batched.onnx"),
    ("optimize", [], "model.optimized.onnx"),
    ("convert", ["--to", "f16"], "model.f16.onnx"),
    ("convert", ["--to", "FP16"], "model.f16.onnx"),
    ("convert", ["--to", "bf16", "--no-check"], "model.bf16.onnx"),
    ("pin", ["--sizes", "height=4,width=6"], "model.pinned.onnx"),
    ("split", ["--at", "r"], "model.split"),
    ("split", ["--outputs", "r"], "model.split.onnx"),
]
WRITERS = [
    ("fix", "frozen.onnx", ["--no-check"]),
    ("batch", "model.onnx", []),
    ("optimize", "model.onnx", []),
    ("convert", "model.onnx", ["--to", "f16"]),
    ("pin", "model.onnx", ["--sizes", "height=4,width=6"]),
    ("pin", "model.onnx", ["--sizes", "height=4|6,width=6"]),
    ("split", "model.onnx", ["--at", "r"]),
    ("split", "model.onnx", ["--outputs", "r"]),
    ("lift", "a_4x6.onnx", ["b_6x4.onnx", "c_9x5.onnx"]),
]


@pytest.fixture
def folder(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    made = onnx.parser.parse_model(MODEL)
    made.graph.initializer.append(WEIGHT)
    onnx.save(made, models / "model.onnx")
    onnx.save(onnx.parser.parse_model(FROZEN), models / "frozen.onnx")
    for name, (height, width) in TRACES.items():
        text = f"""<ir_version: 9, opset_import: ["" : 17]>
        net (float[1,{height},{width}] x) => (float[{height},{width}] y) {{
          shape = Constant<value_ints=[{height},{width}]>()
          y = Reshape(x, shape)
        }}"""
        onnx.save(onnx.parser.parse_model(text), models / f"{name}.onnx")
    return models


def listing(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("verb, words, name", DEFAULTS, ids=lambda value: value if isinstance(value, str) else " ".join(value))
def test_the_result_stands_beside_the_input(thaw, folder, verb, words, name):
    # From another folder: beside the input is not the working folder.
    text = thaw(verb, folder / "model.onnx", *words, code=0, cwd=folder.parent).stdout
    assert str(folder / name) in text and (folder / name).exists()
    before = listing(folder)
    line = thaw.error(verb, folder / "model.onnx", *words)
    assert str(folder / name) in line and "-o" in line and listing(folder) == before
    if verb != "split":
        assert "--in-place" in line


def test_fix_and_lift(thaw, folder):
    text = thaw("fix", folder / "frozen.onnx", "--no-check", code={0, 1}).stdout
    assert ("frozen.fixed.onnx" in text) == (folder / "frozen.fixed.onnx").exists()
    thaw("lift", *(folder / f"{name}.onnx" for name in TRACES), code=0)
    assert (folder / "a_4x6.lifted.onnx").exists()


def test_a_link_that_leads_nowhere_is_there(thaw, folder):
    (folder / "model.optimized.onnx").symlink_to("nowhere.onnx")
    assert "is there already" in thaw.error("optimize", folder / "model.onnx")


def test_a_name_with_dots_and_the_working_folder(thaw, folder):
    shutil.copy(folder / "model.onnx", folder / "net.v1.2.onnx")
    thaw("optimize", "net.v1.2.onnx", code=0, cwd=folder)
    assert (folder / "net.v1.2.optimized.onnx").exists()


def test_in_place_suffices(thaw, folder):
    model = folder / "model.onnx"
    before = listing(folder)
    thaw("optimize", model, "--in-place", code=0)
    assert set(listing(folder)) == set(before)
    assert len(onnx.load(model).graph.node) < 4
    x = np.ones((1, 4, 3, 5), np.float32)
    np.testing.assert_array_equal(run(model, {"x": x})[0], 2 * x)


def test_in_place_does_not_choose_a_trace(thaw, folder):
    before = listing(folder)
    assert "-o TRACE" in thaw.error("lift", *(folder / f"{name}.onnx" for name in TRACES), "--in-place")
    assert listing(folder) == before


@pytest.mark.parametrize("verb, model, words", WRITERS, ids=lambda value: value if isinstance(value, str) else " ".join(value))
def test_a_dry_run_does_all_but_write(thaw, folder, verb, model, words):
    """What it says is what the run says that writes, but for the files."""
    before = listing(folder)
    words = [folder / word if word.endswith(".onnx") else word for word in words]
    out = ["-o", folder.parent / "out"] if verb == "split" and "--at" in words else ["-o", folder.parent / "out.onnx"]
    text = thaw(verb, folder / model, *words, "--dry-run", code={0, 1}).stdout
    assert text.endswith("nothing was written\n")
    dry = thaw(verb, folder / model, *words, "--dry-run", "--format", "json", code={0, 1})
    named = thaw(verb, folder / model, *words, *out, "--dry-run", "--format", "json", code={0, 1})
    assert listing(folder) == before and sorted(path.name for path in folder.parent.iterdir()) == ["models"]
    wet = thaw(verb, folder / model, *words, *out, "--format", "json", code={0, 1})
    assert dry.returncode == named.returncode == wet.returncode

    def rest(run):
        report = json.loads(run.stdout)
        for key in ("output", "files", "load_check"):
            report.pop(key, None)
        for one in report.get("models", []):
            one.pop("output", None)
        return report

    assert rest(dry) == rest(named) == rest(wet)


def test_several_points_are_several_models(thaw, folder):
    line = thaw.error("pin", folder / "model.onnx", "--sizes", "height=4|6,width=6")
    assert "2 models" in line and "-o" in line
    for words in (["height=4|6,width=6..8:2"], ["height=4,width=6..8:2; height=6,width=6|8"],
                  ["height=4,width=6", "height=4,width=8", "height=6,width=6", "height=6,width=8"]):
        out = folder.parent / "pinned"
        out.mkdir()
        thaw("pin", folder / "model.onnx", *(word for text in words for word in ("--sizes", text)), "-o", out / "m.onnx", code=0)
        assert sorted(path.name for path in out.iterdir()) == [
            f"m_height-{h}_width-{w}.onnx" for h in (4, 6) for w in (6, 8)]
        shutil.rmtree(out)


@pytest.mark.parametrize("text", ["height=4..", "height=1..1000000,width=6", "height*width<=64", "height=width",
                                  "height=1..60,width=1..60", "height=9223372036854775806..9223372036854775807,width=1..63,x=1..3"])
def test_points_that_nobody_means_are_refused(thaw, folder, text):
    line = thaw.error("pin", folder / "model.onnx", "--sizes", text, "-o", folder.parent / "m.onnx", timeout=20)
    assert "--sizes" in line
