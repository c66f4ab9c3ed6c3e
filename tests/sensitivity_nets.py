"""Networks, samples and the plain way of measuring which node may lose precision: N converted models that run whole."""
import json

import numpy as np
import onnx
import onnxruntime as ort


def tower(depth, width=64, heads=4, seed=0, opset=17):
    """A transformer over x [batch, seq, width]; weights differ in scale from block to block, and a few are outliers."""
    rng = np.random.default_rng(seed)
    size = width // heads
    nodes, weights = [], {}

    def weight(name, *shape, scale=None):
        values = rng.standard_normal(shape) * (scale or 1 / np.sqrt(shape[0]))
        values[rng.random(shape) < 1e-3] *= rng.uniform(4, 12)
        weights[name] = values.astype(np.float32)
        return name

    def node(op, inputs, output, name=None, **attributes):
        nodes.append(onnx.helper.make_node(op, inputs, [output], name=name or output, **attributes))
        return output

    weights["split"] = np.array([0, 0, heads, size])
    weights["joined"] = np.array([0, 0, width])
    weights["scale"] = np.array(1 / np.sqrt(size), np.float32)
    h = "x"
    for i in range(depth):
        at = f"blocks.{i}"
        growth = 0.2 + rng.random()

        def norm(value, which, at=at):
            weights[f"{at}.{which}.weight"] = np.ones(width, np.float32)
            weights[f"{at}.{which}.bias"] = np.zeros(width, np.float32)
            return node("LayerNormalization", [value, f"{at}.{which}.weight", f"{at}.{which}.bias"], f"{at}.{which}")

        def linear(value, which, rows, columns, at=at, growth=growth):
            name = weight(f"{at}.{which}.weight", rows, columns, scale=growth / np.sqrt(rows))
            return node("MatMul", [value, name], f"{at}.{which}/MatMul")

        n = norm(h, "norm1")
        q, k, v = (linear(n, f"attn.{which}_proj", width, width) for which in "qkv")
        parts = []
        for which, value, order in (("q", q, [0, 2, 1, 3]), ("k", k, [0, 2, 3, 1]), ("v", v, [0, 2, 1, 3])):
            r = node("Reshape", [value, "split"], f"{at}.{which}_heads")
            parts.append(node("Transpose", [r], f"{at}.{which}_turned", perm=order))
        s = node("Mul", [node("MatMul", parts[:2], f"{at}.scores"), "scale"], f"{at}.scaled")
        p = node("Softmax", [s], f"{at}.softmax", axis=-1)
        o = node("Transpose", [node("MatMul", [p, parts[2]], f"{at}.mixed")], f"{at}.back", perm=[0, 2, 1, 3])
        o = linear(node("Reshape", [o, "joined"], f"{at}.flat"), "attn.o_proj", width, width)
        h = node("Add", [h, o], f"{at}.residual1")
        u = linear(norm(h, "norm2"), "mlp.up_proj", width, 2 * width)
        g = node("Mul", [u, node("Sigmoid", [u], f"{at}.mlp.sigmoid")], f"{at}.mlp.silu")
        h = node("Add", [h, linear(g, "mlp.down_proj", 2 * width, width)], f"{at}.residual2")
    node("Identity", [h], "y")
    graph = onnx.helper.make_graph(
        nodes, "tower", [onnx.helper.make_tensor_value_info("x", 1, ["batch", "seq", width])],
        [onnx.helper.make_tensor_value_info("y", 1, ["batch", "seq", width])],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=9)


def reader(depth, sharpness, seed=4):
    """The tower with probabilities of 12 letters behind it, most of which are near 0 or 1: few places tell what an error does."""
    model = tower(depth, seed=seed)
    letters = np.random.default_rng(seed).standard_normal((64, 12)).astype(np.float32) * np.float32(sharpness)
    model.graph.initializer.append(onnx.numpy_helper.from_array(letters, "letters"))
    model.graph.node.extend([onnx.helper.make_node("MatMul", ["y", "letters"], ["logits"], name="letters/MatMul"),
                             onnx.helper.make_node("Softmax", ["logits"], ["p"], name="p", axis=-1)])
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("p", 1, ["batch", "seq", 12]))
    return model


