"""Every option that names a file to write × every file that the call reads: no input is written over, by whatever name."""
import json
import os
import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import SOURCE

FIXTURES = SOURCE / "tests" / "fixtures" / "inputs"


def product(path, rows="rows", out=None):
    """A model whose weight lies in a file of its own."""
    values = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["h"], "product"), helper.make_node("Relu", ["h"], ["y"])],
                              "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [out or rows, 64])],
                              [numpy_helper.from_array(values, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path, save_as_external_data=True, location=f"{path.stem}.data", size_threshold=0)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory, thaw):
    """The files that calls read."""
    folder = tmp_path_factory.mktemp("made")
    product(folder / "m.onnx")
    product(folder / "f.onnx", out="other")
    for size in (2, 3, 5):
        product(folder / f"t{size}.onnx", size)
    rng = np.random.default_rng(1)
    (folder / "samples").mkdir()
    for i in range(2):
        np.savez(folder / "samples" / f"{i}.npz", x=rng.standard_normal((3, 64)).astype(np.float32))
    np.save(folder / "x.npy", rng.standard_normal((3, 64)).astype(np.float32))
    x = rng.standard_normal((3, 64)).astype(np.float32)
    weight = numpy_helper.to_array(onnx.load(folder / "m.onnx").graph.initializer[0])
    np.savez(folder / "reference.npz", x=x, y=np.maximum(x @ weight, 0))
    (folder / "plan.json").write_text(json.dumps({"default": "int8-blocks"}))
    (folder / "values.json").write_text(json.dumps({f"t{size}.onnx": {} for size in (2, 3, 5)}))
    shutil.copy(FIXTURES / "tone.wav", folder / "tone.wav")
    for shard in (1, 2):
        thaw("sensitivity", folder / "m.onnx", "--data", folder / "samples", "-o", folder / f"report{shard}", code=0)
    return folder


WEIGHTS = ["m.onnx", "m.data"]
TRACES = [f"t{size}.{ending}" for size in (2, 3, 5) for ending in ("onnx", "data")]
SAMPLES = ["samples/0.npz", "samples/1.npz"]
PAGE = ("--report", "page.html")
# The call, the files that it reads, and its options that name a file to write: the name that the file has then, in a folder
# where the option is given that.
CALLS = {
    "inspect": (["inspect", "m.onnx"], WEIGHTS, [PAGE]),
    "annotate": (["inspect", "m.onnx", "--annotate"], WEIGHTS, [("-o", "o.onnx")]),
    "diff": (["diff", "m.onnx", "t2.onnx"], WEIGHTS + TRACES[:2], [PAGE]),
    "check": (["check", "m.onnx"], WEIGHTS, [PAGE, ("--report", "page.json")]),
    "fix": (["fix", "f.onnx", "--no-check"], ["f.onnx", "f.data"], [("-o", "o.onnx"), PAGE]),
    "fix_reference": (["fix", "t2.onnx", "--reference", "reference.npz"], [*TRACES[:2], "reference.npz"], [("-o", "o.onnx")]),
    "batch": (["batch", "m.onnx", "--no-check"], WEIGHTS, [("-o", "o.onnx"), PAGE]),
    "lift": (["lift", "t2.onnx", "t3.onnx", "t5.onnx", "--trace-values", "values.json"], [*TRACES, "values.json"],
             [("-o", "o.onnx"), PAGE]),
    "optimize": (["optimize", "m.onnx", "--no-check"], WEIGHTS, [("-o", "o.onnx"), PAGE]),
    "convert": (["convert", "m.onnx", "--plan", "plan.json", "--data", "samples"], [*WEIGHTS, "plan.json", *SAMPLES],
                [("-o", "o.onnx"), PAGE]),
    "pin": (["pin", "m.onnx", "--sizes", "rows=3", "--no-check"], WEIGHTS, [("-o", "o.onnx"), PAGE]),
    "split": (["split", "m.onnx", "--parts", "2", "--no-check"], WEIGHTS,
              [("-o FOLDER", "part_1.onnx"), ("-o FOLDER", "part_2.onnx"), PAGE]),
    "sensitivity": (["sensitivity", "m.onnx", "--data", "samples"], [*WEIGHTS, *SAMPLES],
                    [("-o FOLDER", "report.json"), ("-o FOLDER", "errors.csv"), ("-o FOLDER", "report.html")]),
    "merge": (["sensitivity", "merge", "report1", "report2"], ["report1/report.json", "report2/report.json"],
              [("-o FOLDER", "report.json"), ("-o FOLDER", "errors.csv")]),
    "plan": (["plan", "report1", "--max-bytes", "1M"], ["report1/report.json", "m.onnx"], [("-o", "plan.json")]),
    "inputs": (["inputs", "tone.wav", "--for", "qwen3_asr"], ["tone.wav"], [("-o", "o.npz")]),
    "run": (["run", "m.onnx", "--input", "x=x.npy"], [*WEIGHTS, "x.npy"], [("-o", "o.npz")]),
    "verify": (["verify", "m.onnx", "--against", "t2.onnx", "--sizes", "rows=2"], WEIGHTS + TRACES[:2], [PAGE]),
}
CASES = [(call, read, option) for call, (_, files, options) in CALLS.items() for option in range(len(options))
         for read in files]


