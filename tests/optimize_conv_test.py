"""thaw optimize: convolutions take what follows them by channel and the zeros before them; ONNX Runtime's own products and convolutions."""
import numpy as np
import onnx
import onnx.parser
import pytest

from conftest import session

SIZES = ({"n": 1, "h": 11, "w": 13}, {"n": 3, "h": 7, "w": 17}, {"n": 2, "h": 19, "w": 5})
CHANNELS = 6


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def norm_weights(rng):
    return {"s": floats(rng, CHANNELS), "b": floats(rng, CHANNELS), "mean": floats(rng, CHANNELS), "var": floats(rng, CHANNELS) ** 2 + 0.1}


BATCH_NORM = ("BatchNormalization", ["c", "s", "b", "mean", "var"], {"epsilon": 1e-3})
CONV = ("Conv", ["x", "W"], {"pads": [1, 1, 1, 1]})


def case(nodes, left, weights=(), inputs=("x",), target="portable", opset=17, shape=("n", 4, "h", "w"), dtype=1):
    return {"nodes": nodes, "left": left, "weights": weights, "inputs": inputs, "target": target, "opset": opset, "shape": shape, "dtype": dtype}


def weights_of(one, rng):
    made = norm_weights(rng)
    made |= {"W": floats(rng, CHANNELS, 4, 3, 3), "B": floats(rng, CHANNELS), "T": floats(rng, 4, CHANNELS, 3, 3), "G": floats(rng, CHANNELS, 2, 3, 3),
             "TG": floats(rng, 4, 3, 3, 3), "GW": floats(rng, CHANNELS, 4), "k": floats(rng, CHANNELS, 1, 1), "k4": floats(rng, 1, CHANNELS, 1, 1), "row": floats(rng, 5), "half": np.float32(0.5),
             "pads": np.array([0, 0, 1, 0, 0, 0, 2, 1]), "wide": np.array([0, 1, 0, 0, 0, 1, 0, 0]), "one": np.float32(1), "low": np.float32(0.25), "high": np.float32(0.75),
             "W6": floats(rng, CHANNELS, 6, 3, 3), "zero": np.float32(0)}
    used = {name for _, operands, _ in one["nodes"] for name in operands}
    return {name: value for name, value in made.items() if name in used}


def model_of(one):
    rng = np.random.default_rng(7)
    initializers = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in weights_of(one, rng).items()]
    nodes, names = [], iter("cdefg")
    for place, (op, operands, attributes) in enumerate(one["nodes"]):
        output = "y" if place == len(one["nodes"]) - 1 else next(names)
        nodes.append(onnx.helper.make_node(op, operands, [output], name=f"node_{place}", **attributes))
    inputs = [onnx.helper.make_tensor_value_info(name, one["dtype"], one["shape"]) for name in one["inputs"]]
    graph = onnx.helper.make_graph(nodes, "g", inputs, [onnx.helper.make_tensor_value_info("y", one["dtype"], None)], initializers)
    return onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", one["opset"])])


