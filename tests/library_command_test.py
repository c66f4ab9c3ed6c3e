"""The command does what the library does: the same files to the byte, the same verdict, the same JSON, for every verb."""
import json
import os
import subprocess

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from conftest import BUILD, SOURCE, Thaw, validate
from models import hostile

PROGRAM = BUILD / "tests" / "through_library"
HEAD = '<ir_version: 8, opset_import: ["" : 18, "com.microsoft" : 1]> '
RNG = np.random.default_rng(7)


def weights(**shapes):
    return {name: RNG.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def model(text, **shapes):
    made = onnx.parser.parse_model(HEAD + text)
    made.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights(**shapes).items())
    return made


# 20 models, each with a choice of sizes to pin it at.
MODELS = {
    "relu": ("n=3,c=5", model("g (float[n, c] x) => (float[n, c] y) { y = Relu(x) }")),
    "mlp": ("n=3", model("g (float[n, 64] x) => (float[n, 32] y) { h = MatMul(x, w)  a = Relu(h)  y = MatMul(a, v) }",
                         w=(64, 96), v=(96, 32))),
    "gemm": ("n=5", model("g (float[n, 32] x) => (float[n, 16] y) { y = Gemm(x, w, b) }", w=(32, 16), b=(16,))),
    "conv": ("h=9,w=11", model("g (float[1, 3, h, w] x) => (float[1, 8, p, q] y) "
                               "{ y = Conv <kernel_shape = [3, 3], strides = [2, 2]> (x, k, b) }", k=(8, 3, 3, 3), b=(8,))),
    "batch_norm": ("h=9,w=11", model("g (float[1, 4, h, w] x) => (float[1, 4, h, w] y) "
                                     "{ a = Conv <kernel_shape = [1, 1]> (x, k)  y = BatchNormalization(a, s, o, m, v) }",
                                     k=(4, 4, 1, 1), s=(4,), o=(4,), m=(4,), v=(4,))),
    "pools": ("h=12,w=14", model("g (float[1, 3, h, w] x) => (float[1, 3, p, q] y) "
                                 "{ a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)  y = Sigmoid(a) }")),
    "norm": ("n=3", model("g (float[n, 24] x) => (float[n, 24] y) { y = LayerNormalization(x, s, b) }", s=(24,), b=(24,))),
    "softmax": ("n=3,m=4", model("g (float[n, m] x) => (float[n, m] y) { y = Softmax <axis = 1> (x) }")),
    "frozen": ("n=4", model("g (float[n, 6] x) => (float[p, 3] y) "
                            "{ s = Constant <value = int64[2] {8, 3}> ()  y = Reshape(x, s) }")),
    "shaped": ("n=4,m=6", model("g (float[n, m] x) => (float[m, n] y) "
                                "{ s = Shape(x)  t = Transpose(x)  z = Mul(t, t)  y = Identity(z) }")),
    "two_outputs": ("n=3", model("g (float[n, 4] x) => (float[n, 4] y, float[4, n] z) { y = Exp(x)  z = Transpose(x) }")),
    "two_inputs": ("n=3,m=2", model("g (float[n, 4] x, float[m, 4] u) => (float[k, 4] y) { y = Concat <axis = 0> (x, u) }")),
    "gather": ("n=3", model("g (int64[n] i) => (float[n, 8] y) { y = Gather(table, i) }", table=(11, 8))),
    "names": ("n=3", model('g (float["?", 4] x) => (float["?", 4] y) { z = Abs(x)  y = Neg(z) }')),
    "residual": ("n=3", model("g (float[n, 48] x) => (float[n, 48] y) "
                              "{ a = MatMul(x, w)  b = Relu(a)  c = MatMul(b, v)  y = Add(x, c) }", w=(48, 64), v=(64, 48))),
    "constants": ("n=3", model("g (float[n, 4] x) => (float[n, 4] y) "
                               "{ a = Constant <value = float {2}> ()  b = Mul(a, a)  y = Mul(x, b) }")),
    "gelu": ("n=3", model("g (float[n, 8] x) => (float[n, 8] y) { r = Constant <value = float {1.4142135}> ()  d = Div(x, r) "
                          " e = Erf(d)  o = Constant <value = float {1}> ()  f = Add(e, o)  m = Mul(x, f) "
                          " q = Constant <value = float {0.5}> ()  y = Mul(m, q) }")),
    "condition": ("n=3", model("g (float[n, 4] x, bool c) => (float[n, 4] y) { y = If(c) <"
                               "then_branch = a () => (float[n, 4] t) { t = Exp(x) }, "
                               "else_branch = b () => (float[n, 4] f) { f = Neg(x) }> }")),
    "noise": ("n=3", model("g (float[n, 4] x) => (float[n, 4] y) { r = RandomNormalLike(x)  y = Add(x, r) }")),
    "whole_axis": ("n=3", model("g (float[n, 4] x) => (float[1, 4] y) { y = ReduceMax <keepdims = 1> (x, a) }", a=())),
}
MODELS["whole_axis"][1].graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([0]), "a"))
HOSTILE = sorted(hostile.REFUSED)[:12]
# Valid files that no verb can make something of, or that no runtime takes.
UNFIT = {
    "no_such_operator": model("g (float[n, 4] x) => (float[n, 4] y) { y = Nonsense(x) }"),
    "no_kernel": model("g (string[n] x) => (string[n] y) { y = Exp(x) }"),
    "other_types": model("g (float[n] x, int64[n] i) => (float[n] y) { y = Add(x, i) }"),
    "misfit": model("g (float[n, 4] x) => (float[n, 5] y) { y = MatMul(x, w) }", w=(3, 5)),
    "no_reshape": model("g (float[7] x) => (float[2, 4] y) { s = Constant <value = int64[2] {2, 4}> ()  y = Reshape(x, s) }"),
    "too_few_operands": model("g (float[n] x) => (float[n] y) { y = Add(x) }"),
    "out_of_table": model("g (float[n, 4] x) => (float[4] y) { i = Constant <value = int64 {9}> ()  z = Gather(w, i)  y = Identity(z) }",
                          w=(3, 4)),
    "ragged": model("g (float[n, 4] x, float[n, 5] u) => (float[n, 4] y) { y = Add(x, u) }"),
}

