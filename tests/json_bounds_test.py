"""Each JSON file that a verb reads, in shapes that a stranger may give it: one sentence, in little memory and time."""
import json
import os
import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import SOURCE, limits

LIMIT = limits(memory=1 << 30, seconds=10)
TOKENIZER = SOURCE / "tests" / "fixtures" / "inputs" / "tokenizer"


def repeated(text, size):
    """A writer of that text over and over, without a Python string of all of it."""
    def write(path):
        with path.open("w") as file:
            for _ in range(size // (len(text) << 16) + 1):
                file.write(text * (1 << 16))
    return write


def text(content):
    return lambda path: path.write_text(content) if isinstance(content, str) else path.write_bytes(content)


SHAPES = {
    "empty": text(""),
    "no_json": text("words"),
    "cut_off": text('{"a": [1, 2'),
    "a_list": text("[1, 2]"),
    "a_number": text("7"),
    "no_utf8": text(b'{"a": "\xff\xfe"}'),
    "deep_lists": text('{"default": ' + "[" * 52000 + "]" * 52000 + "}"),
    "deep_objects": text('{"nodes":' * 100000 + "1" + "}" * 100000),
    "brackets": repeated("[", 20 << 20),
    "many_values": lambda path: (repeated("[],", 30 << 20)(path), path.write_text('{"a":[' + path.read_text() + "1]}")),
    "more_than_64_mib": lambda path: (path.write_text("{}"), os.truncate(path, (64 << 20) + 1)),
    "no_end": lambda path: path.symlink_to("/dev/zero"),
    "a_fifo": lambda path: os.mkfifo(path),
    "a_folder": lambda path: path.mkdir(),
    "missing": lambda path: None,
}


def product(path):
    weight = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 64])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def plan_of_convert(folder):
    return folder / "plan.json", ["convert", product(folder / "m.onnx"), "-o", folder / "out", "--plan", folder / "plan.json"]


def report_of_plan(folder):
    return folder / "report.json", ["plan", folder / "report.json", "--max-bytes", "1M", "-o", folder / "out"]


def report_to_merge(folder):
    (folder / "one").mkdir()
    return folder / "one" / "report.json", ["sensitivity", "merge", folder / "one", "-o", folder / "out"]


def config_of_build(folder):
    (folder / "checkpoint").mkdir()
    return folder / "checkpoint" / "config.json", ["build", folder / "checkpoint", "-o", folder / "out"]


def values_of_lift(folder):
    model = product(folder / "m.onnx")
    return folder / "values.json", ["lift", model, model, "-o", folder / "out", "--trace-values", folder / "values.json"]


def of_tokenizer(name):
    def prepare(folder):
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(TOKENIZER / file, folder)
        (folder / "config.json").write_text('{"model_type": "qwen2"}')
        (folder / name).unlink(missing_ok=True)
        return folder / name, ["inputs", "--for", folder, "--text", "words", "-o", folder / "out"]
    prepare.__name__ = name.replace(".", "_")
    return prepare


FILES = [plan_of_convert, report_of_plan, report_to_merge, config_of_build, values_of_lift, of_tokenizer("tokenizer.json"),
         of_tokenizer("tokenizer_config.json"), of_tokenizer("config.json")]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.__name__)
def test_a_file_of_json_is_read_within_bounds(thaw, tmp_path, file, shape):
    path, call = file(tmp_path)
    SHAPES[shape](path)
    line = thaw.error(*call, timeout=60, preexec_fn=LIMIT)
    assert "json.exception" not in line and "internal" not in line and "basic_filebuf" not in line, line
    assert not (tmp_path / "out").exists()


def test_memory_that_is_allowed_is_held(thaw, tmp_path):
    path, call = plan_of_convert(tmp_path)
    path.write_text(json.dumps({"nodes": list(range(1_000_000))}))
    assert "max-memory" in thaw.error(*call, "--max-memory", "32M")