FUSED = {
    "batch norm": case([CONV, BATCH_NORM], "Conv"),
    "batch norm and a bias": case([("Conv", ["x", "W", "B"], {}), BATCH_NORM], "Conv"),
    "batch norm of groups": case([("Conv", ["x", "G"], {"group": 2}), BATCH_NORM], "Conv"),
    "batch norm of a transposed one": case([("ConvTranspose", ["x", "T"], {"strides": [2, 2]}), BATCH_NORM], "ConvTranspose"),
    "batch norm of a transposed one of groups": case([("ConvTranspose", ["x", "TG"], {"group": 2}), BATCH_NORM], "ConvTranspose"),
    "a factor": case([CONV, ("Mul", ["k", "c"], {})], "Conv"),
    "a quotient": case([CONV, ("Div", ["c", "k4"], {})], "Conv"),
    "a number": case([CONV, ("Mul", ["c", "half"], {})], "Conv"),
    "a bias": case([CONV, ("Add", ["c", "k4"], {})], "Conv"),
    "a bias less": case([("Conv", ["x", "W", "B"], {}), ("Sub", ["c", "k"], {})], "Conv"),
    "all of it": case([("Pad", ["x", "pads"], {}), ("Conv", ["c", "W"], {}), ("BatchNormalization", ["d", "s", "b", "mean", "var"], {}),
                       ("Mul", ["e", "k"], {}), ("Add", ["f", "k4"], {})], "Conv"),
    "zeros around": case([("Pad", ["x", "pads"], {}), ("Conv", ["c", "W"], {"pads": [1, 0, 1, 2]})], "Conv"),
    "relu of ort": case([CONV, ("Relu", ["c"], {})], "FusedConv", target="ort"),
    "norm and relu of ort": case([CONV, BATCH_NORM, ("Relu", ["d"], {})], "FusedConv", target="ort"),
    "leaky relu of ort": case([CONV, ("LeakyRelu", ["c"], {"alpha": 0.3})], "FusedConv", target="ort"),
    "clip of ort": case([CONV, ("Clip", ["c", "low", "high"], {})], "FusedConv", target="ort"),
    "sigmoid of ort": case([CONV, ("Sigmoid", ["c"], {})], "FusedConv", target="ort"),
    "tanh of ort": case([CONV, ("Tanh", ["c"], {})], "FusedConv", target="ort"),
    "hard sigmoid of ort": case([CONV, ("HardSigmoid", ["c"], {"alpha": 0.1})], "FusedConv", target="ort"),
    "clip before opset 11 of ort": case([CONV, ("Clip", ["c"], {"min": -0.25, "max": 0.75})], "FusedConv", target="ort", opset=9),
    "a lower limit of ort": case([CONV, ("Clip", ["c", "low"], {})], "FusedConv", target="ort"),
    "a product and relu of ort": case([("Gemm", ["x", "GW", "B"], {"transB": 1}), ("Relu", ["c"], {})], "FusedGemm", target="ort", shape=("n", 4)),
    "a product and leaky relu of ort": case([("Gemm", ["x", "GW"], {"transB": 1, "alpha": 0.5}), ("LeakyRelu", ["c"], {"alpha": 0.3})], "FusedGemm", target="ort",
                                            shape=("n", 4)),
    "a product and hard sigmoid of ort": case([("Gemm", ["x", "GW", "B"], {"transB": 1}), ("HardSigmoid", ["c"], {"alpha": 0.1, "beta": 0.4})], "FusedGemm", target="ort",
                                              shape=("n", 4)),
    "scale and transpose of ort": case([("Transpose", ["z"], {"perm": [0, 1, 3, 2]}), ("MatMul", ["x", "c"], {}), ("Mul", ["d", "half"], {})], "FusedMatMul",
                                       inputs=("x", "z"), target="ort"),
    "both scaled of ort": case([("Mul", ["x", "half"], {}), ("Div", ["z", "half"], {}), ("Transpose", ["c"], {"perm": [0, 1, 3, 2]}), ("MatMul", ["e", "d"], {})], "FusedMatMul",
                               inputs=("x", "z"), target="ort"),
}
KEPT = {
    "a row": case([CONV, ("Mul", ["c", "row"], {})], "Conv Mul", shape=("n", 4, "h", 5)),
    "a weight of two": case([CONV, ("Conv", ["x", "W"], {}), ("Mul", ["c", "k"], {}), ("ReduceSum", ["d"], {}), ("ReduceSum", ["e"], {}), ("Add", ["f", "g"], {})],
                            "Conv Conv Mul ReduceSum ReduceSum Add"),
    "a product read elsewhere": case([CONV, BATCH_NORM, ("Add", ["c", "d"], {})], "Conv BatchNormalization Add"),
    "the other way round": case([CONV, ("Div", ["k", "c"], {})], "Conv Div"),
    "a number to add, where there is no bias": case([CONV, ("Add", ["c", "half"], {})], "Conv Add"),
    "ones around": case([("Pad", ["x", "pads", "one"], {}), ("Conv", ["c", "W"], {})], "Pad Conv"),
    "edges around": case([("Pad", ["x", "pads"], {"mode": "edge"}), ("Conv", ["c", "W"], {})], "Pad Conv"),
    "zeros beside channels": case([("Pad", ["x", "wide"], {}), ("Conv", ["c", "W6"], {})], "Pad Conv"),
    "gelu of ort": case([CONV, ("Softplus", ["c"], {})], "Conv Softplus", target="ort"),
    "a product and its limits of ort": case([("Gemm", ["x", "GW"], {"transB": 1}), ("Clip", ["c", "low", "high"], {})], "Gemm Clip", target="ort", shape=("n", 4)),
    "a product read elsewhere of ort": case([("Gemm", ["x", "GW"], {"transB": 1}), ("Relu", ["c"], {}), ("Add", ["c", "d"], {})], "Gemm Relu Add", target="ort", shape=("n", 4)),
    "relu of others": case([CONV, ("Relu", ["c"], {})], "Conv Relu"),
    "a transpose of other axes of ort": case([("Transpose", ["z"], {"perm": [1, 0, 3, 2]}), ("MatMul", ["x", "c"], {})], "Transpose MatMul", inputs=("x", "z"), target="ort",
                                             shape=(4, 4, "h", "w")),
    "a product of others": case([("MatMul", ["x", "z"], {}), ("Mul", ["c", "half"], {})], "MatMul Mul", inputs=("x", "z"), shape=(2, 4, "h", "h")),
}