# How each verb is called on one model: of the command, then of the library. {m}: the model, {s}: sizes.
CALLS = {
    "inspect": (["{m}", "--tensors", "--weights", "--cost"], ["{m}"]),
    "check": (["{m}"], ["{m}"]),
    "fix": (["{m}", "-o", "out.onnx"], ["{m}", "out.onnx"]),
    "batch": (["{m}", "-o", "out.onnx"], ["{m}", "out.onnx"]),
    "optimize": (["{m}", "-o", "out.onnx", "--target", "ort"], ["{m}", "out.onnx"]),
    "convert": (["{m}", "-o", "out.onnx", "--to", "int4"], ["{m}", "out.onnx", "int4"]),
    "pin": (["{m}", "-o", "out.onnx", "--sizes", "{s}"], ["{m}", "out.onnx", "{s}"]),
    "split": (["{m}", "-o", "parts", "--parts", "2"], ["{m}", "parts"]),
    "verify": (["{m}", "--against", "{m}"], ["{m}", "{m}"]),
    "run": (["{m}", "--random", "-o", "out.npz"], ["{m}", "out.npz"]),
    "diff": (["{m}", "{m}"], ["{m}", "{m}"]),
}
UNSTEADY = {"seconds", "model_seconds", "reference_seconds"}


def steady(value, folder):
    """Without what differs from run to run, and from one folder to the other."""
    if isinstance(value, dict):
        return {key: steady(item, folder) for key, item in value.items() if key not in UNSTEADY}
    if isinstance(value, list):
        return [steady(item, folder) for item in value]
    return value.replace(str(folder), "") if isinstance(value, str) else value


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Both:
    """The same call in two folders of the same content: by the command, and through the public headers."""

    def __init__(self, thaw, folder):
        self.thaw, self.folders = thaw, (folder / "command", folder / "library")
        for each in self.folders:
            each.mkdir(parents=True)

    def put(self, name, data):
        for each in self.folders:
            (each / name).parent.mkdir(parents=True, exist_ok=True)
            (each / name).write_bytes(data)

    def call(self, verb, command, library):
        by_command = self.thaw(verb, *command, "--format", "json", cwd=self.folders[0])
        environment = dict(os.environ, THAW_WORKER=str(BUILD / "thaw-worker"))
        by_library = subprocess.run([PROGRAM, verb, *library], cwd=self.folders[1], capture_output=True, text=True, check=False,
                                    timeout=120, env=environment)
        where = f"{verb} {command}\n{by_command.stderr}{by_library.stderr}"
        assert by_command.returncode == by_library.returncode, where
        assert by_command.stdout and by_library.stdout, where
        report, other = json.loads(by_command.stdout), json.loads(by_library.stdout)
        assert steady(report, self.folders[0]) == steady(other, self.folders[1]), where
        validate(report, "error" if "error" in report else verb)
        assert list(report) == list(other), where
        assert files_in(self.folders[0]) == files_in(self.folders[1]), where
        return by_command.returncode, report

    def every_verb(self, sizes, but=()):
        """The exit code of each verb on model.onnx; what one wrote is gone before the next."""
        codes = {}
        for verb, (command, library) in CALLS.items():
            if verb in but:
                continue
            words = [[word.format(m="model.onnx", s=sizes) for word in side] for side in (command, library)]
            before = set(files_in(self.folders[0]))
            codes[verb], _ = self.call(verb, *words)
            for each in self.folders:
                for name in set(files_in(each)) - before:
                    (each / name).unlink()
        return codes


