"""Runs a model in ONNX Runtime and prints the seconds of the fastest run: what a benchmark calls for each result.

    python run_model.py MODEL '{"sizes": {"batch": 1, "seq": 7}}' REPEATS

Inputs are drawn: floats from a normal distribution, integers 0 and 1, masks of ones. A size without a number is 1.
"""
import json
import sys
import time

import numpy as np
import onnxruntime

MOST_SECONDS = 3  # a model that takes long shows its time in few runs
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
         "tensor(bool)": np.bool_}


def draw(port, sizes):
    shape = [d if isinstance(d, int) else sizes.get(d, 1) for d in port.shape]
    kind = TYPES[port.type]
    rng = np.random.default_rng(len(port.name))
    if kind in (np.float32, np.float16):
        return rng.standard_normal(shape).astype(kind)
    return np.ones(shape, kind) if "mask" in port.name else rng.integers(0, 2, shape).astype(kind)


def main():
    path, feeds, repeats = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    fed = {port.name: draw(port, feeds.get("sizes", {})) for port in session.get_inputs()}
    best, began = float("inf"), time.perf_counter()
    for _ in range(repeats + 1):
        start = time.perf_counter()
        session.run(None, fed)
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - began > MOST_SECONDS:
            break
    print(best)


if __name__ == "__main__":
    main()