def optimize(thaw, save, tmp_path, one):
    model, out = save(model_of(one)), tmp_path / "out.onnx"
    report = thaw.json("optimize", model, "-o", out, "--target", one["target"], code=0)
    stated = 96  # bytes of thaw.proof
    assert out.stat().st_size <= model.stat().st_size + stated + (128 if one["target"] == "ort" else 0) and report["weight_bytes_after"] <= report["weight_bytes_before"]
    rng = np.random.default_rng(1)
    for sizes in SIZES:
        feed = {name: floats(rng, *[sizes.get(dim, dim) for dim in one["shape"]]) for name in one["inputs"]}
        for wanted, got in zip(session(model).run(None, feed), session(out).run(None, feed), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=2e-5 * max(1, np.abs(wanted).max()))
    again = tmp_path / "again.onnx"
    assert thaw.json("optimize", out, "-o", again, "--target", one["target"], code=0)["changed"] == []
    assert again.read_bytes() == out.read_bytes()
    return " ".join(node.op_type for node in onnx.load(out).graph.node)


@pytest.mark.parametrize("name", FUSED)
def test_a_fusion(thaw, save, tmp_path, name):
    assert optimize(thaw, save, tmp_path, FUSED[name]) == FUSED[name]["left"]


@pytest.mark.parametrize("name", KEPT)
def test_what_only_looks_alike_stays(thaw, save, tmp_path, name):
    assert sorted(optimize(thaw, save, tmp_path, KEPT[name]).split()) == sorted(KEPT[name]["left"].split())


def test_a_product_with_a_weight_stays_one(thaw, save, tmp_path):
    """Quantizers look for MatMul."""
    one = case([("MatMul", ["x", "wide_weight"], {}), ("Mul", ["c", "half"], {})], "", target="ort", shape=("n", 4, "h", 8))
    model = model_of(one)
    model.graph.initializer.append(onnx.numpy_helper.from_array(floats(np.random.default_rng(0), 8, 8), "wide_weight"))
    out = tmp_path / "out.onnx"
    thaw("optimize", save(model), "-o", out, "--target", "ort", code=0)
    assert "MatMul" in [node.op_type for node in onnx.load(out).graph.node]


def test_a_weight_in_16_bits_keeps_its_type(thaw, save, tmp_path):
    model = model_of(FUSED["batch norm"] | {"dtype": 10})
    for initializer in model.graph.initializer:
        initializer.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(initializer).astype(np.float16), initializer.name))
    path, out = save(model), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, code=0)
    assert [node.op_type for node in onnx.load(out).graph.node] == ["Conv"]
    assert {i.data_type for i in onnx.load(out).graph.initializer} == {10}
    feed = {"x": floats(np.random.default_rng(2), 2, 4, 5, 7).astype(np.float16)}
    np.testing.assert_allclose(session(out).run(None, feed)[0].astype(np.float32), session(path).run(None, feed)[0].astype(np.float32), rtol=2e-2, atol=5e-2)


