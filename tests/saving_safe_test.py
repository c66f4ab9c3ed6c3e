"""What a model's author writes into the file never says where Thaw writes, and no file is lost to a wrong call."""
import os
import zipfile

import numpy as np
import pytest

from check_rules_test import F, model, node
from conftest import session
from models.weighted import locations_of, made, written

FEEDS = {"x": np.random.default_rng(3).standard_normal((2, 11, 12), dtype=np.float32)}


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def frozen(folder, locations, name="m.onnx", **how):
    return written(made(1, batched=True), folder / name, locations, **how)


def answers(path):
    return session(path).run(None, FEEDS)[0]


@pytest.mark.parametrize("locations", [["numpy.py"], [".profile", ".profile"], ["sub/w.bin", "v.py"], ["fixed.onnx"], ["w.json", "a b"]])
def test_data_elsewhere_is_named_after_the_model(thaw, tmp_path, locations):
    source = frozen(tmp_path / "evil", locations)
    out = tmp_path / "out" / "fixed.onnx"
    out.parent.mkdir()
    report = thaw.json("fix", source, "-o", out, code=0)
    names = ["fixed.onnx", "fixed.onnx.data", "fixed.onnx.1.data"][:1 + len(set(locations))]
    assert sorted(os.listdir(out.parent)) == sorted(names)
    assert report["output"] == str(out) and report["files"] == [str(out), *sorted((str(out.parent / n) for n in names[1:]), key=len)]
    assert np.array_equal(answers(out), answers(source))
    text = thaw("fix", source, "-o", out, code=0).stdout
    assert f"wrote {out}\n" in text
    assert sorted(os.listdir(out.parent)) == sorted(names)  # the same data stays


def test_every_file_is_reported(thaw, tmp_path):
    source = written(made(1), tmp_path / "in" / "m.onnx", ["w.bin", "w.bin"])
    out = tmp_path / "out.onnx"
    lines = thaw("batch", source, "-o", out, code=0).stdout.splitlines()
    assert lines[-2:] == [f"wrote {out}", f"wrote {out}.data"]
    assert thaw.json("batch", source, "-o", tmp_path / "two.onnx", code=0)["files"] == [str(tmp_path / f"two.onnx{e}") for e in ("", ".data")]


def test_files_of_others_are_left(thaw, tmp_path):
    source, out = frozen(tmp_path / "in", ["w.bin", "w.bin"]), tmp_path / "out"
    out.mkdir()
    (out / "m.onnx.data").write_text("mine")
    thaw("fix", source, "-o", out / "m.onnx", code=0)
    assert (out / "m.onnx.data").read_text() == "mine" and locations_of(out / "m.onnx") == {"m.onnx.1.data"}
    assert np.array_equal(answers(out / "m.onnx"), answers(source))


def test_data_that_another_model_uses_stays(thaw, tmp_path):
    source = frozen(tmp_path, ["m.onnx.data", "m.onnx.data"])
    other = tmp_path / "other.onnx"
    other.write_bytes(source.read_bytes())
    before = answers(other)
    thaw("fix", source, "-o", source, "--in-place", "--external", "single", code=0)
    assert np.array_equal(answers(other), before) and locations_of(source) == {"m.onnx.1.data"}
    other.unlink()
    source.write_bytes(made(1, batched=True).SerializeToString())
    thaw("fix", source, "-o", source, "--in-place", "--external", "single", code=0)
    assert np.array_equal(answers(source), before)


def test_a_linked_folder_beside_the_output_is_not_followed(thaw, tmp_path):
    source = frozen(tmp_path / "in", ["sub/w.bin"])
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path / "elsewhere")
    thaw("fix", source, "-o", tmp_path / "out" / "m.onnx", code=0)
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("verb", ["fix", "batch", "lift"])
@pytest.mark.parametrize("output", ["in/w.bin", "in/../in/w.bin", "in/gone.bin", "out/", "out", "out/."])
def test_paths_that_would_lose_data_are_refused(thaw, tmp_path, verb, output):
    source = frozen(tmp_path / "in", ["w.bin", "gone.bin"])
    if verb == "lift":
        written(made(1, batched=True), tmp_path / "in" / "n.onnx", ["w.bin", "gone.bin"])
    if "gone" in output:
        (tmp_path / "in" / "gone.bin").unlink()
    (tmp_path / "out").mkdir()
    before = contents(tmp_path)
    traces = [source, *([tmp_path / "in" / "n.onnx"] if verb == "lift" else [])]
    message = thaw.error(verb, *traces, "-o", f"{tmp_path}/{output}")
    assert "names a folder" in message if output.startswith("out") else "holds the weights" in message
    assert contents(tmp_path) == before


def test_run_refuses_the_models_data_too(thaw, tmp_path):
    source = written(made(1), tmp_path / "m.onnx", ["w.npz", "w.npz"])
    before = contents(tmp_path)
    assert "holds the weights" in thaw.error("run", source, "--random", "-o", tmp_path / "w.npz")
    assert contents(tmp_path) == before


def test_a_report_over_the_models_data_is_refused(thaw, tmp_path):
    source = written(made(1), tmp_path / "m.onnx", ["w.json", "w.json"])
    before = contents(tmp_path)
    message = thaw.error("batch", source, "-o", tmp_path / "out.onnx", "--report", tmp_path / "w.json")
    assert "report" in message and contents(tmp_path) == before


@pytest.mark.parametrize("bit", [0o4000, 0o2000])
def test_a_file_with_a_set_user_id_bit_is_not_replaced(thaw, tmp_path, bit):
    source, out = frozen(tmp_path, ["w.bin"]), tmp_path / "out.onnx"
    out.write_text("kept")
    out.chmod(0o755 | bit)
    assert "set-user-id" in thaw.error("fix", source, "-o", out)
    assert out.read_text() == "kept"


@pytest.mark.parametrize("name", ["../../../evil", "a/../b", "..", "a\\..\\b"])
def test_arrays_are_not_unpacked_elsewhere(thaw, save, tmp_path, name):
    path = save(model([node("Relu", ["x"], name)], [("x", F, [2])], [(name, F, [2])]))
    assert "unpacked outside" in thaw.error("run", path, "--random", "-o", tmp_path / "out.npz")
    assert not (tmp_path / "out.npz").exists()


def test_names_with_dots_and_slashes_are_arrays(thaw, save, tmp_path):
    path = save(model([node("Relu", ["x"], "/model/a..b/Relu_output_0")], [("x", F, [2])], [("/model/a..b/Relu_output_0", F, [2])]))
    thaw("run", path, "--random", "-o", tmp_path / "out.npz", code=0)
    assert zipfile.ZipFile(tmp_path / "out.npz").namelist() == ["/model/a..b/Relu_output_0.npy"]


@pytest.mark.parametrize("key", ["location", "offset", "length"])
def test_two_entries_of_one_key_are_refused(thaw, tmp_path, key):
    source = frozen(tmp_path, ["w.bin"], entries=[(key, "0")])
    assert f"two entries '{key}'" in thaw.error("inspect", source)


def test_names_that_turn_the_writing_are_escaped(thaw, save):
    name = "a\u202eb\u0085c"
    path = save(model([node("Relu", [name], "y")], [(name, F, [2])], [("y", F, [2])]))
    for arguments in ([], ["--format", "json"]):
        text = thaw("inspect", path, *arguments, code=0).stdout
        assert "\u202e" not in text and "\u0085" not in text and "\\u202e" in text
    assert thaw.json("inspect", path)["inputs"][0]["name"] == name
