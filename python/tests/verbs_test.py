"""Each verb is the command's: the same JSON, and the model that was given is as it was."""
import json
import threading

import numpy as np
import onnx
import onnxruntime
import pytest

import onnx_thaw as thaw
from conftest import frozen, mlp, model, numbers, python


def same(result, printed, *left_out):
    ours = json.loads(result.to_json())
    for key in ("files", "output", "model", "reference", "load_check", "seconds", *left_out):
        ours.pop(key, None)
        printed.pop(key, None)
    assert ours == printed


CASES = {
    "check": (frozen, lambda p: thaw.check(p), ["check"]),
    "check sizes": (mlp, lambda p: thaw.check(p, sizes={"batch": range(1, 9), "seq": "1..64:3"}), ["check", "--sizes", "batch=1..8,seq=1..64:3"]),
    "inspect": (mlp, lambda p: thaw.inspect(p, sizes={"batch": 2}, tensors=True), ["inspect", "--sizes", "batch=2", "--tensors"]),
    "fix": (frozen, lambda p: thaw.fix(p), ["fix", "--dry-run"]),
    "check all targets": (mlp, lambda p: thaw.check(p, target="all"), ["check", "--target", "all"]),
    "optimize for a target": (mlp, lambda p: thaw.optimize(p, target="webgpu", check=False), ["optimize", "--dry-run", "--target", "webgpu", "--no-check"]),
    "fix less": (frozen, lambda p: thaw.fix(p, keep_sizes=True, check=False), ["fix", "--dry-run", "--keep-sizes", "--no-check"]),
    "optimize": (mlp, lambda p: thaw.optimize(p, level="clean"), ["optimize", "--dry-run", "--level", "clean"]),
    "convert": (mlp, lambda p: thaw.convert(p, to="int4", block=16), ["convert", "--dry-run", "--to", "int4", "--block", "16"]),
    "convert f16": (mlp, lambda p: thaw.convert(p, to="fp16", io="convert"), ["convert", "--dry-run", "--to", "f16", "--io", "convert"]),
    "pin": (mlp, lambda p: thaw.pin(p, sizes={"batch": 2, "seq": 5}), ["pin", "--dry-run", "--sizes", "batch=2,seq=5"]),
    "batch": (lambda: model("g (float[n, 4] x) => (float[n, 4] y) { y = Softmax(x) }"), lambda p: thaw.batch(p, new_axis=True),
              ["batch", "--dry-run", "--new-axis"]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_verb_says_what_the_command_says(save, command, case):
    make, call, args = CASES[case]
    path = save(make(), "m")
    before = path.read_bytes()
    given = thaw.load(path)
    result = call(given)
    verb, *options = args
    printed = command(verb, path, *options)
    if "files" in printed and verb == "check":
        printed = printed["files"][0]
    same(result, printed)
    assert str(result)
    assert given.serialize() == thaw.load(path).serialize() and path.read_bytes() == before


def test_results_have_the_model_and_save_it(save, tmp_path):
    path = save(frozen(), "m")
    fixed = thaw.fix(path)
    assert fixed.accepted and fixed.modified and fixed.changed[0].kind == "THAW010"
    out = tmp_path / "fixed.onnx"
    assert fixed.save(out) == [out]
    x = {"x": numbers(1, 3, 7, 5)}
    wanted = x["x"].transpose(0, 2, 3, 1).reshape(1, -1, 3)
    np.testing.assert_array_equal(onnxruntime.InferenceSession(out).run(None, x)[0], wanted)
    np.testing.assert_array_equal(thaw.run(fixed.model, x).outputs["y"], wanted)
    assert thaw.verify(fixed.model, path, sizes="").accepted
    assert not thaw.diff(path, out).accepted and thaw.diff(out, fixed.model).equal


def test_what_is_not_accepted_is_not_saved(tmp_path):
    broken = model("g (float[n] x) => (float[n] y) { e = Exp(x) y = Mul(e, big) }", big=np.float32(1e30))
    refused = thaw.convert(broken, to="f16", keep="*")
    assert not refused.accepted and refused.failures
    with pytest.raises(thaw.Refused) as caught:
        refused.save(tmp_path / "no.onnx")
    assert caught.value.result is refused and "nothing was converted" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_models_are_taken_as_other_libraries_have_them(save):
    proto = mlp()
    path = save(proto, "m")
    kinds = [path, str(path), path.read_bytes(), proto, thaw.load(path)]
    found = [thaw.inspect(kind).outputs[0].dims for kind in kinds]
    assert found == [["batch", "seq", "32"]] * len(kinds)
    back = thaw.load(path).to_proto()
    assert isinstance(back, onnx.ModelProto) and back.graph == proto.graph
    with pytest.raises(TypeError, match="a model is a path"):
        thaw.load(3)


def test_weights_outside_come_along(tmp_path):
    proto = mlp(width=64)
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    given = thaw.load(tmp_path / "m.onnx")
    assert given.data_files == [tmp_path / "m.data"]
    x = {"x": numbers(2, 3, 64)}
    wanted = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, x)[0]
    np.testing.assert_array_equal(thaw.run(given, x).outputs["y"], wanted)
    np.testing.assert_array_equal(thaw.Session(given).run(x)["y"], wanted)
    parsed = thaw.Model.parse((tmp_path / "m.onnx").read_bytes(), tmp_path)
    np.testing.assert_array_equal(thaw.Session(parsed).run(x)["y"], wanted)
    assert thaw.optimize(parsed).accepted and thaw.pin(parsed, sizes="batch=2,seq=3").accepted


def test_lift_and_split_and_sensitivity_and_plan(save, tmp_path, command):
    def trace(h, w):
        return model(f"g (float[1, 3, {h}, {w}] x) => (float[1, {h * w}, 3] y) {{ t = Transpose<perm = [0, 2, 3, 1]>(x) "
                     f"s = Constant<value_ints = [1, {h * w}, 3]>() y = Reshape(t, s) }}")
    traces = [save(trace(*size), f"trace_{size[0]}") for size in ((7, 11), (13, 5), (10, 17))]
    lifted = thaw.lift(traces)
    assert lifted.report.accepted and lifted.model is not None
    same(lifted.report, command("lift", *traces, "--dry-run"))
    assert thaw.inspect(lifted.model).outputs[0].dims[1].count("*") == 1
    path = save(mlp(layers=4), "m")
    parts = thaw.split(path, at=["r1"])
    assert parts.report.accepted and len(parts.parts) == 2
    first = thaw.run(parts.parts[0], {"x": numbers(2, 3, 32)})
    assert set(first.outputs) >= {"r1"}
    data = tmp_path / "samples"
    data.mkdir()
    for i in range(2):
        np.savez(data / f"{i}.npz", x=numbers(2, 5, 32))
    measured = thaw.sensitivity(path, data=data, to=["int4", "int8-blocks"])
    assert measured.accepted and len(measured.units) == 4
    plan = thaw.plan(measured, tmp_path / "plan.json", max_bytes=int(measured.weight_bytes * 0.25), model=path)
    assert plan.measured.bytes <= measured.weight_bytes * 0.25
    planned = thaw.convert(path, plan=tmp_path / "plan.json")
    assert planned.accepted and planned.layers.layers


def test_options_that_are_wrong(save):
    path = save(mlp(), "m")
    for call, said in [(lambda: thaw.convert(path, to="int5"), "expected one of"),
                       (lambda: thaw.check(path, sizes={"batch": range(5, 5)}), "has no sizes"),
                       (lambda: thaw.inspect(path, sizes="batch"), "there is no '='"),
                       (lambda: thaw.inspect(path, sizes="batch=1|2"), "more than one value"),
                       (lambda: thaw.optimize(path, only=["nix"]), "nix"),
                       (lambda: thaw.inspect(path, sizes={"nix": 3}), "nix")]:
        with pytest.raises(ValueError, match=said) as caught:
            call()
        assert isinstance(caught.value, thaw.Error)


def test_errors_have_parts(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        thaw.check(tmp_path / "nix.onnx")
    error = caught.value
    assert isinstance(error, thaw.Error) and error.code == "cannot_read" and error.where.endswith("nix.onnx") and error.next_step
    (tmp_path / "bad.onnx").write_bytes(b"\x08\x09garbage")
    with pytest.raises(thaw.InvalidFile):
        thaw.load(tmp_path / "bad.onnx")
    with pytest.raises(thaw.RuntimeFailed):
        thaw.run(model("g (float[2] x) => (float[3] y) { y = Cast<to = 99>(x) }"), random=True)
    with pytest.raises(thaw.InvalidArgument, match="x"):
        thaw.run(mlp(), {"x": np.zeros((2, 3), np.int64)})


def test_two_threads_work(save):
    path, found = save(mlp(layers=3), "m"), {}
    x = {"x": numbers(2, 3, 32)}

    def work(name):
        found[name] = [thaw.run(path, x).outputs["y"], thaw.optimize(path).accepted]
    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[name][1] and np.array_equal(found[name][0], found[0][0]) for name in range(4))


def test_progress_is_called_and_may_throw(save, tmp_path):
    path = save(mlp(layers=3), "m")
    np.savez(tmp_path / "x.npz", x=numbers(2, 5, 32))
    seen = []
    thaw.sensitivity(path, data=tmp_path / "x.npz", to="int4", progress=lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] == seen[-1][1]


def test_the_package_needs_no_numpy_to_be_imported():
    done = python("import sys, onnx_thaw; print([m for m in ('numpy', 'torch', 'onnx', 'onnxruntime', 'pandas') if m in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


def test_lists_print_and_become_tables(save):
    report = thaw.check(save(frozen(), "m"))
    assert repr(report.findings[0]).startswith("Finding(code='THAW0")
    assert repr(thaw.load(mlp())) == "Model(x: float[batch, seq, 32] -> y: float[batch, seq, 32])"
    assert "<iframe" in report._repr_html_() and "<iframe" in thaw.load(mlp())._repr_html_()