def block_model(kind, signed=True, zeros=True, turned=False, axis=0, block=16, rows=32, columns=7, by="MatMul"):
    """x by a weight in blocks along its summed axis, as DequantizeLinear makes it; turned by a Transpose, or by Gemm."""
    rng = np.random.default_rng(3)
    shape, blocks = ((columns, rows), (columns, rows // block)) if turned else ((rows, columns), (rows // block, columns))
    low, high = ((-8, 8) if signed else (0, 16)) if kind in (onnx.TensorProto.INT4, onnx.TensorProto.UINT4) else ((-128, 128) if signed else (0, 256))
    make = onnx.helper.make_tensor
    initializers = [make("w", kind, shape, rng.integers(low, high, shape).ravel()), onnx.numpy_helper.from_array(floats(rng, *blocks) / 8, "scales")]
    if zeros:
        initializers.append(make("zeros", kind, blocks, rng.integers(low, high, blocks).ravel()))
    nodes = [onnx.helper.make_node("DequantizeLinear", ["w", "scales"] + (["zeros"] if zeros else []), ["d"], axis=1 - axis if turned else axis, block_size=block)]
    if by == "Gemm":
        initializers.append(onnx.numpy_helper.from_array(floats(rng, columns), "bias"))
        nodes.append(onnx.helper.make_node("Gemm", ["x", "d", "bias"], ["y"], transB=int(turned)))
    else:
        if turned:
            nodes.append(onnx.helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]))
        nodes.append(onnx.helper.make_node("MatMul", ["x", "t" if turned else "d"], ["y"]))
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, ["m", rows] if by == "Gemm" else ["n", "m", rows])], [onnx.helper.make_tensor_value_info("y", 1, None)], initializers)
    return onnx.helper.make_model(graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", 21)])


INT4, UINT4, INT8, UINT8 = (getattr(onnx.TensorProto, name) for name in ("INT4", "UINT4", "INT8", "UINT8"))


def run_blocks(thaw, save, tmp_path, built):
    model, out = save(built), tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, "--target", "ort", code=0)
    assert thaw.json("optimize", out, "--target", "ort", "--dry-run", code=0)["changed"] == []
    dims = built.graph.input[0].type.tensor_type.shape.dim
    for n, m in ((1, 3), (5, 2), (7, 11)):
        feed = {"x": floats(np.random.default_rng(n), *(n, m)[-(len(dims) - 1):], dims[-1].dim_value)}
        wanted = session(model).run(None, feed)[0]
        np.testing.assert_allclose(session(out).run(None, feed)[0], wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())
    return [node.op_type for node in onnx.load(out).graph.node]


@pytest.mark.parametrize("by", ["MatMul", "Gemm"])
@pytest.mark.parametrize(("kind", "signed", "zeros"), [(INT4, True, False), (INT4, True, True), (UINT4, False, True)])
def test_a_turned_weight_in_blocks(thaw, save, tmp_path, kind, signed, zeros, by):
    """As exact as the product: ONNX Runtime fuses none of these by itself."""
    for block in (16, 32):  # two blocks a column, or one
        built = block_model(kind, signed, zeros, turned=True, by=by, block=block)
        assert run_blocks(thaw, save, tmp_path, built) == (["MatMulNBits", "Add"] if by == "Gemm" else ["MatMulNBits"])
        [level] = [a.i for a in onnx.load(tmp_path / "out.onnx").graph.node[0].attribute if a.name == "accuracy_level"]
        assert level == 1


@pytest.mark.parametrize(("kind", "turned", "by"), [(INT4, False, "MatMul"), (INT4, False, "Gemm"), (INT8, False, "MatMul"), (INT8, True, "MatMul"), (INT8, True, "Gemm")])
def test_what_onnx_runtime_fuses_itself_or_has_no_kernel_for(thaw, save, tmp_path, kind, turned, by):
    """A weight with its summed axis first, at the accuracy that the session says; 8 bits in float32."""
    assert "MatMulNBits" not in run_blocks(thaw, save, tmp_path, block_model(kind, turned=turned, by=by))


OTHER_BLOCKS = {"along the other axis": {"axis": 1, "rows": 16, "columns": 32}, "no zero points": {"kind": UINT4, "signed": False, "zeros": False}, "a block cut short": {"rows": 48, "block": 32}}


@pytest.mark.parametrize("name", OTHER_BLOCKS)
def test_other_blocks_stay(thaw, save, tmp_path, name):
    options = {"kind": INT4, **OTHER_BLOCKS[name]}
    built = block_model(**options)
    if name == "along the other axis":
        for initializer in built.graph.initializer[1:]:
            initializer.CopyFrom(onnx.helper.make_tensor(initializer.name, initializer.data_type, (16, 2), np.ones(32)))
    if name == "a block cut short":
        for initializer in built.graph.initializer[1:]:
            initializer.CopyFrom(onnx.helper.make_tensor(initializer.name, initializer.data_type, (2, 7), np.ones(14)))
    assert "MatMulNBits" not in run_blocks(thaw, save, tmp_path, built)


