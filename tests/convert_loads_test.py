"""What thaw convert writes is loaded as users load it: by ONNX Runtime at its defaults. What ONNX Runtime ends on, or refuses, is written
otherwise, or not at all."""
import itertools
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from convert_half_test import assert_near, model, random

F32 = TensorProto.FLOAT
LOAD = """
import sys
import onnxruntime as ort
ort.set_default_logger_severity(4)
for path in sys.argv[1:]:
    try:
        ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        print("loaded", path, flush=True)
    except Exception as error:
        print("refused", path, str(error)[:200], flush=True)
"""


def assert_load(paths):
    """In a process of its own, since some models end it."""
    paths = [str(path) for path in paths]
    made = subprocess.run([sys.executable, "-c", LOAD, *paths], capture_output=True, text=True)
    assert made.stdout.splitlines() == [f"loaded {path}" for path in paths], (made.returncode, made.stdout[-600:])


def transposed(perm, side, rank):
    """A product of what is transposed, and of a constant of this rank, which stands on this side. Not of vectors: ONNX Runtime 1.31
    gives wrong numbers there, in float32 too."""
    axes = len(perm)
    x = [f"d{i}" for i in range(axes)]
    x[perm[-1] if side else perm[-2]] = 8
    operands = ["t", "w"] if side else ["w", "t"]
    weight = random(*(1,) * (rank - 2), 8, 8)
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=perm, name="Transpose"), helper.make_node("MatMul", operands, ["m"], name="MatMul"),
             helper.make_node("Tanh", ["m"], ["y"], name="Tanh")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, x)], [helper.make_tensor_value_info("y", F32, None)],
                              [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), x


# All of three axes; of four each fifth: each permutation, with sides and ranks in turn.
CASES = [(perm, side, rank) for axes, step in ((3, 1), (4, 5)) for perm, side, rank in itertools.islice(itertools.product(
    itertools.permutations(range(axes)), (0, 1), range(2, axes + 1)), 0, None, step)]


def test_products_of_what_is_transposed(thaw, save):
    """ONNX Runtime 1.31 ends with SIGSEGV on some of them in float16."""
    written = []
    for i, (perm, side, rank) in enumerate(CASES):
        made, dims = transposed(perm, side, rank)
        path = save(made, f"t{i}")
        out = path.with_name(f"t{i}_f16.onnx")
        thaw("convert", path, "-o", out, "--to", "f16", "--no-optimize", code=0)
        written.append(out)
        if i % 7 == 0:
            feeds = {"x": random(*(d if isinstance(d, int) else 3 + 2 * k for k, d in enumerate(dims)), scale=1)}
            assert_near(path, out, feeds)
    assert_load(written)


def test_a_constant_that_others_read_keeps_its_axes(thaw, save):
    path = save(model("""g (float[n, m, 8] x) => (float[m, n, 8] y, float[n, m, 8] z) {
      t = Transpose<perm = [1, 0, 2]>(x) y = MatMul(t, w) z = MatMul(x, w) }""", w=random(8, 8)), "shared")
    out = path.with_name("out.onnx")
    thaw("convert", path, "-o", out, "--to", "f16", "--no-optimize", code=0)
    assert sorted(len(i.dims) for i in onnx.load(out).graph.initializer) == [2, 3]
    assert_load([out])
    assert_near(path, out, {"x": random(3, 5, 8, scale=1)})


# What ONNX Runtime's own rewrites make of it has types that are none: com.microsoft's QuantizeLinear around a Conv with a bias.
def contrib_qdq():
    def scale(name, value):
        return numpy_helper.from_array(np.float32(value), name)

    def zero(name, dtype):
        return numpy_helper.from_array(np.zeros((), dtype), name)

    def node(op, inputs, outputs, **attributes):
        return helper.make_node(op, inputs, outputs, name=outputs[0], **attributes)

    ms = {"domain": "com.microsoft"}
    nodes = [node("QuantizeLinear", ["x", "xs", "xz"], ["xq"], **ms), node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"], **ms),
             node("DequantizeLinear", ["wq", "ws", "wz"], ["w"], **ms), node("Conv", ["xd", "w", "b"], ["c"]),
             node("QuantizeLinear", ["c", "ys", "yz"], ["yq"], **ms), node("DequantizeLinear", ["yq", "ys", "yz"], ["y"], **ms)]
    weights = [scale("xs", 0.05), zero("xz", np.uint8), scale("ws", 0.01), zero("wz", np.uint8), scale("ys", 0.1), zero("yz", np.uint8),
               numpy_helper.from_array(np.arange(36, dtype=np.uint8).reshape(4, 1, 3, 3), "wq"), numpy_helper.from_array(random(4), "b")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F32, ["n", 1, "h", "w_"])],
                              [helper.make_tensor_value_info("y", F32, None)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)], ir_version=8)


@pytest.mark.parametrize("to", ["f16", "bf16"])
@pytest.mark.parametrize("check", [[], ["--no-check"]], ids=["run", "loaded"])
def test_what_is_not_loaded_is_not_written(thaw, save, to, check):
    path = save(contrib_qdq(), "contrib")
    out = path.with_name("out.onnx")
    made = thaw("convert", path, "-o", out, "--to", to, *check)
    if made.returncode == 1:
        assert not out.exists() and "ONNX Runtime does not load the result" in made.stdout + made.stderr
    elif to == "bf16":
        assert made.returncode == 0 and "ONNX Runtime's CPU provider has few bfloat16 kernels" in made.stdout
    else:
        assert made.returncode == 0
        assert_load([out])


def test_what_was_not_loaded_is_said(thaw, save):
    """Loading a large model takes long, and --no-check is quick."""
    path = save(model("g (float[n, 6000] x) => (float[n, 6000] y) { y = MatMul(x, w) }", w=np.ones((6000, 6000), np.float32)), "large")
    for check in ([], ["--no-check"]):
        report = thaw.json("convert", path, "-o", path.with_name("out.onnx"), "--to", "f16", *check, code=0)
        assert report["load_check"]["status"] == ("skipped" if check else "ran")


def test_a_check_that_memory_is_short_for_is_refused_before_the_work(thaw, save, tmp_path):
    """What is drawn runs through both models; without the check the same limit is enough."""
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "g", [helper.make_tensor_value_info("x", 1, ["n", 4096])],
                              [helper.make_tensor_value_info("y", 1, ["n", 8192])],
                              [numpy_helper.from_array(np.ones((4096, 8192), np.float32), "w")])
    path = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "wide")
    limited = ["convert", path, "-o", tmp_path / "out.onnx", "--to", "int4", "--max-memory", "200M"]
    message = thaw.error(*limited)
    assert "cannot be compared" in message and "0.1 GB of its weights" in message and "--no-check" in message
    assert not (tmp_path / "out.onnx").exists()
    thaw(*limited, "--no-check", code=0)
