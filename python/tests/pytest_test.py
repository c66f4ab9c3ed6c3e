"""The plugin of pytest: assertions hold what the command holds, and a failure prints what the command prints."""
import inspect

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnx_thaw as thaw
from conftest import frozen, mlp, model, numbers
from onnx_thaw.pytest import assert_same, assert_sizes

pytest_plugins = ["pytester"]


def two():
    """Two inputs and two outputs, with names that are no identifiers."""
    made = model("g (float[n, 4] a, int64[n, m] ids) => (float[n, 4] y, int64[n, m] z) { y = Relu(a) z = Add(ids, ids) }")
    made.graph.input[0].name = made.graph.node[0].input[0] = "in/a.1"
    made.graph.output[0].name = made.graph.node[0].output[0] = "out/0"
    return made


def reference_of(proto, shift=0.0):
    """What `mlp` computes, by NumPy."""
    weights = [numpy_helper.to_array(each) for each in proto.graph.initializer]

    def network(x):
        y = x
        for weight in weights:
            y = np.maximum(y @ weight, 0)
        return y + x + np.float32(shift)
    return network


def message(call):
    with pytest.raises(AssertionError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("call", [
    lambda f: lambda **given: f(given["x"]), lambda f: lambda x: f(x), lambda f: lambda x, more=None: f(x), lambda f: lambda array: f(array),
    lambda f: lambda *arrays: f(arrays[0]), lambda f: lambda x: [f(x), None], lambda f: lambda x: {"y": f(x)},
    lambda f: lambda x: {"last": (f(x),)}])
def test_functions_are_called_as_they_are_declared(call):
    proto = mlp()
    assert_same(proto, call(reference_of(proto)))
    text = message(lambda: assert_same(proto, call(reference_of(proto, 0.01))))
    assert "fails at 3 of 3 sizes: max abs diff 0.01 ('y')" in text


def test_a_failure_names_sizes_output_difference_and_place(tmp_path):
    proto = mlp()

    def shifted(x):
        y = reference_of(proto)(x)
        if len(x) == 5:
            y[4, 2, 1] += 0.5
        return y
    text = message(lambda: assert_same(proto, shifted, sizes="batch=1..8,seq=3"))
    assert "shifted" in text.splitlines()[0] and "case batch=5,seq=3: differs" in text
    assert "max abs diff 0.5 ('y')" in text and "worst at [4,2,1]" in text and "case batch=4,seq=3: differs" not in text
    assert_same(proto, shifted, sizes="batch=1..8,seq=3", atol=0.6)
    assert_same(proto, shifted, sizes="batch=1..4,seq=3")


def test_several_inputs_and_outputs():
    assert_same(two(), lambda a, ids: (np.maximum(a, 0), ids + ids))
    assert_same(two(), lambda **given: {"z": 2 * given["ids"], "out/0": np.maximum(given["in/a.1"], 0)})
    assert_same(two(), lambda a, ids: {"z": 2 * ids})
    assert "'z'" in message(lambda: assert_same(two(), lambda a, ids: (np.maximum(a, 0), ids), seed=1))
    for returned, said in [({"z": 1, "nix": 2}, "nix"), ((1,), "1 arrays"), ({"nix": 2}, "1 arrays"), ((1, 2, 3), "3 arrays")]:
        with pytest.raises(thaw.InvalidArgument, match=said):
            assert_same(two(), lambda a, ids: returned)


def test_types_that_files_have_no_name_for():
    texts = model("g (string[n] s, bfloat16[n] b, bool[n] t) => (string[n] u, bfloat16[n] c, bool[n] v) "
                  "{ u = Identity(s) c = Identity(b) v = Not(t) }")
    assert_same(texts, lambda s, b, t: (s, b, ~t))
    assert "'u'" in message(lambda: assert_same(texts, lambda s, b, t: (s + "x", b, ~t)))
    assert "'c'" in message(lambda: assert_same(texts, lambda s, b, t: (s, b + b, ~t)))
    wide = mlp()
    assert "float64" in message(lambda: assert_same(wide, lambda x: reference_of(wide)(x).astype(np.float64)))
    assert_same(wide, lambda x: reference_of(wide)(x).astype(np.float64), cast=True)


def test_models_and_files_are_references(save, tmp_path):
    proto, other = mlp(), mlp()
    path = save(proto, "m")
    for given in (proto, path, str(path), path.read_bytes(), thaw.load(path)):
        assert_same(given, path)
        assert_same(path, given, sizes="batch=1..4")
    text = message(lambda: assert_same(path, other, sizes="batch=2,seq=3"))
    assert text.startswith(f"{path} against <ModelProto>") and "batch=2, seq=3: differs" in text
    x = numbers(2, 3, 32)
    np.savez(tmp_path / "r.npz", x=x, y=reference_of(proto)(x))
    assert_same(path, tmp_path / "r.npz")
    message(lambda: assert_same(other, tmp_path / "r.npz"))


def test_inputs_may_be_given():
    proto, seen = mlp(), []
    x = numbers(2, 3, 32)

    def network(x):
        seen.append(x)
        return reference_of(proto)(x)
    assert_same(proto, network, inputs={"x": x})
    assert all(np.array_equal(each, x) for each in seen) and seen


def test_a_model_that_does_not_run_is_not_the_same():
    fixed = frozen()
    assert_same(fixed, lambda x: x.transpose(0, 2, 3, 1).reshape(1, -1, 3))
    open_ = model("g (float[n, 4] x) => (float[m, 2] y) { s = Constant<value_ints = [4, 2]>() y = Reshape(x, s) }")
    assert_same(open_, lambda x: x.reshape(4, 2), sizes="n=2")
    assert "n=3" in message(lambda: assert_same(open_, lambda x: x.reshape(-1, 2), sizes="n=2|3"))


def test_modules_of_torch():
    torch = pytest.importorskip("torch")
    weight = numbers(4, 4)
    layer = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Dropout(0.5), torch.nn.ReLU())
    with torch.no_grad():
        layer[0].weight.copy_(torch.from_numpy(weight.T.copy()))
    layer[2].eval()
    same = model("g (float[n, 4] x) => (float[n, 4] y) { a = MatMul(x, w) y = Relu(a) }", w=weight)
    assert_same(same, layer, sizes="n=1..4")
    assert layer.training and layer[1].training and not layer[2].training
    message(lambda: assert_same(model("g (float[n, 4] x) => (float[n, 4] y) { y = MatMul(x, w) }", w=weight), layer))