def test_a_deep_network_scaled_twice(thaw, save, tmp_path):
    """Each weight is scaled by two constants in turn; none is made before it is written."""
    rng, nodes, initializers, before = np.random.default_rng(5), [], [], "x"
    for depth in range(40):
        weights = {f"W{depth}": floats(rng, 4, 4, 3, 3) / 6, f"k{depth}": floats(rng, 4, 1, 1), f"j{depth}": floats(rng, 1, 4, 1, 1)}
        initializers += [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()]
        nodes += [onnx.helper.make_node("Conv", [before, f"W{depth}"], [f"c{depth}"], pads=[1, 1, 1, 1]), onnx.helper.make_node("Mul", [f"c{depth}", f"k{depth}"], [f"d{depth}"]),
                  onnx.helper.make_node("Mul", [f"j{depth}", f"d{depth}"], [f"e{depth}"]), onnx.helper.make_node("Softplus", [f"e{depth}"], [f"y{depth}"])]
        before = f"y{depth}"
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, ["n", 4, "h", "w"])], [onnx.helper.make_tensor_value_info(before, 1, None)], initializers)
    model = save(onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 17)]))
    out = tmp_path / "out.onnx"
    thaw("optimize", model, "-o", out, code=0)
    assert [node.op_type for node in onnx.load(out).graph.node] == ["Conv", "Softplus"] * 40
    feed = {"x": floats(rng, 2, 4, 7, 11)}
    np.testing.assert_allclose(session(out).run(None, feed)[0], session(model).run(None, feed)[0], rtol=1e-3, atol=1e-4)


PATCH = "c = Reshape(x, cut) d = Conv<kernel_shape=[2,3,3], strides=[2,3,3]>(c, W, B) y = Reshape(d, rows)"
PATCHES = {  # what is written, and what is left
    "patches": (PATCH, "Gemm"),
    "no bias": (PATCH.replace(", B)", ")"), "Gemm"),
    "patches that are not flat afterwards": (PATCH.replace("y = Reshape(d, rows)", "y = Relu(d)"), "Gemm Reshape Relu"),
    "a weight that is read twice": (PATCH.replace("y = Reshape(d, rows)", "e = Conv<kernel_shape=[2,3,3]>(c, W) y = Add(d, e)"), "Reshape Conv Conv Add"),
    "zeros around": (PATCH.replace("strides=", "pads=[0,1,1,0,1,1], strides="), "Reshape Conv Reshape"),
    "groups": (PATCH.replace("strides=", "group=2, strides=").replace("W, B", "G, B"), "Reshape Conv Reshape"),
    "patches larger than the kernel": (PATCH.replace("x, cut", "x, large"), "Reshape Conv Reshape"),
}


@pytest.mark.parametrize("name", PATCHES)
@pytest.mark.parametrize("target", ["portable", "ort", "directml"])
def test_patches_are_a_product(thaw, save, tmp_path, target, name):
    """As vision towers embed them: rows that are cut to patches as large as the kernel."""
    body, left = PATCHES[name]
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> g (float[n,72] x) => (float[a,b] y) {{ {body} }}')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    rng = np.random.default_rng(3)
    for key, value in {"W": floats(rng, 6, 4, 2, 3, 3), "G": floats(rng, 6, 2, 2, 3, 3), "B": floats(rng, 6), "cut": np.array([-1, 4, 2, 3, 3]),
                       "large": np.array([-1, 4, 2, 3, 3]) * (1 if name != "patches larger than the kernel" else [1, 1, 1, 1, 2]), "rows": np.array([-1, 6])}.items():
        if key in body.replace("(", " ").replace(")", " ").replace(",", " ").split():
            model.graph.initializer.append(onnx.numpy_helper.from_array(value, key))
    path, out = save(model), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, "--target", target, "--max-growth", "0", *(["--skip", "conv-activations"] if target == "ort" else []), code=0)
    assert " ".join(n.op_type for n in onnx.load(out).graph.node) == left
    for n in (2, 4, 14):
        x = floats(rng, n, 72)
        np.testing.assert_allclose(session(out).run(None, {"x": x})[0], session(path).run(None, {"x": x})[0], rtol=1e-4, atol=1e-5)
    assert thaw.json("optimize", out, "--target", target, "--dry-run", code=0)["changed"] == []


def test_an_image_as_large_as_the_kernel_stays_an_image(thaw, save, tmp_path):
    """Its size may be one that was frozen: of another, the convolution gives more than one place."""
    body = "d = Conv<kernel_shape=[3,3]>(x, W) y = Relu(d)"
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> g (float[n,4,3,3] x) => (float[n,6,1,1] y) {{ {body} }}')
    model.graph.initializer.append(onnx.numpy_helper.from_array(floats(np.random.default_rng(3), 6, 4, 3, 3), "W"))
    path, out = save(model), tmp_path / "out.onnx"
    thaw("optimize", path, "-o", out, code=0)
    assert "Conv" in {n.op_type for n in onnx.load(out).graph.node}