@pytest.fixture
def both(thaw, tmp_path):
    return Both(Thaw(thaw.path), tmp_path)


@pytest.mark.parametrize("name", MODELS)
def test_the_command_and_the_library_say_and_write_the_same(both, name):
    sizes, made = MODELS[name]
    both.put("model.onnx", made.SerializeToString())
    codes = both.every_verb(sizes, but=["run"] if name == "noise" else [])  # it gives other numbers in each run
    assert 0 in codes.values()


@pytest.mark.parametrize("name", HOSTILE)
def test_they_refuse_the_same_files_in_the_same_words(both, tmp_path, name):
    made = tmp_path / "made"
    made.mkdir()
    path = hostile.REFUSED[name](made)
    for file in made.rglob("*"):
        if file.is_file() and not file.is_symlink():
            both.put("model.onnx" if file == path else str(file.relative_to(made)), file.read_bytes())
    codes = both.every_verb("n=3")
    assert codes["run"] == 2


@pytest.mark.parametrize("name", UNFIT)
def test_they_fail_alike_on_what_no_runtime_takes(both, name):
    both.put("model.onnx", UNFIT[name].SerializeToString())
    codes = both.every_verb("n=3")
    assert codes["run"] == 2 and codes["verify"] != 0


def test_verbs_that_take_more_than_a_model(both):
    for n in (5, 7, 11):
        trace = model(f"g (float[{n}, 4] x) => (float[{2 * n}, 2] y) "
                      f"{{ s = Constant <value = int64[2] {{{2 * n}, 2}}> ()  y = Reshape(x, s) }}")
        both.put(f"trace_{n}.onnx", trace.SerializeToString())
    traces = [f"trace_{n}.onnx" for n in (5, 7, 11)]
    assert both.call("lift", [*traces, "-o", "lifted.onnx"], ["lifted.onnx", *traces])[0] == 0
    both.put("other.onnx", MODELS["mlp"][1].SerializeToString())
    assert both.call("lift", [traces[0], "other.onnx", "-o", "no.onnx"], ["no.onnx", traces[0], "other.onnx"])[0] != 0
    assert both.call("diff", ["other.onnx", traces[0]], ["other.onnx", traces[0]])[0] == 1
    checkpoint = SOURCE / "tests" / "fixtures" / "qwen2" / "decoder"
    for file in checkpoint.iterdir():
        both.put(f"checkpoint/{file.name}", file.read_bytes())
    assert both.call("build", ["checkpoint", "-o", "built", "--kv-cache"], ["checkpoint", "built"])[0] == 0
    assert both.call("build", ["nowhere", "-o", "no", "--kv-cache"], ["nowhere", "no"])[0] == 2
    both.put("photo.png", (SOURCE / "tests" / "fixtures" / "inputs" / "wide.png").read_bytes())
    assert both.call("inputs", ["photo.png", "-o", "in.npz", "--for", "qwen2_5_vl"], ["photo.png", "in.npz", "qwen2_5_vl"])[0] == 0
    assert both.call("inputs", ["none.png", "-o", "no.npz", "--for", "qwen2_5_vl"], ["none.png", "no.npz", "qwen2_5_vl"])[0] == 2


def test_what_is_measured(both, tmp_path):
    both.put("model.onnx", MODELS["mlp"][1].SerializeToString())
    np.savez(tmp_path / "a.npz", x=RNG.standard_normal((3, 64)).astype(np.float32))
    np.savez(tmp_path / "b.npz", x=RNG.standard_normal((5, 64)).astype(np.float32))
    for name in ("a", "b"):
        both.put(f"samples/{name}.npz", (tmp_path / f"{name}.npz").read_bytes())
    assert both.call("sensitivity", ["model.onnx", "--data", "samples", "-o", "report"], ["model.onnx", "report", "samples"])[0] == 0
    assert both.call("plan", ["report", "--target-sqnr", "10", "-o", "plan.json"], ["report", "plan.json"])[0] == 0
    assert both.call("sensitivity", ["model.onnx", "--data", "none", "-o", "no"], ["model.onnx", "no", "none"])[0] == 2
