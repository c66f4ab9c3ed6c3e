"""Whether `thaw lift` finds each size that small models compute, or guards what their traces leave open: a sweep over formulas, places and traces.

    python bench/lifting_sizes.py --thaw build/thaw [--every 7] [--jobs 2] [--json FILE]

A model has one integer that a formula of its input's sides gives, at one place: a Slice's end, a Pad's amount, what an Expand makes, a Reshape's
size, a table's length; alone, or beside a tensor that strides cut. Its traces are written with the number in place of the formula, as static exports
have it. What is lifted runs at sizes of each remainder by 16 between the traces and a little beyond. Not a part of CI.

right: equal wherever it ran; guarded: the guard ends it at some; refused: nothing is written; wrong: another number, or an error of the runtime's own.
"""
import argparse
import collections
import itertools
import json
import multiprocessing
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def up(a, b):
    return -(-a // b)


PIECES = (2, 3, 4, 7, 8, 14, 16, 32)
# name: of one side
OF_A_SIDE = {f"floor(n/{p})": lambda n, p=p: n // p for p in PIECES}
OF_A_SIDE |= {f"ceil(n/{p})": lambda n, p=p: up(n, p) for p in PIECES}
OF_A_SIDE |= {f"{p}*ceil(n/{p})": lambda n, p=p: up(n, p) * p for p in (2, 4, 7, 8, 16, 32)}
OF_A_SIDE |= {f"{p}*ceil(n/{p})-n": lambda n, p=p: up(n, p) * p - n for p in (2, 4, 7, 8, 14, 16, 32)}
OF_A_SIDE |= {f"{p}*floor(n/{p})": lambda n, p=p: n // p * p for p in (2, 4, 8, 14, 16)}
OF_A_SIDE |= {f"floor((n+{r})/{p})": lambda n, p=p, r=r: (n + r) // p for p, r in ((2, 3), (4, 1), (4, 2), (8, 3), (8, 4), (16, 8), (10, -15))}
OF_A_SIDE |= {f"2*ceil(n/{p})-1": lambda n, p=p: 2 * up(n, p) - 1 for p in (1, 2, 4, 8, 14, 16)}
OF_A_SIDE |= {f"2*floor(n/{p})+1": lambda n, p=p: 2 * (n // p) + 1 for p in (2, 4, 8, 14, 16)}
OF_A_SIDE |= {f"ceil(floor(n/{a})/{b})": lambda n, a=a, b=b: up(n // a, b) for a, b in ((2, 2), (2, 4), (4, 2), (4, 4), (4, 7), (8, 2), (14, 2))}
OF_A_SIDE |= {f"floor(ceil(n/{a})/{b})": lambda n, a=a, b=b: up(n, a) // b for a, b in ((2, 2), (2, 4), (4, 2), (4, 4), (8, 2))}
OF_A_SIDE |= {f"{b}*ceil(ceil(n/{a})/{b})": lambda n, a=a, b=b: up(up(n, a), b) * b for a, b in ((2, 2), (4, 2), (4, 7), (4, 8), (8, 4), (16, 2))}
OF_A_SIDE |= {f"floor(n/{a})-floor(n/{b})": lambda n, a=a, b=b: n // a - n // b for a, b in ((2, 4), (4, 8), (8, 16))}
OF_A_SIDE |= {f"ceil(n/{a})+ceil(n/{b})": lambda n, a=a, b=b: up(n, a) + up(n, b) for a, b in ((8, 16), (4, 8), (16, 32))}
OF_A_SIDE |= {f"floor({p}n/{q})": lambda n, p=p, q=q: n * p // q for p, q in ((3, 2), (2, 3), (3, 4), (5, 4), (5, 2))}
OF_A_SIDE |= {f"ceil({p}n/{q})": lambda n, p=p, q=q: up(n * p, q) for p, q in ((3, 2), (2, 3), (3, 4))}
OF_A_SIDE |= {f"floor(n/{p})+{c}": lambda n, p=p, c=c: n // p + c for p, c in ((2, 1), (4, 1), (8, 1), (16, 1), (14, 1), (16, 2), (8, 5), (8, -1))}
OF_A_SIDE |= {f"ceil(n/{p})+{c}": lambda n, p=p, c=c: up(n, p) + c for p, c in ((8, 1), (16, 1), (16, -1))}
OF_A_SIDE |= {f"min(n,{c})": lambda n, c=c: min(n, c) for c in (7, 100, 128, 150, 240)}
OF_A_SIDE |= {f"max(n,{c})": lambda n, c=c: max(n, c) for c in (100, 128, 240)}
OF_A_SIDE |= {"n+1": lambda n: n + 1, "n-1": lambda n: n - 1, "n-3": lambda n: n - 3, "2n": lambda n: 2 * n, "2n+1": lambda n: 2 * n + 1, "4n-3": lambda n: 4 * n - 3}
OF_A_SIDE |= {f"n%{p}": lambda n, p=p: n % p for p in (4, 8, 16)}

OF_TWO = {f"ceil(h/{p})*ceil(w/{p})+{c}": lambda h, w, p=p, c=c: up(h, p) * up(w, p) + c for p in (4, 8, 14, 16) for c in (0, 1)}
OF_TWO |= {f"floor(h/{p})*floor(w/{p})+{c}": lambda h, w, p=p, c=c: (h // p) * (w // p) + c for p in (4, 8, 14, 16) for c in (0, 1, 5)}
OF_TWO |= {f"ceil(h/{p})+ceil(w/{p})": lambda h, w, p=p: up(h, p) + up(w, p) for p in (4, 8, 16)}
OF_TWO |= {f"max(h,w)//{p}": lambda h, w, p=p: max(h, w) // p for p in (1, 2, 8)}
OF_TWO |= {f"min(h,w)//{p}": lambda h, w, p=p: min(h, w) // p for p in (1, 2, 8)}
OF_TWO |= {"h+w": lambda h, w: h + w, "h-w": lambda h, w: abs(h - w), "hw": lambda h, w: h * w, "2h+w": lambda h, w: 2 * h + w}
OF_TWO |= {f"ceil(h/{p})*{p}-h": lambda h, w, p=p: up(h, p) * p - h for p in (4, 8, 32)}

FORMULAS = {name: (lambda h, w, of=of: of(w)) for name, of in OF_A_SIDE.items()} | OF_TWO

TRACES = {
    "telling": ((97, 134), (150, 211), (211, 173)),
    "telling2": ((53, 122), (115, 79), (174, 197)),
    "two": ((97, 131), (150, 211)),
    "chosen": ((224, 224), (256, 256), (320, 320)),
    "chosen2": ((96, 160), (128, 224), (192, 256)),
    "chosen3": ((64, 64), (96, 128), (160, 96)),
    "odd": ((65, 97), (129, 161), (193, 225)),
}

PLACES = ("slice", "pad", "expand", "table", "reshape")
BESIDE = (0, 2, 8, 16)  # by how many a tensor beside it is cut; 0: none is


def value(name, numbers, of=np.int64):
    return numpy_helper.from_array(np.asarray(numbers, of), name)


def model_of(place, beside, h, w, number):
    """One that computes with `number` at the place, of an image of 1 x 2 x h x w; None where it cannot be there."""
    nodes, constants, outputs = [], [], ["y"]
    rows = (np.arange(number) * 0.37).astype(np.float32) if place == "table" else None
    if place == "slice":
        if not 0 < number <= w:
            return None
        constants += [value("begin", [0]), value("end", [number]), value("axis", [3])]
        nodes.append(helper.make_node("Slice", ["x", "begin", "end", "axis"], ["y"]))
    elif place == "pad":
        if number < 0:
            return None
        constants.append(value("pads", [0] * 7 + [number]))
        nodes.append(helper.make_node("Pad", ["x", "pads"], ["y"]))
    elif place == "expand":
        if number <= 0:
            return None
        constants += [value("shape", [1, 2, number, 1]), value("axes", [2, 3])]
        nodes += [helper.make_node("ReduceMean", ["x", "axes"], ["m"]), helper.make_node("Expand", ["m", "shape"], ["y"])]
    elif place == "table":
        if number <= 0:
            return None
        constants += [numpy_helper.from_array(rows, "rows"), value("axes", [2, 3])]
        nodes += [helper.make_node("ReduceMean", ["x", "axes"], ["m"], keepdims=1), helper.make_node("Mul", ["m", "rows"], ["y"])]
    elif place == "reshape":
        if not 0 < number <= w:
            return None
        constants += [value("begin", [0]), value("end", [number]), value("axis", [3]), value("shape", [2 * h, number])]
        nodes += [helper.make_node("Slice", ["x", "begin", "end", "axis"], ["t"]), helper.make_node("Reshape", ["t", "shape"], ["y"])]
    if beside:
        nodes.append(helper.make_node("MaxPool", ["x"], ["cut"], kernel_shape=[1, 1], strides=[beside, beside]))
        outputs.append("cut")
    graph = helper.make_graph(nodes, "sizes", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, h, w])],
                              [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9, producer_name="pytorch")


def unseen(sizes):
    """Of each remainder by 16, and both sides apart from each other."""
    low, high = (min(min(s) for s in sizes), max(max(s) for s in sizes))
    steps = (high + 20 - low) // 16
    return [(low + r + 16 * (r * 5 % steps), low + (r * 7 + 3) % 16 + 16 * (r * 3 % steps)) for r in range(16)]


def judge(job):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    thaw, formula, place, beside, traces = job
    of, sizes = FORMULAS[formula], TRACES[traces]
    numbers = [of(*size) for size in sizes]
    if len(set(numbers)) == 1:
        return job[1:], "steady", ""
    if formula != "hw" and any(numbers == [side(*size) for size in sizes] for side in (min, max, lambda h, w: h, lambda h, w: w)):
        return job[1:], "none", ""  # a side itself, for all that the traces show
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for k, (size, number) in enumerate(zip(sizes, numbers, strict=True)):
            model = model_of(place, beside, *size, number)
            if model is None:
                return job[1:], "none", ""
            paths.append(f"{folder}/{k}.onnx")
            onnx.save(model, paths[-1])
        out = pathlib.Path(folder) / "lifted.onnx"
        run = subprocess.run([thaw, "lift", *paths, "-o", out, "--format", "json"], capture_output=True, text=True, check=False)
        if not out.exists():
            report = json.loads(run.stdout) if run.stdout.startswith("{") else {}
            notes = report.get("unexplained") or [{"message": run.stderr.strip()[:300]}]
            return job[1:], "refused", notes[0]["message"]
        session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
        verdict, seen = "right", ""
        for h, w in unseen(sizes):
            truth = model_of(place, beside, h, w, of(h, w))
            if truth is None:
                continue
            feed = {"x": np.random.default_rng(0).standard_normal((1, 2, h, w)).astype(np.float32)}
            wanted = onnxruntime.InferenceSession(truth.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)
            try:
                got = session.run(None, feed)
            except Exception as error:
                if "guard_Reshape" in str(error):
                    verdict, seen = ("guarded", seen) if verdict != "wrong" else (verdict, seen)
                    continue
                return job[1:], "wrong", f"{h}x{w}: {str(error)[:160]}"
            for a, b in zip(got, wanted, strict=True):
                if a.shape != b.shape or not np.allclose(a, b, rtol=1e-4, atol=1e-5):
                    return job[1:], "wrong", f"{h}x{w}: {a.shape} where {b.shape} is right"
        return job[1:], verdict, seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--every", type=int, default=1, help="only every so many of the jobs")
    parser.add_argument("--traces", nargs="*", default=list(TRACES), choices=list(TRACES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path, help="each job's verdict")
    options = parser.parse_args()
    jobs = [(options.thaw, *each) for each in itertools.product(FORMULAS, PLACES, BESIDE, options.traces)][::options.every]
    counts, verdicts = {traces: collections.Counter() for traces in options.traces}, {}
    with multiprocessing.Pool(options.jobs) as pool:
        for (formula, place, beside, traces), verdict, why in pool.imap(judge, jobs, chunksize=4):
            if verdict == "none":
                continue
            counts[traces][verdict] += 1
            verdicts[f"{formula} {place} {beside} {traces}"] = [verdict, why]
            if verdict == "wrong":
                print(f"wrong: {formula}, {place}, beside {beside}, {traces}: {why}", flush=True)
    for traces, each in counts.items():
        print(f"{traces:9} " + ", ".join(f"{each[v]} {v}" for v in ("right", "guarded", "refused", "wrong", "steady")))
    if options.json:
        options.json.write_text(json.dumps(verdicts, indent=0))


if __name__ == "__main__":
    main()