def test_sizes_are_proven(save):
    assert_sizes(mlp(), "batch=1..8,seq=1..64")
    assert_sizes(mlp(), dims={"batch": range(1, 9)})
    with pytest.raises(thaw.InvalidArgument, match="one option"):
        assert_sizes(mlp(), "batch=1", dims="batch=2")
    path = save(frozen(), "m")
    text = message(lambda: assert_sizes(path))
    report = thaw.check(path)
    assert text == str(report).strip() and report.findings[0].code in text and f"thaw fix {path}" in text
    assert "THAW040" in message(lambda: assert_sizes(path, "x_dim2=8..16"))
    assert_sizes(path, ignore=["THAW0"])
    message(lambda: assert_sizes(path, ignore="THAW02"))


SIZES = """
from onnx_thaw.pytest import assert_sizes

def test_sizes():
    assert_sizes({path!r}{more})
"""
SAME = """
from onnx_thaw.pytest import assert_same

def test_same():
    assert_same({path!r}, lambda x: x)
"""


@pytest.mark.parametrize("more,options,failed", [
    ("", [], 0), ("", ["--thaw-sizes", "h=1..8"], 1), ("", ["--thaw-target", "directml"], 0),
    (", sizes='h=4..6:2'", ["--thaw-sizes", "h=1..8"], 0), ("", ["--thaw-sizes", "h=1..8", "--thaw-ignore", "THAW04"], 0),
    ("", ["--thaw-sizes", "h=1..8", "--thaw-ignore", "THAW010", "--thaw-ignore", "THAW04"], 0),
    (", ignore='THAW010'", ["--thaw-sizes", "h=1..8", "--thaw-ignore", "THAW04"], 1)])
def test_options_are_the_defaults_of_a_run(pytester, save, more, options, failed):
    halves = model("""g (float[h, 2] x) => (float[h, 2] y) {
      s = Constant<value_ints = [-1, 4]>() a = Reshape(x, s) t = Constant<value_ints = [-1, 2]>() y = Reshape(a, t) }""")
    path = save(halves, "m")
    pytester.makepyfile(test_it=SIZES.format(path=str(path), more=more))
    result = pytester.runpytest("-p", "no:cacheprovider", *options)
    result.assert_outcomes(passed=1 - failed, failed=failed)
    if failed:
        result.stdout.fnmatch_lines(["*THAW040*", "*fix: *"])


def test_a_failure_shows_the_test_and_not_the_plugin(pytester, save):
    path = save(mlp(), "m")
    pytester.makepyfile(test_it=SIZES.format(path=str(path), more=", 'batch=1..8'") + SAME.format(path=str(path)))
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([">*assert_same(*", "E*against test_same*", "E*worst at *", "E*fails at 3 of 3 sizes*"])
    assert "onnx_thaw/pytest.py" not in result.stdout.str() and "__tracebackhide__" not in result.stdout.str()


def test_assertions_need_no_plugin(pytester, save):
    path = save(frozen(), "m")
    pytester.makepyfile(test_it=SIZES.format(path=str(path), more=""))
    result = pytester.runpytest("-p", "no:cacheprovider", "-p", "no:onnx_thaw")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*THAW010*"])


def test_help_names_the_options(pytester):
    text = pytester.runpytest("--help").stdout.str()
    assert all(option in text for option in ("--thaw-target", "--thaw-sizes", "--thaw-ignore"))


def test_tolerances_are_those_of_verify():
    ours, theirs = (inspect.signature(function).parameters for function in (assert_same, thaw.verify))
    for name in ("atol", "rtol", "cosine", "points", "inputs", "values", "seed", "sizes"):
        assert ours[name].default == theirs[name].default
    for dtype, below, above in [("float", 5e-5, 5e-3), ("float16", 5e-3, 5e-2), ("bfloat16", 5e-3, 5e-2)]:
        same = model(f"g ({dtype}[n] x) => ({dtype}[n] y) {{ y = Identity(x) }}")
        assert_same(same, lambda x: (x.astype(np.float64) + below).astype(x.dtype), sizes="n=7")
        message(lambda: assert_same(same, lambda x: (x.astype(np.float64) * 0 + above * 4).astype(x.dtype), inputs={
            "x": np.zeros(7, onnx.helper.tensor_dtype_to_np_dtype(same.graph.input[0].type.tensor_type.elem_type))}))