def branches(seed=0):
    """Convolutions over images of bytes, in two branches that meet and two outputs: codes that several nodes read."""
    rng = np.random.default_rng(seed)
    shapes = {"k0": (16, 3, 3, 3), "k1": (16, 16, 3, 3), "k2": (16, 16, 1, 1), "k3": (32, 32, 3, 3), "k4": (4, 32, 1, 1), "fc": (32, 10)}
    weights = {name: (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32) for name, shape in shapes.items()}
    weights |= {"bias": rng.standard_normal(10).astype(np.float32) / 10, "scale": np.array(1 / 255, np.float32)}
    node = onnx.helper.make_node
    nodes = [node("Cast", ["image"], ["f"], to=1), node("Mul", ["f", "scale"], ["x"]),
             node("Conv", ["x", "k0"], ["a"], name="stem", pads=[1] * 4, strides=[2, 2]), node("Relu", ["a"], ["ar"]),
             node("Conv", ["ar", "k1"], ["b"], name="left", pads=[1] * 4), node("Conv", ["ar", "k2"], ["c"], name="right"),
             node("Concat", ["b", "c"], ["d"], axis=1), node("Relu", ["d"], ["dr"]),
             node("Conv", ["dr", "k3"], ["e"], name="mix", pads=[1] * 4), node("Relu", ["e"], ["er"]),
             node("Conv", ["er", "k4"], ["heat"], name="heat"), node("GlobalAveragePool", ["er"], ["p"]),
             node("Flatten", ["p"], ["pf"], axis=1), node("Gemm", ["pf", "fc", "bias"], ["classes"], name="classes")]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "branches", [info("image", onnx.TensorProto.UINT8, ["n", 3, "h", "w"])],
                                   [info("heat", 1, ["n", 4, "hh", "ww"]), info("classes", 1, ["n", 10])],
                                   [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)


def tied(width=64, words=96, seed=0):
    """Tokens, an embedding, one product, and logits by the embedding's own weight, transposed."""
    rng = np.random.default_rng(seed)
    weights = {"embed": rng.standard_normal((words, width)).astype(np.float32) / 2,
               "w": (rng.standard_normal((width, width)) / np.sqrt(width)).astype(np.float32)}
    node = onnx.helper.make_node
    nodes = [node("Gather", ["embed", "ids"], ["x"], name="embed"), node("MatMul", ["x", "w"], ["h"], name="layers.0.proj"),
             node("Tanh", ["h"], ["t"]), node("Add", ["t", "x"], ["hidden"]),
             node("Transpose", ["embed"], ["turned"], perm=[1, 0]), node("MatMul", ["hidden", "turned"], ["logits"], name="lm_head")]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "tied", [info("ids", onnx.TensorProto.INT64, ["batch", "seq"])],
                                   [info("logits", 1, ["batch", "seq", words])],
                                   [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)


def write_samples(folder, count, width=64, seed=1):
    """Samples of different sizes, the folder of them."""
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    for i, (batch, seq) in enumerate([(1, 7), (2, 5), (1, 13), (3, 3), (1, 11), (2, 9), (1, 17), (1, 19)][:count]):
        np.savez(folder / f"sample{i}.npz", x=rng.standard_normal((batch, seq, width)).astype(np.float32))
    return folder


def session(path):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def outputs(path, samples, names):
    """By sample, the named outputs."""
    model = session(path)
    wanted = {i.name for i in model.get_inputs()}
    found = []
    for file in sorted(samples.glob("*.npz")):
        with np.load(file) as arrays:
            found.append(model.run(names, {k: arrays[k] for k in arrays.files if k in wanted}))
    return found


def mse(wanted, got):
    return float(np.mean([np.mean((w.astype(np.float64) - g.astype(np.float64)) ** 2)
                          for w, g in zip(wanted, got, strict=True)]))


def plain(thaw, model, samples, report, tmp_path, options=(), to="int8-blocks", out=False):
    """By unit: the mean squared error by sample of the model with it converted, or with all others, run whole."""
    wanted = outputs(model, samples, report["outputs"])
    found = {}
    for unit in report["units"]:
        nodes = [{"name": name, "to": "keep" if out else to} for name in unit["nodes"]]
        plan = tmp_path / "plain.json"
        plan.write_text(json.dumps({"default": to if out else "keep", "projections": "apart", "nodes": nodes}))
        path = tmp_path / "plain.onnx"
        thaw("convert", model, "-o", path, "--plan", plan, "--no-check", "--no-optimize", "--data", samples, *options,
             code=0)
        found[unit["name"]] = [mse(w, g) for w, g in zip(wanted, outputs(path, samples, report["outputs"]), strict=True)]
    return found