@pytest.mark.parametrize("shape", SHAPES)
def test_lines_of_a_journal_that_are_none_are_measured_again(thaw, tmp_path, shape):
    """What is no file of lines is refused; a line that is none is passed over, and stays."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "samples.npz", x=rng.standard_normal((3, 64)).astype(np.float32))
    out = tmp_path / "report"
    out.mkdir()
    call = ["sensitivity", product(tmp_path / "m.onnx"), "--data", tmp_path / "samples.npz", "-o", out, "--resume"]
    SHAPES[shape](out / "measured.jsonl")
    if shape in ("no_end", "a_fifo", "a_folder"):
        assert "regular file" in thaw.error(*call, timeout=60)
    else:
        report = thaw.json(*call, timeout=60, code=0)
        assert report["measured"] == 1


def test_a_journal_is_written_to_its_own_name_alone(thaw, tmp_path):
    np.savez(tmp_path / "samples.npz", x=np.ones((3, 64), np.float32))
    call = ["sensitivity", product(tmp_path / "m.onnx"), "--data", tmp_path / "samples.npz", "-o"]
    for make in (lambda path, of: path.symlink_to(of), lambda path, of: os.link(of, path)):
        for more in ([], ["--resume"]):
            precious = tmp_path / "precious"
            precious.write_text("what nobody may write to\n")
            out = tmp_path / f"report{len(list(tmp_path.iterdir()))}"
            out.mkdir()
            make(out / "measured.jsonl", precious)
            run = thaw(*call, out, *more, code={0, 2})
            assert precious.read_text() == "what nobody may write to\n", run.stderr


SAMPLES = ("mse", "cosine", "kl", "nsr")


def report_of(thaw, folder):
    np.savez(folder / "samples.npz", x=np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32))
    thaw("sensitivity", product(folder / "m.onnx"), "--data", folder / "samples.npz", "-o", folder / "made", code=0)
    return json.loads((folder / "made" / "report.json").read_text())


def test_what_is_wrong_in_a_report_is_named(thaw, tmp_path):
    report = report_of(thaw, tmp_path)
    changes = [
        (lambda r: r.pop("model"), "'model' is missing"),
        (lambda r: r.update(seed=-1), "seed: it is -1"),
        (lambda r: r.update(weight_bytes=4e42), "weight_bytes: it is 4e+42"),
        (lambda r: r.update(weight_bytes=1 << 63), "weight_bytes: it is 9223372036854775808, more than any file holds"),
        (lambda r: r.update(weight_bytes=1), "bytes_saved: it is "),
        (lambda r: r["uniform"][0].update(bytes_saved=r["weight_bytes"] + 1), f"uniform[0].bytes_saved: it is {report['weight_bytes'] + 1}, and all weights have"),
        (lambda r: r["units"][0]["errors"][0].update(bytes_saved=(1 << 63) - 1), "errors[0].bytes_saved: it is 9223372036854775807, and all weights have"),
        (lambda r: r.update(precisions=r["precisions"] * 300, uniform=r["uniform"] * 300), "precisions: there are 300 of them, and 255 at most"),
        (lambda r: r.update(metric="words"), "metric: it is \"words\""),
        (lambda r: r["uniform"].append(r["uniform"][0]), "uniform: there are 2 of them, and 1 precisions"),
        (lambda r: r["units"][0]["errors"][0].update(precision=7), "precision: it is 7, and there are 1"),
        (lambda r: r["units"][0]["errors"].append(r["units"][0]["errors"][0]), "is listed twice"),
        (lambda r: r["units"][0]["errors"][0]["one_at_a_time"].update(samples={"mse": [1]}), "samples: 'cosine' is missing"),
        (lambda r: r["units"][0]["errors"][0]["one_at_a_time"].update(samples={key: [0, 0] for key in SAMPLES}), "figures of 2 samples, and 1 samples"),
        (lambda r: r["units"][0]["errors"][0]["one_at_a_time"].update(samples={key: [-5] for key in SAMPLES}), "is -5, no figure of an error"),
        (lambda r: r["units"][0].update(nodes="product"), "units[0].nodes: it is no list"),
        (lambda r: r["precisions"][0].update(accuracy_level=1 << 40), "'accuracy_level' is 1099511627776"),
    ]
    for change, words in changes:
        changed = json.loads(json.dumps(report))
        change(changed)
        (tmp_path / "report.json").write_text(json.dumps(changed))
        line = thaw.error("plan", tmp_path / "report.json", "--max-bytes", "1M", "-o", tmp_path / "plan.json")
        assert words in line, line


def test_a_cell_is_no_formula(thaw, tmp_path):
    model = onnx.load(product(tmp_path / "m.onnx"))
    for first in "=+-@":
        model.graph.node[0].name = f"{first}cmd|' /C calc'!A0"
        onnx.save(model, tmp_path / "n.onnx")
        np.savez(tmp_path / "samples.npz", x=np.ones((3, 64), np.float32))
        thaw("sensitivity", tmp_path / "n.onnx", "--data", tmp_path / "samples.npz", "-o", tmp_path / "made", code=0)
        rows = (tmp_path / "made" / "errors.csv").read_text().splitlines()[1:]
        assert rows and all(row.startswith("\"'" + first) for row in rows)