def bytes_of(paths):
    return {path: path.read_bytes() for path in paths if path.is_file()}


def in_folder(words, folder):
    """The call, its files those of the folder."""
    return [folder / word if (folder / word).exists() else f"x={folder / 'x.npy'}" if word == "x=x.npy" else word
            for word in words]


def rename_data(model, name):
    """Gives the file of a model's weights another name, which the model knows."""
    loaded = onnx.load(model, load_external_data=False)
    for tensor in loaded.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                (model.parent / entry.value).rename(model.parent / name)
                entry.value = name
    onnx.save(loaded, model)


@pytest.fixture
def target_of(made, tmp_path):
    """The folder of the call's files, and the file that it reads by the name that the option wants."""
    links = []

    def make(read, name):
        if read.endswith(".data"):  # weights have one name only
            shutil.copytree(made, tmp_path / "copy")
            rename_data(tmp_path / "copy" / read.replace(".data", ".onnx"), name)
            return tmp_path / "copy", tmp_path / "copy" / name
        (tmp_path / "links").mkdir()
        links.append(tmp_path / "links" / name)
        os.link(made / read, links[0])
        return made, links[0]

    yield make
    for link in links:
        link.unlink()


@pytest.mark.parametrize(("call", "read", "option"), CASES, ids=lambda part: str(part).replace("/", "_"))
def test_no_input_is_written_over(thaw, target_of, tmp_path, call, read, option):
    words, _, options = CALLS[call]
    given, name = options[option]
    folder, target = target_of(read, name)
    before, inode = bytes_of(folder.rglob("*")), target.stat().st_ino
    option, *is_folder = given.split()
    out = [] if option != "--report" or call in ("inspect", "check", "diff", "verify") else ["-o", tmp_path / "out"]
    run = thaw(*in_folder(words, folder), *out, option, target.parent if is_folder else target)
    assert bytes_of(before) == before and target.stat().st_ino == inode, f"{run.returncode}: {run.stdout}{run.stderr}"
    lines = run.stderr.splitlines()
    assert run.returncode == 2 and len(lines) == 1, run.stderr
    assert any(words in lines[0] for words in ("would be replaced", "would replace", "holds the weights")), lines


@pytest.mark.parametrize("way", ["itself", "a_link_to_its_folder", "a_link_to_it"])
@pytest.mark.parametrize("call", [call for call, (_, _, options) in CALLS.items() if options[0][0] == "-o"])
def test_nor_by_its_own_name_or_a_link(thaw, made, tmp_path, call, way):
    words, files, _ = CALLS[call]
    (tmp_path / "folder").symlink_to(made)
    before = bytes_of(made.rglob("*"))
    for read in files:
        link = tmp_path / read.replace("/", "_")
        link.symlink_to(made / read)
        target = {"itself": made / read, "a_link_to_its_folder": tmp_path / "folder" / read, "a_link_to_it": link}[way]
        run = thaw(*in_folder(words, made), "-o", target, code=2)
        assert bytes_of(before) == before, run.stderr
        assert len(run.stderr.splitlines()) == 1, run.stderr




@pytest.mark.parametrize("call", CALLS)
def test_the_call_itself_is_right(thaw, made, tmp_path, call):
    """Else all of the above would hold of a call that is refused for something else."""
    words, _, options = CALLS[call]
    option, *is_folder = options[0][0].split()
    target = tmp_path / ("out" if is_folder else options[0][1])
    thaw(*in_folder(words, made), option, target, code={0, 1})
    assert target.exists()
