"""Weights in blocks: the error of each method beside onnxruntime's quantizers, on the same weights in the same blocks,
the time and memory of 2 GB of weights, and what MatMulNBits' accuracy levels and real zero points do to a reader of text.

    python bench/blocks.py --thaw build/thaw [--only error|speed|levels] [--bits 4] [--block 32] [--gigabytes 2]

Errors are mean squares over the weights' own. --quark PYTHON adds amd-quark's: an interpreter that has it. With --check the exit code is 1 where rtn is above onnxruntime's rtn in
any row, or `search` is not below all of onnxruntime's with integer zero points.
"""
import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import measure  # noqa: E402  (before numpy: see there)
from figures import cells, table  # noqa: E402

FORMATS = {2: "int2", 4: "int4", 8: "int8-blocks"}


# ---- weights, [k, n]

def kinds():
    """Weights of many shapes by name. The last ones are what real weights are seldom, and quantizers trip over."""
    import numpy as np

    random = np.random.default_rng(11)
    k, n = 512, 512
    gauss = random.standard_normal((k, n))
    made = {"gauss": gauss, "student-t, 4": random.standard_t(4, (k, n)), "laplace": random.laplace(size=(k, n))}
    made.update(real_weights())
    outliers = gauss.copy()
    outliers[random.random((k, n)) < 0.01] *= 30
    zeros = gauss.copy()
    zeros[: k // 2, ::2] = 0
    made |= {"1 % outliers, 30 times": outliers, "one sign": np.abs(gauss), "far from 0": 10 + 0.1 * gauss,
             "blocks of zeros": zeros, "sparse": gauss * (random.random((k, n)) < 0.1),
             "scales by row": gauss * np.exp(random.standard_normal((k, 1))),
             "one value": np.broadcast_to(random.standard_normal(n), (k, n))}
    return {name: np.ascontiguousarray(weights, np.float32) * np.float32(0.02) for name, weights in made.items()}


def real_weights():
    """Of the text recognizer that rapidocr brings along, where it is installed: what its products multiply by."""
    found = importlib.util.find_spec("rapidocr_onnxruntime")
    path = Path(found.origin).parent / "models" / "ch_PP-OCRv4_rec_infer.onnx" if found else None
    if not path or not path.exists():
        return {}
    import onnx
    from onnx import numpy_helper

    model = onnx.load(path)
    constants = {t.name: t for t in model.graph.initializer}
    constants |= {node.output[0]: node.attribute[0].t for node in model.graph.node if node.op_type == "Constant"}
    read = [constants.get(node.input[1]) for node in model.graph.node if node.op_type == "MatMul"]
    weights = [numpy_helper.to_array(t) for t in read if t is not None and len(t.dims) == 2]
    weights.sort(key=lambda w: -w.size)
    return {f"PP-OCRv4 rec, {w.shape[0]} x {w.shape[1]}": w[: w.shape[0] // 32 * 32] / 0.02 for w in weights[:3]}


# ---- onnxruntime's quantizers: what the weights become

def decoded(codes, scales, zeros):
    """codes [n, blocks, block], scales and zeros [n, blocks] as [n, k]."""
    return ((codes - zeros[..., None]) * scales[..., None]).reshape(codes.shape[0], -1)


def unpacked(packed, bits, count):
    import numpy as np

    each = 8 // bits
    codes = (packed[..., None] >> (np.arange(each) * bits)) & (2 ** bits - 1)
    return codes.reshape(*packed.shape[:-1], -1)[..., :count].astype(np.float64)


def of_rtn(weights, bits, block, symmetric):
    import numpy as np
    from onnxruntime.capi import _pybind_state as state

    k, n = weights.shape
    blocks = -(-k // block)
    packed = np.zeros((n, blocks, block * bits // 8), np.uint8)
    scales = np.zeros((n, blocks), np.float32)
    zeros = np.zeros((n, -(-blocks * bits // 8)), np.uint8)
    quantize = getattr(state, f"quantize_matmul_{bits}bits")
    quantize(packed, weights, scales, zeros, block, n, k, symmetric)
    middle = np.full((n, blocks), 2.0 ** (bits - 1))
    return decoded(unpacked(packed, bits, block), scales, middle if symmetric else unpacked(zeros, bits, blocks))[:, :k]


def of_k_quant(weights, bits, block, symmetric):
    import numpy as np
    from onnxruntime.quantization.neural_compressor.weight_only import quant_tensor_k_quant_cpu

    if symmetric:
        return None
    k, n = weights.shape
    rows = np.pad(weights.T, ((0, 0), (0, -k % block)))
    with np.errstate(all="ignore"):
        codes, scales, zeros = quant_tensor_k_quant_cpu(rows.reshape(-1, block), bits, block)
    shape = (n, rows.shape[1] // block)
    return decoded(codes.reshape(*shape, block), scales.reshape(shape), zeros.astype(np.float64).reshape(shape))[:, :k]


def of_hqq(weights, bits, block, symmetric, real_zeros):
    """HQQWeightOnlyQuantizer's, which is written for torch, in numpy: 20 rounds for the whole weight at once."""
    import numpy as np

    if symmetric:
        return None
    k, n = weights.shape
    rows = np.pad(weights.T, ((0, 0), (0, -k % block))).astype(np.float32).reshape(-1, block)
    low, high, most = rows.min(1, keepdims=True), rows.max(1, keepdims=True), 2 ** bits - 1
    span = high - low
    span[span == 0] = most
    scale = np.minimum(most / span, 2e4)
    zero, beta, best = np.round(-low * scale), 10.0, 1e4
    for _ in range(20):
        codes = np.clip(np.round(rows * scale + zero), 0, most)
        error = rows - (codes - zero) / scale
        shrunk = np.sign(error) * np.maximum(np.abs(error) - (np.abs(error) + 1e-8) ** -0.3 / beta, 0)
        zero = np.mean(codes - (rows - shrunk) * scale, 1, keepdims=True)
        beta *= 1.01
        now = float(np.abs(error).mean())
        if now >= best:
            break
        best = now
    if not real_zeros:
        zero = np.clip(np.round(zero), 0, most)
    codes = np.clip(np.round(rows * scale + zero), 0, most)
    return ((codes - zero) / scale).reshape(n, -1)[:, :k]


def multiplied_by(path, k):
    """A product's weights, [n, k]: what it makes of the identity."""
    import numpy as np
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    return onnxruntime.InferenceSession(str(path)).run(None, {"x": np.eye(k, dtype=np.float32)})[0].T.astype(np.float64)


def of_onnxsim(weights, bits, block, symmetric):
    import onnx
    import onnxsim

    if not symmetric or bits != 4 or block != 32:  # all that it has
        return None
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(onnxsim.quantize_weight_only_int4(model_of(weights)), Path(folder) / "made.onnx")
        return multiplied_by(Path(folder) / "made.onnx", weights.shape[0])


def of_quark(python, algorithm, weights, bits, block, symmetric):
    import numpy as np
    import onnx

    if bits != 4:
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "samples").mkdir()
        np.savez(folder / "samples" / "0.npz", x=np.zeros((1, weights.shape[0]), np.float32))
        onnx.save(model_of(weights), folder / "model.onnx")
        ran = measure.run_once([python, str(HERE / "quark_peer.py"), "int4", str(folder / "model.onnx"), str(folder / "made.onnx"),
                                str(folder / "samples"), str(block), algorithm, *(["symmetric"] if symmetric else [])])
        if not ran.ok:
            raise RuntimeError(ran.output)
        return multiplied_by(folder / "made.onnx", weights.shape[0])


REAL = "ort hqq, real zeros"  # another scheme: 32 bits for each zero instead of 4, and shown for that alone
PEERS = {"ort rtn": of_rtn, "ort k_quant": of_k_quant,
         "ort hqq": lambda *a: of_hqq(*a, real_zeros=False), REAL: lambda *a: of_hqq(*a, real_zeros=True)}


# ---- Thaw's

def command(options, model, output, method, symmetric):
    if options.converter:
        return [options.converter, str(model), str(output), str(options.bits), str(options.block), method,
                *(["symmetric"] if symmetric else [])]
    return [options.thaw, "convert", str(model), "-o", str(output), "--to", FORMATS[options.bits], "--method", method,
            "--block", str(options.block), "--no-optimize", "--no-check", *(["--symmetric"] if symmetric else [])]


def model_of(weights):
    import onnx
    from onnx import helper, numpy_helper

    k, n = weights.shape
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "product",
                              [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["rows", k])],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["rows", n])],
                              [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def of_thaw(options, folder, weights, method, symmetric):
    import numpy as np
    import onnx
    from onnx import numpy_helper

    before, after = folder / "before.onnx", folder / f"{method}.onnx"
    method, *real = method.split(", ")
    onnx.save(model_of(weights), before)
    ran = measure.run_once(command(options, before, after, method, symmetric) + (["--real-zeros"] if real else []))
    if not ran.ok:
        raise RuntimeError(ran.output)
    model = onnx.load(after)
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    product = next(node for node in model.graph.node if node.op_type == "MatMulNBits")
    packed, scales, *zeros = (constants[name] for name in product.input[1:])
    n, blocks, _ = packed.shape
    middle = np.full((n, blocks), 2.0 ** (options.bits - 1))
    if real:
        given = zeros[0].reshape(n, blocks).astype(np.float64)
    else:
        given = unpacked(zeros[0].reshape(n, -1), options.bits, blocks) if zeros else middle
    codes = unpacked(packed, options.bits, options.block)
    return decoded(codes, scales.reshape(n, blocks).astype(np.float64), given)[:, : weights.shape[0]]


# ---- the parts

def errors(options, folder):
    import numpy as np

    wrong, here = [], dict(PEERS)
    # What onnxruntime's module of it imports is a package of tools/requirements-bench.txt.
    if importlib.util.find_spec("onnx_ir") is None:
        print("ort k_quant: left out, not installed: onnx_ir")
        del here["ort k_quant"]
    if importlib.util.find_spec("onnxsim"):
        here["onnxsim"] = of_onnxsim
    if options.quark:
        here["quark"] = lambda *a: of_quark(options.quark, "DEFAULT", *a)
    for symmetric in (False, True):
        peers = [p for p in here if p in ("ort rtn", "onnxsim", "quark") or not symmetric]
        peers = [p for p in peers if p != "onnxsim" or (symmetric and (options.bits, options.block) == (4, 32))]
        ours = ["rtn", "search", "hqq", *(["search, real zeros"] if options.bits != 8 and not symmetric else [])]
        rows = []
        for name, weights in kinds().items():
            exact = weights.T.astype(np.float64)
            size = np.mean(exact ** 2) or 1.0
            error = {p: float(np.mean((here[p](weights, options.bits, options.block, symmetric) - exact) ** 2) / size)
                     for p in peers}
            error |= {m: float(np.mean((of_thaw(options, folder, weights, m, symmetric) - exact) ** 2) / size) for m in ours}
            if "search" in ours and error.get(REAL, 1) < error.get("search, real zeros", 0):
                wrong.append(f"search, real zeros, {name}: {error['search, real zeros']:.6g} against {error[REAL]:.6g}")
            if not error["rtn"] <= error["ort rtn"] * 1.0001:
                wrong.append(f"rtn, {name}: {error['rtn']:.4g} against {error['ort rtn']:.4g}")
            best = min((error[p] for p in peers if p != REAL and error[p] == error[p]), default=0)
            if not (error["search"] < best or error["search"] <= 1e-12):
                wrong.append(f"search, {name}: {error['search']:.6g} against {best:.6g}")
            rows.append([name, *(f"{error[p]:.3g}" for p in [*peers, *ours])])
        kind = "symmetric" if symmetric else "with zero points"
        print(f"\n{options.bits} bits, blocks of {options.block}, {kind}: mean squared error over the weights' mean square")
        table(["", *peers, *(f"thaw {m}" for m in ours)], rows)
    return wrong


SHAPES = [(4096, 4096), (4096, 4096), (4096, 11008), (11008, 4096)]


def large_model(folder, gigabytes):
    """Products of a decoder's sizes, their weights in a data file."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper

    random = np.random.default_rng(5)
    some = random.standard_normal(1 << 24, dtype=np.float32) * np.float32(0.02)
    nodes, outputs, weights, offset = [], [], [], 0
    with open(folder / "large.data", "wb") as data:
        while offset < gigabytes * 1e9:
            i = len(nodes)
            k, n = SHAPES[i % len(SHAPES)]
            t = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[k, n], data_location=TensorProto.EXTERNAL)
            for key, value in {"location": "large.data", "offset": offset, "length": 4 * k * n}.items():
                t.external_data.add(key=key, value=str(value))
            for at in range(0, k * n, some.size):
                data.write(np.roll(some, i)[: k * n - at].data)
            offset += 4 * k * n
            weights.append(t)
            nodes.append(helper.make_node("MatMul", [f"x{k}", t.name], [f"y{i}"], name=f"product{i}"))
            outputs.append(helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, ["rows", n]))
    inputs = [helper.make_tensor_value_info(f"x{k}", TensorProto.FLOAT, ["rows", k]) for k in (4096, 11008)]
    graph = helper.make_graph(nodes, "products", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "large.onnx")
    return folder / "large.onnx"


ORT_RTN = """
import sys, onnx
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer, DefaultWeightOnlyQuantConfig
config = DefaultWeightOnlyQuantConfig(block_size=int(sys.argv[4]), is_symmetric=False, bits=int(sys.argv[3]))
quantizer = MatMulNBitsQuantizer(onnx.load(sys.argv[1]), algo_config=config)
quantizer.process()
quantizer.model.save_model_to_file(sys.argv[2], use_external_data_format=True)
"""


def speed(options, folder):
    # In a process of its own, so that this one stays small: its size counts as its children's.
    made = measure.run_once([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(HERE)!r}); import blocks; from pathlib "
                             f"import Path; blocks.large_model(Path({str(folder)!r}), {options.gigabytes})"])
    if not made.ok:
        raise RuntimeError(made.output)
    model, rows = folder / "large.onnx", []
    for method in ("rtn", "search", "hqq"):
        out = folder / "out"
        out.mkdir(exist_ok=True)
        ran = measure.best_of(2, command(options, model, out / "out.onnx", method, False))
        rows.append([f"thaw {method}", *cells(ran)])
        for path in out.iterdir():
            path.unlink()
    if not options.no_peers:
        ran = measure.run_once([sys.executable, "-c", ORT_RTN, str(model), str(folder / "theirs.onnx"), str(options.bits),
                                str(options.block)])
        rows.append(["onnxruntime's rtn", *cells(ran)])
    print(f"\n{options.gigabytes:g} GB of float32 weights to {options.bits} bits in blocks of {options.block}")
    table(["", "seconds", "peak MB"], rows)


LEVELS = {"level 1: float32": ["--accuracy-level", 1], "level 4: INT8 activations": ["--accuracy-level", 4],
          "level 0: the kernel's choice": [], "real zero points": ["--real-zeros"],
          "blocks of 16, level 1": ["--accuracy-level", 1, "--block", 16]}


def levels(options, folder):
    """PP-OCRv4's reader of text with all its products in 4 bits, on lines that look photographed."""
    import time

    import onnxruntime

    sys.path.insert(0, str(HERE.parent / "tests"))
    import int8_cases
    from conftest import need_package
    from int8 import letters_wrong
    from int8_nets import signal_to_noise

    onnxruntime.set_default_logger_severity(4)
    model = int8_cases.without_declared_sizes(
        need_package("rapidocr_onnxruntime") / "models" / "ch_PP-OCRv4_rec_infer.onnx", folder / "reader.onnx")
    lines, rows = int8_cases.recognizer(60), []
    for name, words in LEVELS.items():
        out = folder / "out.onnx"
        ran = measure.run_once([options.thaw, "convert", str(model), "-o", str(out), "--to", "int4", "--target", "ort", "--no-check",
                                *map(str, words)])
        if not ran.ok:
            raise RuntimeError(ran.output)
        session = onnxruntime.InferenceSession(str(out))
        best = min(timed(time, lambda: session.run(None, lines[0])) for _ in range(20))
        wrong, of = letters_wrong(model, out, lines)
        rows.append([name, f"{signal_to_noise(model, out, lines):.2f}", f"{wrong} of {of}", f"{1000 * best:.1f}", f"{out.stat().st_size / 1e6:.2f}"])
    reference = onnxruntime.InferenceSession(str(model))
    best = min(timed(time, lambda: reference.run(None, lines[0])) for _ in range(20))
    rows.append(["float32", "", "", f"{1000 * best:.1f}", f"{Path(model).stat().st_size / 1e6:.2f}"])
    print("\nPP-OCRv4 rec, products in 4 bits, blocks of 32")
    table(["", "dB", "letters otherwise", "ms a line", "MB"], rows)


def timed(time, run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--converter", help="run instead of `thaw convert`: the tool convert_blocks of the tests")
    parser.add_argument("--only", choices=["error", "speed", "levels"])
    parser.add_argument("--bits", type=int, default=4, choices=[2, 4, 8])
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--quark", help="an interpreter with amd-quark")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "speed"):
            speed(options, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "error"):
            wrong = errors(options, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "levels"):
            levels(options, Path(folder))
    for line in wrong:
        print("above a peer:", line)
    return 1 if wrong and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
